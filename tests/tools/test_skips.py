"""Skips that are not listed are found, whoever makes them, and so are lines that are no longer
true."""

import subprocess
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[2]

PASSED = """[ RUN      ] Cache.Hits
[       OK ] Cache.Hits (0 ms)
[  PASSED  ] 1 test."""
# As GoogleTest says it of one test of a process, and of two among others.
SKIPPED = """[ RUN      ] All/Isa.Adds/avx512
/tests/element_test.cc:203: Skipped
this processor does not have it
[  SKIPPED ] All/Isa.Adds/avx512 (0 ms)
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] All/Isa.Adds/avx512"""
OF_A_FILE = """[ RUN      ] Team.Forks
/tests/team_test.cc:357: Skipped
no threads after a fork

[  SKIPPED ] Team.Forks (0 ms)
[ RUN      ] Team.Works
[       OK ] Team.Works (0 ms)
[ RUN      ] Team.Ends
/tests/team_test.cc:429: Skipped


[  SKIPPED ] Team.Ends (1 ms)
[  SKIPPED ] 2 tests, listed below:
[  SKIPPED ] Team.Forks
[  SKIPPED ] Team.Ends"""
BY_PYTEST = """s..s                [100%]
=========================== short test summary info ============================
SKIPPED [2] tests/python/test_wheel.py:284: Paddle: it is fetched
2 passed, 2 skipped in 1.00s"""

KEPT = """# presets | test | reason
one two | element_test.All/Isa.*/avx512 | this processor does not have it
two | team_test.Team.Forks | no threads after a fork
"""


def check(folder, cases, kept=KEPT, preset="one"):
    """Its exit code and what it says of cases: (name, status, output)."""
    junit, listed = folder / "junit.xml", folder / "skips.txt"
    listed.write_text(kept)
    junit.write_text("<testsuite>" + "".join(
        f'<testcase name="{name}" status="{status}">'
        + ("<skipped/>" if status == "notrun" else "<failure/>" if status == "fail" else "")
        + f"<system-out>{escape(output)}</system-out></testcase>"
        for name, status, output in cases) + "</testsuite>")
    done = subprocess.run([ROOT / "tools/check_skips", preset, junit, listed], capture_output=True,
                          text=True)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


HITS = ("cache_test", "run", PASSED)
ISA = ("element_test", "run", SKIPPED)


def test_what_is_listed_passes(tmp_path):
    code, said = check(tmp_path, [HITS, ISA])
    assert code == 0
    assert said == ("skipped: element_test.All/Isa.Adds/avx512: this processor does not have it\n"
                    "preset one: 1 skips in 2 tests\n")


def test_a_new_skip_fails(tmp_path):
    new = ("cache_test", "run", SKIPPED.replace("All/Isa.Adds/avx512", "Cache.Hits"))
    code, said = check(tmp_path, [new, ISA])
    assert code == 1
    assert "NEW SKIP: cache_test.Cache.Hits: this processor does not have it" in said


def test_another_reason_is_a_new_skip(tmp_path):
    code, said = check(tmp_path, [(*ISA[:2], SKIPPED.replace("processor", "machine"))])
    assert code == 1
    assert "NEW SKIP: element_test.All/Isa.Adds/avx512: this machine does not have it" in said


def test_skips_inside_a_file_that_passes(tmp_path):
    code, said = check(tmp_path, [ISA, ("team_test", "run", OF_A_FILE)], preset="two")
    assert code == 1
    assert "skipped: team_test.Team.Forks: no threads after a fork" in said
    assert "NEW SKIP: team_test.Team.Ends: \n" in said
    assert "3 skips in 2 tests, 1 not as" in said


def test_skips_of_pytest(tmp_path):
    wheel = ("python_test_wheel", "run", BY_PYTEST)
    code, said = check(tmp_path, [ISA, wheel])
    assert code == 1
    assert "NEW SKIP: python_test_wheel: Paddle: it is fetched" in said
    code, _ = check(tmp_path, [ISA, wheel], KEPT + "one | python_* | Paddle: *\n")
    assert code == 0


def test_a_test_that_ctest_did_not_run(tmp_path):
    code, said = check(tmp_path, [ISA, ("moves_test", "notrun", "")])
    assert code == 1
    assert "NEW SKIP: moves_test: ctest says notrun" in said
    code, said = check(tmp_path, [ISA, ("moves_test", "disabled", "")])
    assert code == 1
    # What fails is ctest's to tell.
    code, said = check(tmp_path, [ISA, ("moves_test", "fail", "wrong")])
    assert code == 0


def test_a_line_that_is_no_longer_true(tmp_path):
    code, said = check(tmp_path, [HITS])
    assert code == 1
    assert "NO LONGER SKIPS: element_test.All/Isa.*/avx512: this processor" in said
    code, _ = check(tmp_path, [HITS], KEPT.replace("one two", "one? two"))
    assert code == 0
    code, _ = check(tmp_path, [HITS], preset="three")
    assert code == 0


def test_output_that_ctest_has_cut(tmp_path):
    cut = "The rest of the test output was removed since it exceeds the threshold of 1024 bytes."
    code, said = check(tmp_path, [("cache_test", "run", f"{PASSED}\n{cut}")], kept="")
    assert code != 0 and "ctest has cut the output of cache_test" in said


def test_no_tests_at_all(tmp_path):
    assert check(tmp_path, [], "")[0] == 1


def test_a_line_of_another_form(tmp_path):
    code, said = check(tmp_path, [HITS], "one | cache_test\n")
    assert code == 1
    assert "line 1 has not the form" in said


def test_the_list_names_presets_that_there_are(tmp_path):
    presets = (ROOT / "CMakePresets.json").read_text()
    for line in (ROOT / "tests/skips.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            for preset in line.split("|")[0].split():
                assert f'"name": "{preset.rstrip("?")}"' in presets, line
