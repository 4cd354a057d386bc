"""Copies of the sources, each with a build of its own, in which mutants are made."""

import functools
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from mutants import Mutant, applied

PRESET = "mutate"
# What is linked anew for a mutant. Tests are linked with the first of these, so they are not; those
# that compile files of the product themselves are.
PRODUCTS = ("tests/liblatchkey_internal.so", "liblatchkey.so",
            "liblatchkey_onednn.so", "liblatchkey_ort.so", "latchkey")
COMPILED_BY_TEST = re.compile(r"^tests/(?:.*/)?CMakeFiles/([^/]+?)(?:_source)?\.dir/__/.*\.o$")


def tracked(root: Path) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=root, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0")
            if name and (root / name).is_file() and not (root / name).is_symlink()]


class Tree:
    """One copy. What is there from before is used where it is the same. The names of all trees are
    of one length, so that programs of one can be made those of another."""

    def __init__(self, home: Path, number: int, root: Path):
        self.root = root
        self.source = home / f"{number:02}"
        self.build = self.source / "build" / PRESET

    def copy_sources(self) -> None:
        names = set(tracked(self.root))
        for name in names:
            text, to = (self.root / name).read_bytes(), self.source / name
            if to.is_file() and to.read_bytes() == text:
                continue
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.root / name, to)
        kept = self.source.with_suffix(".files")  # what was copied the last time
        before = kept.read_text().split("\n") if kept.is_file() else []
        for name in set(before) - names - {""}:
            (self.source / name).unlink(missing_ok=True)
        kept.write_text("\n".join(sorted(names)))
        for name in (".venv", ".deps"):
            link = self.source / name
            if not link.is_symlink() and (self.root / name).exists():
                link.symlink_to((self.root / name).resolve())

    def configure(self) -> None:
        self._run(["cmake", "--preset", PRESET], 600)

    def make(self, targets, jobs: int, seconds: float = 3600) -> None:
        self._run(["ninja", "-C", str(self.build), f"-j{jobs}", *targets], seconds)

    def _run(self, command, seconds):
        done = subprocess.run(command, cwd=self.source, capture_output=True, text=True, check=False,
                              timeout=seconds)
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]} failed: {(done.stdout + done.stderr)[-3000:]}")

    def products(self) -> list[str]:
        made = ["latchkey_internal", "latchkey", "latchkey_onednn", "latchkey_ort", "latchkey_cli"]
        found = map(COMPILED_BY_TEST.match, self.targets())
        by_tests = {match[1] for match in found if match and not match[1].startswith("fuzz_")}
        return [name for name in (*made, *sorted(by_tests)) if name in self.targets()]

    @functools.cache
    def targets(self) -> frozenset[str]:
        listed = subprocess.run(["ninja", "-C", str(self.build), "-t", "targets", "all"],
                                check=True, capture_output=True, text=True).stdout
        return frozenset(line.rsplit(": ", 1)[0] for line in listed.splitlines())

    def adopt_tests(self, other: "Tree") -> None:
        """The test programs of another tree, with the path of this one written over it."""
        old, new = os.fsencode(other.source), os.fsencode(self.source)
        assert len(old) == len(new)
        for path in (other.build / "tests").iterdir():
            if path.is_file() and path.suffix in ("", ".so") and os.access(path, os.X_OK):
                to = self.build / "tests" / path.name
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(path.read_bytes().replace(old, new))
                to.chmod(0o755)

    def hash(self) -> str:
        digest = hashlib.sha256()
        for name in PRODUCTS:
            path = self.build / name
            if path.is_file():
                digest.update(path.read_bytes())
        return digest.hexdigest()

    def put(self, mutant: Mutant) -> None:
        path = self.source / mutant.path
        text = (self.root / mutant.path).read_text()
        path.write_text(applied(mutant, text))

    def restore(self, mutant: Mutant) -> None:
        shutil.copy(self.root / mutant.path, self.source / mutant.path)
