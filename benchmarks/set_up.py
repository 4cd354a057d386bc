"""How long do set-up and the demo take in a fresh clone, and how large is what comes of it?

A clone of the last commit in an empty folder, with an empty cache of the user, so that everything
but Debian's packages is fetched anew; then the same once more, and in a second clone. oneDNN, a
peer of the benchmarks, is built with --long only. Lines are those of the product, in the commit
LATCHKEY_EARLIER and now.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import common
import earlier

QUESTION = __doc__.splitlines()[0]
PRODUCT = ("base", "include", "keys", "ops", "plugin", "executor_glue", "python")
SUFFIXES = (".c", ".h", ".inc", ".py")
ONEDNN_TARGET = 12 * 60


def seconds_of(tree, cache, *command):
    """Of `command` in `tree`; what it says goes to stderr."""
    start = time.perf_counter()
    subprocess.run(command, cwd=tree, check=True, stdout=sys.stderr,
                   env={**os.environ, "XDG_CACHE_HOME": str(cache)})
    return time.perf_counter() - start


def clone(folder, name):
    tree = folder / name
    subprocess.run(["git", "clone", "--quiet", common.ROOT, tree], check=True)
    return tree


def lines(commit):
    names = earlier.text_of("git", "ls-tree", "-r", "--name-only", commit, "--", *PRODUCT)
    return sum(earlier.text_of("git", "show", f"{commit}:{name}").count("\n") + 1
               for name in names.splitlines() if name.endswith(SUFFIXES))


def measure(folder, with_onednn):
    first, second = clone(folder, "first"), clone(folder, "second")
    cache = folder / "cache"
    steps = [("set-up", first, ["tools/setup"]),
             ("set-up, again", first, ["tools/setup"]),
             ("demo after it", first, ["make", "demo"]),
             ("demo, again", first, ["make", "demo"]),
             ("demo in a second clone", second, ["make", "demo"])]
    if with_onednn:
        steps += [("oneDNN", first, ["tools/setup", "--onednn"]),
                  ("the same in a second clone", second, ["tools/setup", "--onednn"])]
    return {what: seconds_of(tree, cache, *command) for what, tree, command in steps}


def wheel_bytes(folder):
    seconds_of(common.ROOT, folder / "cache", "tools/build_wheel", folder / "wheel")
    return max(file.stat().st_size for file in (folder / "wheel").glob("*.whl"))


def main():
    chosen = common.options(QUESTION)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        seconds = measure(folder, chosen.long)
        wheel = wheel_bytes(folder)
    counted = {commit: lines(commit) for commit in (earlier.COMMIT, "HEAD")}
    if chosen.json:
        print(json.dumps({"seconds": seconds, "wheel_bytes": wheel, "lines": counted}))
        return
    common.table(["seconds", "", "target"],
                 [[what, f"{taken:.1f}", "" if what != "oneDNN" else
                   "met" if taken <= ONEDNN_TARGET else "MISSED"]
                  for what, taken in seconds.items()])
    print(f"  wheel: {common.mib(wheel)}", flush=True)
    print("  lines of the product: " +
          ", ".join(f"{count} in {commit}" for commit, count in counted.items()), flush=True)


if __name__ == "__main__":
    main()
