"""How long do models and operators take here, beside an earlier commit of this repository?

LATCHKEY_EARLIER is the commit. Its tree is cloned, built and installed once, by its own set-up, in
the user's cache: some minutes, and what it fetches then. Four kinds of cases: the models of
`models`, each at one size; those of `sizes`, each at many sizes that were never seen before, by the
first pass over them; those of `whole_models`, driven from Python; and of each operator that
`operators` measures the node with the most elements, alone. The engine is LATCHKEY_ENGINE, or
`native`, the one that the earlier commits have. Both commits take turns in short blocks, each in a
process of its own. A case that misses its target is measured again, in new
processes and for longer, and that counts. A model that the earlier commit refuses has no ratio.
LATCHKEY_EARLIER_KINDS=operators,sizes measures these kinds alone. Outputs are not compared here:
the programs of the models compare ours with the peers'.
"""

import contextlib
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import common
import models
import numpy
import onnx
import operators
import sizes
import whole_models

QUESTION = __doc__.splitlines()[0]
COMMIT = os.environ.get("LATCHKEY_EARLIER", "7a53f552")
COMMANDS = (["tools/setup", "--development"],
            ["cmake", "--preset", "release", "-DLATCHKEY_BENCHMARKS=ON"],
            ["cmake", "--build", "--preset", "release", "--target", "worker"],
            ["tools/install_python"])
ENGINE = {"LATCHKEY_ENGINE": os.environ.get("LATCHKEY_ENGINE", "native")}
TARGETS = {"each": 1.02, "median": 1.00}
LONGER = 4  # times as many blocks


def text_of(*command):
    return subprocess.run(command, cwd=common.ROOT, check=True, text=True,
                          capture_output=True).stdout.strip()


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "latchkey"


def built_tree(commit):
    """The folder of `commit`, built. A build that fails leaves nothing behind."""
    whole = text_of("git", "rev-parse", "--verify", f"{commit}^{{commit}}")
    tree = cache_folder() / f"commit-{whole}"
    if (tree / "build/.python-installed").exists():
        return tree
    print(f"building commit {commit}, some minutes", file=sys.stderr, flush=True)
    shutil.rmtree(tree, ignore_errors=True)
    try:
        tree.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", common.ROOT, tree], check=True)
        subprocess.run(["git", "checkout", "--quiet", whole], cwd=tree, check=True)
        for command in COMMANDS:
            subprocess.run(command, cwd=tree, check=True, stdout=sys.stderr)
    except BaseException:
        shutil.rmtree(tree, ignore_errors=True)
        raise
    return tree


# ---- both commits' processes ----

def c_workers(tree, model, threads):
    return (functools.partial(common.latchkey, model, threads, **ENGINE),
            functools.partial(common.Worker, tree / "build/benchmarks/worker", model, threads))


def python_workers(tree, model, threads):
    then = functools.partial(common.Worker, tree / ".venv/bin/python", tree / "benchmarks/peer.py",
                             "latchkey", model, threads)
    return functools.partial(common.peer, "latchkey", model, threads, **ENGINE), then


def takes(start, commands):
    """Whether a worker runs all `commands`; it says on stderr why not."""
    try:
        with start() as worker:
            for words in commands:
                worker.ask(*words)
    except (RuntimeError, BrokenPipeError):  # the worker has ended
        return False
    return True


def measure(commands, blocks, seconds, workers, longer):
    """The figures of workers that run all `commands`, of which the last is measured."""
    *before, timed = commands
    with contextlib.ExitStack() as stack:
        asked = {name: stack.enter_context(start()) for name, start in workers.items()}
        runs = {}
        for name, worker in asked.items():
            for words in before:
                worker.ask(*words)
            warm = worker.ask(timed[0], 5, *timed[1:])["ns"]
            runs[name] = max(3, min(400, int(seconds * 1e9 / common.median(warm[1:]))))
        return common.figures(common.alternate(
            list(workers), longer * blocks,
            lambda name, _: asked[name].ask(timed[0], runs[name], *timed[1:])["ns"]))


def measure_sizes(shapes, workers, longer):
    """The same of first passes over `shapes`, `longer` of them, each in new processes: what counts
    is the sum of a block."""
    blocks = [shapes[i:i + sizes.BLOCK] for i in range(0, len(shapes), sizes.BLOCK)]
    found = {name: [] for name in workers}
    for _ in range(longer):
        with contextlib.ExitStack() as stack:
            asked = {name: stack.enter_context(start()) for name, start in workers.items()}
            times = common.alternate(list(workers), len(blocks),
                                     lambda name, i: [sum(sizes.ask(asked[name], blocks[i]))])
        for name, sums in times.items():
            found[name] += sums
    return common.figures(found)


# ---- the cases ----

