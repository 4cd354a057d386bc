"""How a command that is Python reads its command line, does its work, and fails.

As the program's do: one sentence on stderr; exit code 1 when it failed, 2 when the command line is
wrong.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

from .._errors import Error
from .._text import escape
from . import NEEDS

OK, FAILED, USAGE = 0, 1, 2


class CommandError(Exception):
    """The sentence of a failure, and the exit code."""

    def __init__(self, sentence: str, code: int = FAILED) -> None:
        super().__init__(sentence)
        self.code = code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CommandError(f"failed to read the command line: {message}, see --help", USAGE)


class _Help(argparse.RawDescriptionHelpFormatter):
    """With a line of usage as the program's, which man pages are made from."""

    def add_usage(self, usage: str | None, actions: Iterable[argparse.Action],
                  groups: Iterable[argparse._MutuallyExclusiveGroup],
                  prefix: str | None = "Usage: ") -> None:
        super().add_usage(usage, actions, groups, prefix)


def run(name: str, words: Sequence[str]) -> int:
    """Runs a command of the table; returns the exit code of the process."""
    module = importlib.import_module(f"{__package__}.{name.replace('-', '_')}")
    parser = _Parser(prog=f"latchkey {name}", usage=f"%(prog)s [OPTION...] {module.ARGUMENTS}",
                     description=module.DESCRIPTION, epilog=_epilog(name, module.EPILOG),
                     formatter_class=_Help, allow_abbrev=False)
    module.add_arguments(parser)
    try:
        code: int = module.work(parser.parse_args(words))
        if sys.stdout is None:
            raise OSError("closed")
        sys.stdout.flush()
        return code
    except CommandError as error:
        return _complain(name, str(error), error.code)
    except (Error, ImportError) as error:
        return _complain(name, str(error))
    except KeyboardInterrupt:
        # Ended by the signal, as the program is, so that a shell's loop ends as well.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        raise
    except OSError as error:
        if error.filename is not None:
            return _complain(name, f"failed to use '{error.filename}': {error.strerror}")
        sys.stdout = None  # the interpreter would try once more at its end
        return _complain(name, "failed to write to standard output")


def _epilog(name: str, text: str) -> str:
    """With what the command needs, before its examples."""
    needs = f"It needs, besides: {NEEDS[name]}\n" if name in NEEDS else ""
    first, mark, examples = text.partition("Example")
    return f"{first}It is a command of the Python package.\n{needs}\n{mark}{examples}"


def _complain(name: str, sentence: str, code: int = FAILED) -> int:
    print(f"latchkey {name}: {escape(sentence)}", file=sys.stderr)
    return code
