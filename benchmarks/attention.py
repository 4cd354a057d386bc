"""How long does attention take, beside ONNX Runtime's own kernels?

Models of one operator each: rows that attend each other, with and without a causal frontier, and
one row behind a past (a step of text generation); heads of their own, and groups of heads that
share keys and values. Engines take turns as in light.py, and their outputs are compared before.
"""

import contextlib
import json
import pathlib
import tempfile

import common
import graphs
import light
import numpy

QUESTION = __doc__.splitlines()[0]
TARGETS = {"median": 1.0, "most": 1.15}
DOMAIN = "com.microsoft"


def past_of(b, heads, rows, size):
    """Past keys and values, or neither."""
    return [b.constant(b.random.uniform(-1, 1, (1, heads, rows, size))) if rows else ""
            for _ in range(2)]


def heads_of_their_own(heads, size, past, causal):
    """MultiHeadAttention of rows that are queries, keys and values."""
    def save(dims, path):
        b = graphs.Builder("attention", dims)
        inputs = ["x", "x", "x", "", "", "", *past_of(b, heads, past, size)]
        y = b.node("MultiHeadAttention", *inputs, outputs=3 if past else 1, domain=DOMAIN,
                   num_heads=heads, unidirectional=causal)
        return b.save(y, path, domains=[DOMAIN])
    return save, heads * size


def groups(heads, kv_heads, size, past):
    """GroupQueryAttention of packed rows."""
    def save(dims, path):
        b = graphs.Builder("attention", dims)
        total = past + dims[1]
        last, length = (b.constant([n], numpy.int32) for n in (total - 1, total))
        inputs = ["x", "", "", *past_of(b, kv_heads, past, size), last, length]
        y = b.node("GroupQueryAttention", *inputs, outputs=3, domain=DOMAIN, num_heads=heads,
                   kv_num_heads=kv_heads)
        return b.save(y, path, domains=[DOMAIN])
    return save, (heads + 2 * kv_heads) * size


CASES = [(what, made, rows)
         for rows in (16, 128, 512)
         for what, made in (("12 heads of 64", heads_of_their_own(12, 64, 0, 0)),
                            ("12 heads of 64, causal", heads_of_their_own(12, 64, 0, 1)),
                            ("32 heads in 8 groups of 128, causal", groups(32, 8, 128, 0)))]
CASES += [(f"{what} behind {past}", made, 1)
          for past in (16, 128, 1024)
          for what, made in (("12 heads of 64", heads_of_their_own(12, 64, past, 0)),
                             ("32 heads in 8 groups of 128", groups(32, 8, 128, past)))]


def measure(model, shape, threads, blocks, seconds):
    with contextlib.ExitStack() as stack:
        workers = {"latchkey": stack.enter_context(common.latchkey(model, threads)),
                   "onnxruntime": stack.enter_context(common.peer("onnxruntime", model, threads))}
        return common.compare(workers, shape, blocks, seconds, "bound")


def main():
    chosen = common.options(QUESTION)
    blocks, seconds = common.by_extent(chosen, (1, 0.02), (5, 0.1), (21, 0.2))
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for what, (save, width), rows in CASES:
            shape = f"1x{rows}x{width}"
            model = save([1, rows, width], str(folder / "model.onnx"))
            light.check(what, model, shape, folder)
            results += [{"operator": what, "rows": rows, "threads": threads,
                         **measure(model, shape, threads, blocks, seconds)}
                        for threads in common.thread_counts()]
    ratios = sorted(r["ratio"]["onnxruntime"] for r in results)
    found = {"median": common.median(ratios), "most": ratios[-1]}
    if chosen.json:
        print(json.dumps({"targets": TARGETS, **found, "operators": results}))
        return
    common.table(["best us", "latchkey", "onnxruntime", "/ onnxruntime"],
                 [[f"{r['rows']} rows, {r['operator']}, {r['threads']} threads",
                   *(f"{r['best_ms'][e] * 1e3:.1f}" for e in ("latchkey", "onnxruntime")),
                   f"{r['ratio']['onnxruntime']:.3f}"] for r in results])
    for name, target in TARGETS.items():
        verdict = "met" if found[name] <= target else "MISSED"
        print(f"  {name} {found[name]:.3f}, target {target}: {verdict}", flush=True)


if __name__ == "__main__":
    main()