def largest_nodes():
    """(operator, a model of copies of its node with the most elements, feeds), by name."""
    found = {}
    for _, proto, feeds in operators.models():
        values, constants = operators.values_of(proto, feeds)
        for node in proto.graph.node:
            case = operators.alone(proto, node, values, constants)
            if node.op_type in operators.LEFT_OUT or case is None:
                continue
            count = sum(values[name].size for name in [*node.input, *node.output] if name)
            name = operators.operator_of(node)
            if name not in found or count > found[name][0]:
                found[name] = count, *case
    return [(name, model, feeds) for name, (_, model, feeds) in sorted(found.items())]


# Each gives (name, threads, workers of both commits, what measures them, what each must run): what
# measures takes the workers by name, and how many times as long as usual.

def of_models(tree, folder, chosen):
    blocks, seconds = common.by_extent(chosen, (3, 0.15), (11, 0.3), (41, 0.5))
    for name, model, shape in models.cases(folder, chosen):
        for threads in common.thread_counts():
            yield (f"{name} {shape}", threads, c_workers(tree, model, threads),
                   functools.partial(measure, [("time", shape)], blocks, seconds),
                   [("time", 1, shape)])


def of_sizes(tree, folder, chosen):
    for name, model, shapes in sizes.cases(folder, common.by_extent(chosen, 40, 400, 400)):
        yield (f"{name}, {len(shapes)} sizes", 1, c_workers(tree, model, 1),
               functools.partial(measure_sizes, shapes), [("shapes", 1, shapes[0])])


def of_feeds(name, threads, tree, path, feeds, file, chosen):
    """A case that is driven from Python: the model in `path`, on `feeds`, which are put in `file`
    until the next case."""
    numpy.savez(file, **feeds)
    extent = common.by_extent(chosen, (2, 0.01), (7, 0.1), (31, 0.3))
    return (name, threads, python_workers(tree, path, threads),
            functools.partial(measure, [("load", file), ("loaded",)], *extent),
            [("load", file), ("loaded", 1)])


def of_whole_models(tree, folder, chosen):
    for name, opened in whole_models.cases():
        path, feeds, _ = opened(2, folder)
        for threads in common.thread_counts():
            yield of_feeds(name, threads, tree, path, feeds, folder / "feeds.npz", chosen)


def of_operators(tree, folder, chosen):
    node = folder / "node.onnx"
    for name, model, feeds in largest_nodes()[::common.by_extent(chosen, 8, 1, 1)]:
        onnx.save(model, node)
        yield of_feeds(name, 1, tree, node, feeds, folder / "feeds.npz", chosen)


KINDS = {"models": of_models, "sizes": of_sizes, "whole_models": of_whole_models,
         "operators": of_operators}


def measure_case(workers, how, commands):
    now, then = workers
    if not takes(then, commands):
        return {"ratio": None}
    workers = {"now": now, COMMIT: then}
    found = how(workers, 1)
    return found if found["ratio"][COMMIT] <= TARGETS["each"] else how(workers, LONGER)


def verdict(result):
    if result["ratio"] is None:
        return "refused then"
    return "met" if result["ratio"][COMMIT] <= TARGETS["each"] else "MISSED"


def cells(result):
    if result["ratio"] is None:
        return ["", "", ""]
    both = [f"{result['p50_ms'][e]:.2f} ({result['best_ms'][e]:.2f})" for e in ("now", COMMIT)]
    return [*both, f"{result['ratio'][COMMIT]:.3f}"]


def kinds():
    names = os.environ.get("LATCHKEY_EARLIER_KINDS", ",".join(KINDS)).split(",")
    for name in names:
        if name not in KINDS:
            sys.exit(f"earlier: LATCHKEY_EARLIER_KINDS has {name!r}, one of {', '.join(KINDS)} is "
                     "needed, or several with commas")
    return names


def main():
    chosen = common.options(QUESTION)
    wanted = kinds()
    tree = built_tree(COMMIT)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in wanted:
            for name, threads, *case in KINDS[kind](tree, pathlib.Path(folder), chosen):
                results.append({"kind": kind, "case": name, "threads": threads,
                                **measure_case(*case)})
                if not chosen.json:
                    r = results[-1]
                    print("  ", kind, name, threads, *cells(r), verdict(r), flush=True)
    medians = {kind: common.median([r["ratio"][COMMIT] for r in results
                                    if r["kind"] == kind and r["ratio"] is not None])
               for kind in wanted}
    if chosen.json:
        print(json.dumps({"commit": COMMIT, "targets": TARGETS, "medians": medians,
                          "cases": results}))
        return
    common.table(["p50 ms (best)", "threads", "now", COMMIT, "ratio", "target"],
                 [[r["case"], r["threads"], *cells(r), verdict(r)] for r in results])
    for kind, median in medians.items():
        print(f"  median of {kind}: {median:.3f}, target {TARGETS['median']}: "
              f"{'met' if median <= TARGETS['median'] else 'MISSED'}; each: {TARGETS['each']}",
              flush=True)


if __name__ == "__main__":
    main()
