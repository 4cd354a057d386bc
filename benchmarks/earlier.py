"""How long does a whole model take here, beside an earlier commit of this repository?

LATCHKEY_EARLIER is the commit. Its tree is cloned and built, once, by its own set-up, in the user's
cache: some minutes, and what it fetches then. Both commits' workers take turns in short blocks, as
in `models`. A model that the earlier commit refuses has no ratio. Outputs are not compared here:
`models` compares ours with the peers'.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import common
import models

QUESTION = __doc__.splitlines()[0]
COMMIT = os.environ.get("LATCHKEY_EARLIER", "5b45acb")  # the last one that built for a size
COMMANDS = (["tools/setup"], ["cmake", "--preset", "release"],
            ["cmake", "--build", "--preset", "release", "--target", "worker"])
TARGETS = {"each": 1.02, "median": 0.97}


def text_of(*command):
    return subprocess.run(command, cwd=common.ROOT, check=True, text=True,
                          capture_output=True).stdout.strip()


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "latchkey"


def built_worker(commit):
    """Path of the worker of `commit`. A build that fails leaves nothing behind."""
    whole = text_of("git", "rev-parse", "--verify", f"{commit}^{{commit}}")
    tree = cache_folder() / f"commit-{whole}"
    worker = tree / "build/benchmarks/worker"
    if worker.exists():
        return worker
    print(f"building commit {commit}, some minutes", file=sys.stderr, flush=True)
    try:
        tree.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", common.ROOT, tree], check=True)
        subprocess.run(["git", "checkout", "--quiet", whole], cwd=tree, check=True)
        for command in COMMANDS:
            subprocess.run(command, cwd=tree, check=True, stdout=sys.stderr)
    except BaseException:
        shutil.rmtree(tree, ignore_errors=True)
        raise
    return worker


def takes(worker, model, shape):
    """Whether the earlier commit runs it; its worker says on stderr why not."""
    try:
        with common.Worker(worker, model, 1) as asked:
            return bool(asked.ask("time", 1, shape))
    except (RuntimeError, BrokenPipeError):  # the worker has ended
        return False


def measure(worker, model, shape, threads, blocks, seconds):
    with contextlib.ExitStack() as stack:
        workers = {"now": stack.enter_context(common.latchkey(model, threads)),
                   COMMIT: stack.enter_context(common.Worker(worker, model, threads))}
        return common.compare(workers, shape, blocks, seconds)


def verdict(result):
    if result["ratio"] is None:
        return "refused then"
    return "met" if result["ratio"][COMMIT] <= TARGETS["each"] else "MISSED"


def cells(result):
    if result["ratio"] is None:
        return ["", "", ""]
    both = [f"{result['p50_ms'][e]:.2f} ({result['best_ms'][e]:.2f})" for e in ("now", COMMIT)]
    return [*both, f"{result['ratio'][COMMIT]:.3f}"]


def main():
    chosen = common.options(QUESTION)
    blocks, seconds = common.by_extent(chosen, (3, 0.15), (11, 0.5), (41, 0.5))
    worker = built_worker(COMMIT)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name, model, shape in models.cases(folder, chosen):
            is_taken = takes(worker, model, shape)
            for threads in common.thread_counts():
                result = {"model": name, "shape": shape, "threads": threads, "ratio": None}
                if is_taken:
                    result.update(measure(worker, model, shape, threads, blocks, seconds))
                results.append(result)
    median = common.median([r["ratio"][COMMIT] for r in results if r["ratio"] is not None])
    if chosen.json:
        print(json.dumps({"commit": COMMIT, "targets": TARGETS, "median": median,
                          "models": results}))
        return
    common.table(["p50 ms (best)", "threads", "now", COMMIT, "ratio", "target"],
                 [[f"{r['model']} {r['shape']}", r["threads"], *cells(r), verdict(r)]
                  for r in results])
    print(f"  median: {median:.3f}, target {TARGETS['median']}: "
          f"{'met' if median <= TARGETS['median'] else 'MISSED'}; each: {TARGETS['each']}",
          flush=True)


if __name__ == "__main__":
    main()
