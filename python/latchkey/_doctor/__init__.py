"""What may keep this process, or another one, from being fast: looked at in one go.

``_files`` reads /proc and /sys, ``machine`` and ``process`` say what is there, ``peak`` measures,
``model`` looks at a model, ``pitfalls`` says what is wrong and what to do, ``show`` shows it.
"""

from __future__ import annotations

import os
from typing import Any

from .. import _check
from .._context import Context, shared_context
from .._errors import Error
from . import machine, model, peak, pitfalls, process
from ._files import Files
from .pitfalls import Pitfall
from .show import lines

__all__ = ["Diagnosis", "Pitfall", "doctor"]

_DO = "look at the process"
_SCHEMA = "latchkey-doctor-1"


class Diagnosis(dict[str, Any]):
    """``machine``, ``library``, ``options``, ``process``, ``measured``, ``model`` and ``pitfalls``,
    as docs/command.md says. ``str`` shows it as text."""

    @property
    def pitfalls(self) -> tuple[Pitfall, ...]:
        """What was found, problems first."""
        return tuple(Pitfall(**one) for one in self["pitfalls"])

    @property
    def has_problems(self) -> bool:
        """Whether one of them is more than a remark."""
        return any(one.level == pitfalls.PROBLEM for one in self.pitfalls)

    def __str__(self) -> str:
        return "\n".join(lines(self)) + "\n"

    __repr__ = __str__


def doctor(model_path: str | os.PathLike[str] | None = None, *, context: Context | None = None,
           pid: int | None = None, measure: bool = True) -> Diagnosis:
    """Looks at the machine and at the process that calls it: what limits it, which options are in
    force and where they come from, what else computes in it, what it reaches, and what is wrong.

    :param model_path: a model to look at, too: what it lacks, the sizes of its inputs, its memory.
    :param context: whose options; ``None``: those of sessions without options.
    :param pid: another process, whose options are not known; nothing is measured then.
    :param measure: measure for about 150 ms what the machine does.
    :raises FileError: the process does not exist, or belongs to somebody else.
    :raises Error: the model cannot be read; see :class:`Session`.
    """
    path = None if model_path is None else _check.path(_DO, "model_path", model_path)
    if context is not None:
        _check.instance(_DO, "context", context, Context)
    if pid is not None:
        pid = _check.whole(_DO, "pid", pid, 1, 2**22)
    measure = _check.flag(_DO, "measure", measure)
    files = Files()
    who = "self" if pid is None else str(pid)
    found_process = process.read(files, who)  # first: it may not exist
    found = Diagnosis(schema=_SCHEMA, machine=machine.read(files, who), library=_library(),
                      options=[], process=found_process, measured=None, model=None)
    known: list[str] = []
    try:
        if context is None:
            context = shared_context({})
    except Error as error:
        found["library"]["error"] = str(error)
    if context is not None:
        options = context.options()
        known = [option.variable for option in options if option.variable]
        if pid is None:
            found["options"] = [option._asdict() for option in options]
            if measure:
                found["measured"] = peak.measure(files, context, found["machine"],
                                                 found["library"]["isa"])
    if path is not None:
        found["model"] = model.read(path, context)
    found["pitfalls"] = [one._asdict() for one in pitfalls.find(found, known)]
    return found


def _library() -> dict[str, Any]:
    from .. import version
    words = version()
    isa = words.partition("(")[2].rstrip(")").lower().replace("-", "")
    return {"version": words.partition(" ")[0], "isa": isa, "error": None, "engines": _engines()}


def _engines() -> dict[str, str]:
    """The engines that can be chosen; of one that cannot, why."""
    found = {"native": ""}
    try:
        Context(engine="onednn", cache="off", socket="")
        found["onednn"] = ""
    except Error as error:
        found["onednn"] = str(error)
    return found
