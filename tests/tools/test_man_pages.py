"""The man pages: made from --help, whole, and such that man and lexgrog find no fault in them."""

import functools
import os
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest
from latchkey.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("LK_TEST_BUILD", ROOT / "build/development"))
COMMAND = BUILD / "latchkey"
SUBCOMMANDS = sorted(path.stem.removeprefix("cmd_")
                     for path in (ROOT / "executor_glue/cli").glob("cmd_*.c"))


PACKAGE = Path(sysconfig.get_path("scripts"), "latchkey")


def tell(*arguments, **options):
    return subprocess.run(arguments, check=True, capture_output=True, text=True, **options).stdout


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Files, by the name of the subcommand; "": the command's."""
    folder = tmp_path_factory.mktemp("man")
    made = {}
    for name in ["", *SUBCOMMANDS]:
        made[name] = folder / f"latchkey{'-' * bool(name)}{name}.1"
        made[name].write_text(tell(ROOT / "cmake/man_page", COMMAND, *[name] * bool(name)))
    return made


@functools.cache
def shown(page):
    """A page as a reader sees it, without hyphens at the ends of lines."""
    text = tell("man", "-l", page, env={**os.environ, "MANWIDTH": "1000", "LC_ALL": "C.UTF-8"})
    return re.sub(r".\x08", "", text)


@pytest.mark.parametrize("name", ["", *SUBCOMMANDS])
def test_pages_are_well_formed(pages, name):
    whole = f"latchkey-{name}" if name else "latchkey"
    assert f'"{whole} - ' in tell("lexgrog", pages[name])
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", pages[name]],
                          capture_output=True, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C.UTF-8", "MANROFFSEQ": ""})
    assert done.stderr == ""
    assert shown(pages[name]).startswith(f"{whole.upper()}(1)")


def test_the_command_lists_each_by_itself(pages):
    text = pages[""].read_text().replace("\\-", "-")
    items = dict(re.findall(r"^\.TP\n(.+)\n(.+)$", text, re.MULTILINE))
    assert {name: items.get(name) for name in COMMANDS} == COMMANDS
    assert set(SUBCOMMANDS) <= set(items)


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_option_is_in_the_page(pages, name):
    text = shown(pages[name])
    options = re.findall(r"^ +(?:-., )?(--[a-z-]+)", tell(COMMAND, name, "--help"), re.MULTILINE)
    assert "--help" in options
    assert not [option for option in options if not re.search(rf"{option}\b", text)]


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_of_the_package_have_a_page(tmp_path, name):
    page = tmp_path / f"latchkey-{name}.1"
    page.write_text(tell(ROOT / "cmake/man_page", PACKAGE, name))
    text = shown(page)
    assert f'"latchkey-{name} - ' in tell("lexgrog", page)
    assert text.startswith(f"LATCHKEY-{name.upper()}(1)")
    assert f"latchkey {name} [OPTION...]" in text.partition("SYNOPSIS")[2].partition("DESC")[0]
    assert "usage:" not in text
    options = re.findall(r"^  (?:-.[^,]*, )?(--[a-z-]+)", tell(PACKAGE, name, "--help"),
                         re.MULTILINE)
    assert "--help" in options
    assert not [option for option in options if not re.search(rf"{option}\b", text)]


def test_pages_name_each_other(pages):
    see_also = shown(pages[""]).partition("SEE ALSO")[2]
    assert set(re.findall(r"latchkey-(\w+)\(1\)", see_also)) == set(SUBCOMMANDS)
    for name in SUBCOMMANDS:
        assert "latchkey(1)" in shown(pages[name]).partition("SEE ALSO")[2]


def test_pages_depend_on_neither_day_nor_environment(pages):
    again = tell(ROOT / "cmake/man_page", COMMAND, "bench",
                 env={**os.environ, "LATCHKEY_VERBOSE": "3", "ARGP_HELP_FMT": "rmargin=40",
                      "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "1"})
    assert again == pages["bench"].read_text()


@pytest.mark.parametrize("arguments, complaint", [
    ([COMMAND, "jump"], "failed to find 'jump' among the commands"),
    ([COMMAND, "run", "more"], "usage"), ([], "usage")])
def test_what_is_no_command_has_no_page(arguments, complaint):
    done = subprocess.run([ROOT / "cmake/man_page", *arguments], capture_output=True, text=True,
                          check=False)
    assert done.returncode != 0 and complaint in done.stderr and done.stdout == ""
