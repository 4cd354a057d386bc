"""Runs chains, many in one model, and says which give what they may not give."""

from __future__ import annotations

import copy
import dataclasses

import numpy
import onnx
import onnxruntime

import builder
import interval
import latchkey
import latchkey.ort
import sources
from builder import Builder
from chain import Chain

Values = list[numpy.ndarray]


@dataclasses.dataclass
class Finding:
    chain: Chain
    route: str
    what: str


_context: latchkey.Context | None = None


def _own(builders: list[Builder]) -> list[Values]:
    """Two runs: the second is by the plan of the first."""
    global _context
    if _context is None:
        _context = latchkey.Context(threads=1)
    feeds = {name: value for b in builders for name, value in b.feeds.items()}
    data = builder.model(builders).SerializeToString()
    with latchkey.Session(data, context=_context) as session:
        runs = [session.run(feeds) for _ in range(2)]
        return [[numpy.asarray(found[b.output]) for b in builders] for found in runs]


def _in_f32(b: Builder) -> None:
    """ONNX Runtime's Python takes and gives no bf16: it comes and goes as f32, which has all of
    its numbers."""
    narrow = [name for name, value in b.feeds.items() if value.dtype.name == "bfloat16"]
    if not narrow:
        return
    nodes, b.nodes = b.nodes, []
    given = {}
    for name in narrow:
        b.feeds[name] = b.feeds[name].astype(numpy.float32)
        given[name] = b.cast(name, builder.BFLOAT16)
    for node in nodes:
        for i, name in enumerate(node.input):
            node.input[i] = given.get(name, name)
    b.nodes += nodes
    b.output = b.cast(b.output, numpy.dtype(numpy.float32))


def ort_session(model: onnx.ModelProto, providers: list) -> onnxruntime.InferenceSession:
    """ONNX Runtime's own rewriting, which rounds otherwise, is left out."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=providers)


def _provider(builders: list[Builder]) -> list[Values]:
    latchkey.ort.register()
    for b in builders:
        _in_f32(b)
    feeds = {name: value for b in builders for name, value in b.feeds.items()}
    session = ort_session(builder.model(builders), [
        ("LatchkeyExecutionProvider", {"claim": "all"}), "CPUExecutionProvider"])
    return [session.run([b.output for b in builders], feeds)]


ROUTES = {"own": _own, "provider": _provider}


def difference(chain: Chain, found: numpy.ndarray, right: interval.Interval) -> str | None:
    if found.shape != right.lo.shape:
        return f"shape {found.shape} instead of {right.lo.shape}"
    found = found.astype(right.dtype, copy=False)
    with numpy.errstate(all="ignore"):
        bad = interval.wrong(found, right)
    if not bad.any():
        return None
    at = tuple(int(i) for i in numpy.argwhere(bad)[0])
    ends = f"{right.lo[at]!s}" if right.is_exact else f"{right.lo[at]!s} to {right.hi[at]!s}"
    before = f", behind the first operator {chain.source.value.lo[at]!s}"
    return (f"element {list(at)}: {found[at]!s} instead of {ends}{before}, "
            f"{int(bad.sum())} of {bad.size} differ")


def _refusal(route: str, chain: Chain) -> str | None:
    try:
        ROUTES[route]([chain.build("c")])
    except Exception as error:  # of any class: what is raised is said
        return f"{type(error).__name__}: {error}"
    return None


def judge(chains: list[Chain], routes=tuple(ROUTES)) -> list[Finding]:
    """At most one finding for each chain and route."""
    findings = []
    for route in routes:
        right = [chain.right(route == "provider") for chain in chains]
        able = list(range(len(chains)))
        try:
            runs = ROUTES[route]([chain.build(f"c{i}") for i, chain in enumerate(chains)])
        except Exception as error:  # of any class: one of them is refused
            refused = {i: _refusal(route, chain) for i, chain in enumerate(chains)}
            findings += [Finding(chains[i], route, f"refused: {what}")
                         for i, what in refused.items() if what is not None]
            able = [i for i, what in refused.items() if what is None]
            if len(able) == len(chains) > 1:
                return findings + [Finding(chains[0], route, f"all together: {error}")]
            if not able:
                continue
            runs = ROUTES[route]([chains[i].build(f"c{i}") for i in able])
        for k, i in enumerate(able):
            for run in runs:
                what = difference(chains[i], run[k], right[i])
                if what is not None:
                    findings.append(Finding(chains[i], route, what))
                    break
    return findings


def minimize(finding: Finding) -> Finding:
    """Without the steps that it does not take, and with the operator's values as an input."""
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(finding.chain):
            found = judge([candidate], (finding.route,))
            if found:
                finding, smaller = found[0], True
                break
    return finding


def _smaller(chain: Chain):
    for i in range(len(chain.steps)):
        candidate = copy.copy(chain)
        candidate.steps = chain.steps[:i] + chain.steps[i + 1:]
        yield candidate
    if chain.has_free_dims:
        yield dataclasses.replace(chain, has_free_dims=False)
    value = chain.source.value
    if value.is_exact and chain.source.text != "input":
        yield dataclasses.replace(chain, source=sources.plain(value, chain.source.place.dtype))
