"""How long does the demo take in a fresh clone, and how large is what comes of it?

A clone of the last commit in an empty folder, with an empty cache of the user, so that everything
but Debian's packages is fetched anew, and oneDNN is built; then the same once more, and in a second
clone, which finds oneDNN, and what ccache has compiled, in the cache. Lines are those of the
product, in the commit LATCHKEY_EARLIER and now.
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
DEMO, TEXT, SECOND, AGAIN = "demo", "its first text", "demo in a second clone", "demo, again"
TARGETS = {DEMO: 8 * 60, TEXT: 2 * 60, SECOND: 90}  # seconds, on two processors
WHEEL_TARGET = 25 << 20
READ = "confidence"  # in each line of text that the demo reads


def demo(tree, cache):
    """Seconds until the first text, and in all; what it says goes to stderr."""
    start, text = time.perf_counter(), None
    with subprocess.Popen(["make", "demo"], cwd=tree, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "XDG_CACHE_HOME": str(cache)}) as process:
        for line in process.stdout:
            print(line, end="", file=sys.stderr)
            if text is None and READ in line:
                text = time.perf_counter() - start
    if process.returncode != 0:
        sys.exit("set_up: failed to run the demo")
    return text, time.perf_counter() - start


def clone(folder, name):
    tree = folder / name
    subprocess.run(["git", "clone", "--quiet", common.ROOT, tree], check=True)
    return tree


def lines(commit):
    names = earlier.text_of("git", "ls-tree", "-r", "--name-only", commit, "--", *PRODUCT)
    return sum(earlier.text_of("git", "show", f"{commit}:{name}").count("\n") + 1
               for name in names.splitlines() if name.endswith(SUFFIXES))


def measure(folder):
    first, second = clone(folder, "first"), clone(folder, "second")
    text, whole = demo(first, folder / "cache")
    return {TEXT: text, DEMO: whole, AGAIN: demo(first, folder / "cache")[1],
            SECOND: demo(second, folder / "cache")[1]}


def wheel_bytes(folder):
    subprocess.run(["tools/build_wheel", folder / "wheel"], cwd=common.ROOT, check=True,
                   stdout=sys.stderr)
    return max(file.stat().st_size for file in (folder / "wheel").glob("*.whl"))


def verdict(figure, target):
    return "" if target is None else "met" if figure <= target else "MISSED"


def main():
    chosen = common.options(QUESTION)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        seconds = measure(folder)
        wheel = wheel_bytes(folder)
    counted = {commit: lines(commit) for commit in (earlier.COMMIT, "HEAD")}
    if chosen.json:
        print(json.dumps({"seconds": seconds, "wheel_bytes": wheel, "lines": counted}))
        return
    common.table(["seconds", "", "target"],
                 [[what, f"{taken:.1f}", verdict(taken, TARGETS.get(what))]
                  for what, taken in seconds.items()])
    print(f"  wheel: {common.mib(wheel)}, target {common.mib(WHEEL_TARGET)}: "
          f"{verdict(wheel, WHEEL_TARGET)}", flush=True)
    print("  lines of the product: " +
          ", ".join(f"{count} in {commit}" for commit, count in counted.items()), flush=True)


if __name__ == "__main__":
    main()
