"""The lines that each unit reaches, as gcov counts them in a build of the preset `coverage`.

A unit's counts are kept in <build>/units/<name>/, and hold until its program changes.
"""

import concurrent.futures
import json
import os
import shutil
import subprocess
from pathlib import Path

from units import run, units_of

TIME = 900  # seconds for a unit


def counts_of(folder: Path, build: Path, root: Path) -> dict:
    """{file: {line: count}} of the counters in a folder, which has the paths of `build`; all
    lines that have code, of the files that were linked."""
    inside = folder / build.relative_to("/")
    counters = sorted(str(path.relative_to(inside)) for path in inside.rglob("*.gcda"))
    counters = [name for name in counters if (build / name).with_suffix(".gcno").is_file()]
    if not counters:
        return {}
    for name in counters:  # gcov looks for the notes beside the counters
        notes = Path(name).with_suffix(".gcno")
        (inside / notes).unlink(missing_ok=True)
        (inside / notes).symlink_to(build / notes)
    done = subprocess.run(["gcov", "--json-format", "--stdout", *counters], cwd=inside, check=True,
                          capture_output=True, text=True)
    found = {}
    for report in map(json.loads, done.stdout.splitlines()):
        for file in report["files"]:
            path = os.path.normpath(
                os.path.join(report["current_working_directory"], file["file"]))
            if not path.startswith(f"{root}/") or path.startswith(f"{root}/build/"):
                continue
            lines = found.setdefault(os.path.relpath(path, root), {})
            for line in file["lines"]:
                number = line["line_number"]
                lines[number] = lines.get(number, 0) + line["count"]
    return found


def collect_one(unit, build: Path, root: Path) -> str | None:
    """Runs a unit unless what it would do is known; what is wrong, or None."""
    folder = build / "units" / unit.name
    kept = folder / "reached.json"
    key = unit.key()
    if kept.is_file() and json.loads(kept.read_text())["key"] == key:
        return None
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    ran = run(unit, TIME, {"GCOV_PREFIX": str(folder)})
    if ran.status != 0:
        how = "did not end" if ran.status is None else f"failed ({ran.status})"
        return f"{unit.name} {how} after {ran.seconds:.0f} s:\n{ran.said}"
    counts = counts_of(folder, build, root)
    reached = {path: sorted(line for line, count in lines.items() if count)
               for path, lines in counts.items()}
    kept.write_text(json.dumps({"key": key, "seconds": ran.seconds, "reached": reached,
                                "code": {path: sorted(lines) for path, lines in counts.items()}}))
    return None


def collect(build: Path, root: Path, jobs: int, tell, only=None):
    """Runs what is not known. Returns the units, {name: {"seconds", "reached", "code"}} (the last
    two are {file: lines}),
    and what went wrong."""
    units = [unit for unit in units_of(build) if only is None or only(unit.name)]
    wrong = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waits = {pool.submit(collect_one, unit, build, root): unit for unit in units}
        for number, wait in enumerate(concurrent.futures.as_completed(waits), 1):
            said = wait.result()
            tell(f"{number}/{len(units)} {waits[wait].name}")
            if said:
                wrong.append(said)
    known = {}
    for unit in units:
        kept = build / "units" / unit.name / "reached.json"
        if kept.is_file():
            known[unit.name] = json.loads(kept.read_text())
    return units, known, wrong


def merge_all(folders: list[Path], to: Path) -> None:
    """The sums of all counters of some folders, in another one."""
    aside = to.with_suffix(".new")
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folders[0], to, ignore=shutil.ignore_patterns("*.gcno"))
    for folder in folders[1:]:
        shutil.rmtree(aside, ignore_errors=True)
        subprocess.run(["gcov-tool", "merge", "-o", str(aside), str(to), str(folder)],
                       check=True, capture_output=True)
        shutil.rmtree(to)
        aside.rename(to)


def merge(build: Path, names, jobs: int) -> Path:
    """The counts of all units in one folder, for gcovr."""
    folders = [build / "units" / name / build.relative_to("/") for name in sorted(names)]
    folders = [folder for folder in folders if folder.is_dir()]
    parts = [build / "units" / f"part{number}" for number in range(min(jobs, len(folders)))]
    total = build / "units" / "total"
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(merge_all, (folders[n::len(parts)] for n in range(len(parts))), parts))
    merge_all(parts, total)
    for part in parts:
        shutil.rmtree(part)
    for path in total.rglob("*.gcda"):
        notes = path.relative_to(total).with_suffix(".gcno")
        if (build / notes).is_file():
            path.with_suffix(".gcno").symlink_to(build / notes)
    return total
