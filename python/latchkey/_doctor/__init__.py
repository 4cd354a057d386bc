"""What may keep this process, or another one, from being fast: looked at in one go.

``_files`` reads /proc and /sys, ``machine`` and ``process`` say what is there, ``peak`` measures,
``model`` looks at a model, ``pitfalls`` says what is wrong and what to do, ``show`` shows it.
"""

from __future__ import annotations

import contextlib
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
    """``machine``, ``library``, ``options``, ``process``, ``measured``, ``model``, ``engine`` and
    ``pitfalls``, as docs/command.md says. ``str`` shows it as text."""

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
           pid: int | None = None, measure: bool = True, engine: str | None = None,
           tuning: str | os.PathLike[str] | None = None) -> Diagnosis:
    """Looks at the machine and at the process that calls it: what limits it, which options are in
    force and where they come from, what else computes in it, what it reaches, and what is wrong.

    :param model_path: a model to look at, too: what it lacks, the sizes of its inputs, its memory.
    :param context: whose options; ``None``: those of sessions without options but the next two.
    :param pid: another process, whose options are not known; nothing is measured then.
    :param measure: measure for about 150 ms what the machine does.
    :param engine: the engine of the sessions that are meant, as :class:`Context` takes it.
    :param tuning: their tuning file: whether its times are of this machine.
    :raises TypeError: ``engine`` or ``tuning`` is given besides ``context``, which has its own.
    :raises FileError: the process does not exist, or belongs to somebody else.
    :raises Error: the model cannot be read; see :class:`Session`.
    """
    path = None if model_path is None else _check.path(_DO, "model_path", model_path)
    if context is not None:
        _check.instance(_DO, "context", context, Context)
    if pid is not None:
        pid = _check.whole(_DO, "pid", pid, 1, 2**22)
    measure = _check.flag(_DO, "measure", measure)
    given = {name: value for name, value in (("engine", engine), ("tuning", tuning))
             if value is not None}
    if context is not None and given:
        raise TypeError(f"failed to {_DO}: 'context' and options of a context "
                        f"({', '.join(given)}) are given, one of both is allowed")
    files = Files()
    who = "self" if pid is None else str(pid)
    found_process = process.read(files, who)  # first: it may not exist
    found = Diagnosis(schema=_SCHEMA, machine=machine.read(files, who), library=_library(),
                      options=[], process=found_process, measured=None, model=None, engine=None)
    known: list[str] = []
    try:
        if context is None:
            context = shared_context(given)
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
    if context is not None:
        found["engine"] = _engine(context, engine or os.environ.get("LATCHKEY_ENGINE", ""))
        if found["engine"]["name"] != "auto":  # maybe a module of somebody else's
            found["library"]["engines"].setdefault(found["engine"]["name"], "")
    found["pitfalls"] = [one._asdict() for one in pitfalls.find(found, known)]
    return found


def _library() -> dict[str, Any]:
    from .. import version
    words = version()
    isa = words.partition("(")[2].rstrip(")").lower().replace("-", "")
    return {"version": words.partition(" ")[0], "isa": isa, "error": None, "engines": _engines()}


def _engine(context: Context, asked: str) -> dict[str, Any]:
    """The one of the context, and what of its tuning file fits."""
    engine = context.statistics()["context"]["engine"]
    if engine["is_default"] and engine["tuning_works"] > 0:
        # It is open once a size recurs, and before that nobody knows what fits.
        path = next(one.value for one in context.options() if one.name == "tuning")
        with contextlib.suppress(Error):
            engine = Context(engine="auto", tuning=path, threads=context.threads, cache="off",
                             socket="").statistics()["context"]["engine"]
    return {"asked": asked, "threads": context.threads, **{name: engine[name] for name in (
        "name", "tuning_works", "tuning_fitting", "tuning_skipped")}}


def _engines() -> dict[str, str]:
    """The engines that can be chosen; of one that cannot, why."""
    found = {"native": ""}
    try:
        Context(engine="onednn", cache="off", socket="")
        found["onednn"] = ""
    except Error as error:
        found["onednn"] = str(error)
    return found
