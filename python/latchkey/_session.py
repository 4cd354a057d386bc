"""Sessions: a model, opened once and run with named arrays."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy

from . import _check, _model, _source
from ._call import Call, limit, limits_of_run, options_of_run, raise_interrupt
from ._cancel import Cancel
from ._context import Context, shared_context, threads_stats
from ._errors import ModelNotFoundError, NotFoundError, fail
from ._explain import Explanation, explain_both
from ._model import NodeInfo, PassInfo, Refusal
from ._native import ffi, lib
from ._profile import Profile
from ._stats import Stats
from ._text import encode, encode_path
from ._thread_use import thread_use
from ._trace import Trace
from ._tuning import Choice, sized

if TYPE_CHECKING:
    from onnx import ModelProto

    from ._pool import Pool
    from .spans import Spans

_EXECUTORS = {"naive": lib.LK_EXECUTOR_NAIVE, "parallel": lib.LK_EXECUTOR_PARALLEL}
_CLOSED = "failed to use a session: it is closed"
_OPEN = "open a session"
_WHEN_BUSY = {"wait": lib.LK_WHEN_BUSY_WAIT, "fail": lib.LK_WHEN_BUSY_FAIL}


class _Elsewhere:
    """What sessions of ONNX Runtime have, and these have not: says what does the same here.

    A class with ``__getattr__`` could say it too, and would make each access to a member slower.
    """

    def __init__(self, instead: str) -> None:
        self._instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, session: object, owner: type) -> NoReturn:
        raise AttributeError(f"latchkey.Session has no '{self._name}': {self._instead}",
                             name=self._name, obj=session)


def _fixed_dims(given: Any) -> dict[str, int]:
    wanted = "a dict {dimension: size}"
    sizes = {} if given is None else _check.mapping(_OPEN, "fixed_dims", given, wanted)
    _check.names(_OPEN, "fixed_dims", sizes)
    return {name: _check.whole(_OPEN, f"fixed_dims[{name!r}]", size, 0, 2**63 - 1)
            for name, size in sizes.items()}


def _are_names(outputs: Any) -> bool:
    """Whether it is a list as most are: others are looked at more closely."""
    if type(outputs) is not list:
        return False
    for one in outputs:
        if type(one) is not str:
            return False
    return True


def _check_run(inputs: Any, outputs: Any, out: Any) -> list[str] | None:
    """Of which kind the arguments of a run are; what they hold is checked as it is taken. Returns
    the names of outputs."""
    if isinstance(outputs, Mapping) and not isinstance(inputs, Mapping):
        feeds = ", ".join(f"{name!r}: ..." for name in outputs)
        names = [inputs] if isinstance(inputs, str) else inputs
        are_names = isinstance(names, (list, tuple)) and all(isinstance(one, str) for one in names)
        behind = f", {list(names)!r}" if are_names else ""
        raise TypeError("failed to run: 'inputs' and 'outputs' are in ONNX Runtime's order, "
                        f"session.run({{{feeds}}}{behind}) is the call here; it returns a dict by "
                        "name")
    _check.mapping("run", "inputs", inputs, "a dict {input name: array}")
    if out is not None:
        _check.mapping("run", "out", out, "a dict {output name: numpy.ndarray}")
    return None if outputs is None else _check.texts("run", "outputs", outputs, "names of outputs")


def _times_of_nodes(profile: Profile) -> dict[str, float]:
    """Nanoseconds of a run, by the name of a node's output."""
    runs, found = profile.info()["runs"], dict[str, float]()
    for entry in profile.entries():
        found[entry["output"]] = found.get(entry["output"], 0.0) + entry["total_ms"] * 1e6 / runs
    return found


class Session:
    """An ONNX model, ready to run.

    Sessions without ``context`` share one context per set of context options, which lives as long
    as one of them: equal models have their weights packed once.

    A session may be run by any number of threads at once; the interpreter's lock is released
    meanwhile. Output arrays stay valid after the session is closed.

    :param model: path of an ONNX file, its bytes, which are copied, or an ``onnx.ModelProto``.
    :param context: the context to open it in; by default the shared one of ``context_options``.
    :param disabled_passes: names of graph passes to leave out, or one name, as ``latchkey inspect``
        shows them.
    :param run_plans: False: every operator asks the cache by its name key at each run.
    :param max_folded_bytes: the most bytes that values computed from constants at opening may take;
        what would take more is computed at each run. A number, or a text such as ``"1g"``.
        ``None``: 2 GiB.
    :param fixed_dims: sizes for dimensions that the model leaves open, ``{"batch": 1}``: by the
        name that ``inputs`` shows, which means each dimension of that name, or by input and number,
        ``{"x[0]": 1}``. Inputs must have them then, and new sizes have fewer nodes to bind.
    :param copy_model: True: the model's files are read into memory when it is opened, and may
        change or go afterwards. False: they are mapped; replace them by renaming, and never write
        over them.
    :param executor: ``"naive"``: operators in their order, each on the context's threads;
        ``"parallel"``: branches in parallel, each operator on one thread, where that is faster.
    :param inter: threads for branches of the parallel executor; ``None``: as many as processors.
    :param max_runs: the most runs at the same time; ``None``: as many as threads that call.
    :param when_busy: what one more run does: ``"wait"``, or ``"fail"`` with :class:`BusyError`.
    :param timeout: seconds after which opening ends with :class:`DeadlineError`. Ctrl-C, and
        whatever a signal's handler raises, ends it too, where the main thread opens.
    :param cancel: what ends opening from another thread, with :class:`CancelledError`.
    :param context_options: ``cache``, ``cache_entries``, ``cache_bytes``, ``weights_bytes``,
        ``memory_bytes``, ``weights_apart``, ``threads``, ``verbose``, ``engine``, ``tuning``,
        ``socket``: see :class:`Context`.
    :raises TypeError: an argument is of a wrong kind; the sentence names it, says what it is, and
        what is needed. ``ValueError``: a number or a text is not allowed.
    :raises Error: the model cannot be opened; :class:`ModelNotFoundError`, :class:`MalformedError`,
        :class:`UnsupportedError` and so on.
    """

    def __init__(self, model: str | os.PathLike[str] | bytes | bytearray | memoryview | ModelProto,
                 *, context: Context | None = None, disabled_passes: str | Iterable[str] = (),
                 run_plans: bool | None = None, max_folded_bytes: int | str | None = None,
                 fixed_dims: Mapping[str, int] | None = None, copy_model: bool = False,
                 executor: str = "naive", inter: int | None = None, max_runs: int | None = None,
                 when_busy: str = "wait", timeout: float | None = None,
                 cancel: Cancel | None = None, **context_options: Any) -> None:
        self._handles: tuple[Any, Any] | None = None
        self._spans: Spans | None = None  # of latchkey.spans
        source = _source.read(_OPEN, "model", model)
        if isinstance(disabled_passes, str):
            disabled_passes = [disabled_passes]
        passes = [ffi.new("char[]", encode(name)) for name in _check.texts(
            _OPEN, "disabled_passes", disabled_passes, "names of passes")]
        pass_list = ffi.new("char *[]", passes)
        sizes = _fixed_dims(fixed_dims)
        if inter is not None and executor == "naive":
            raise ValueError(f"failed to open a session: 'inter' is {inter!r} and 'executor' is "
                             "'naive', inter is for 'parallel'")
        places = 0 if max_runs is None else _check.whole(_OPEN, "max_runs", max_runs, 1, 2**32 - 1)
        names = [ffi.new("char[]", encode(name)) for name in sizes]
        dims = ffi.new("lk_fixed_dim[]", [
            {"name": name, "size": size} for name, size in zip(names, sizes.values(), strict=True)])
        options = ffi.new("lk_session_options *", {
            "struct_size": ffi.sizeof("lk_session_options"), "disabled_passes": pass_list,
            "n_disabled_passes": len(passes), "fixed_dims": dims, "n_fixed_dims": len(dims),
            "copy_model": _check.flag(_OPEN, "copy_model", copy_model),
            "run_plans": 0 if run_plans is None or _check.flag(
                _OPEN, "run_plans", run_plans) else -1,
            "max_folded_bytes": (0 if max_folded_bytes is None else _check.size(
                _OPEN, "max_folded_bytes", max_folded_bytes, 1)),
            "executor": _EXECUTORS[_check.choice(_OPEN, "executor", executor, _EXECUTORS)],
            "inter": 0 if inter is None else _check.threads(_OPEN, "inter", inter),
            "max_runs": places,
            "when_busy": _WHEN_BUSY[_check.choice(_OPEN, "when_busy", when_busy, _WHEN_BUSY)]})
        limit(_OPEN, options, timeout, cancel)
        options.should_stop = options_of_run().should_stop
        path, data = ffi.NULL, ffi.NULL
        file: bytes | None = None
        if isinstance(source, str):
            file = encode_path(source)
            path = ffi.new("char[]", file)
        else:
            data = ffi.from_buffer(source)
        if context is None:
            context = shared_context(context_options, _KEYWORDS)
        elif context_options:
            raise TypeError("failed to open a session: 'context' and options of a context "
                            f"({', '.join(context_options)}) are given, one of both is allowed")
        self.context = _check.instance(_OPEN, "context", context, Context)
        made, error = ffi.new("lk_py_session **"), ffi.new("lk_error *")
        status = lib.lk_py_session_open(self.context._pointer, path, data,
                                        len(data) if data else 0, options, made, error)
        if status:
            raise_interrupt()
            file_is_there = file is None or os.path.exists(file)
            # Where the file is there, a pass or a dimension was not found, or a file that the model
            # refers to.
            is_named = file_is_there and bool(passes or names)
            fail(status, error, NotFoundError if is_named else ModelNotFoundError)
        self._api = lib.lk_py_session_api()
        self._hold(made[0])
        self.inputs = _model.inputs(made[0])
        """What the model takes."""
        self.defaults = _model.defaults(made[0])
        """Inputs that a run may leave out: initializers that the model lists as inputs too.

        The first run that gives one takes about as long as opening the model: it builds a second
        program, in which it is not a constant.
        """
        self.outputs = _model.outputs(made[0])
        """What the model gives."""
        self.metadata = _model.metadata(made[0])
        """Metadata of the file."""
        # With "fail", one more than run at the same time: that one fails.
        self._most_async = ((places or threads_stats()["processors"]) + (when_busy == "fail"))
        self._all_outputs = tuple(value.name for value in self.outputs)
        self._names = {value.name: ffi.new("char[]", encode(value.name))
                       for value in self.inputs + self.defaults + self.outputs}

    @property
    def nodes(self) -> tuple[NodeInfo, ...]:
        """The nodes as they run, in their order, with what each was bound to last.

        It is read at each access, since a run may bind nodes. Any thread may read it, also during
        runs. ``ValueError``: the session is closed.
        """
        return _model.nodes(self._handle())

    @property
    def passes(self) -> tuple[PassInfo, ...]:
        """The passes over the graph, in their order, and what each has changed.

        Any thread may read it, also during runs. ``ValueError``: the session is closed.
        """
        return _model.passes(self._handle())

    def run(self, inputs: Mapping[str, Any], outputs: Iterable[str] | None = None,
            out: Mapping[str, numpy.ndarray] | None = None,
            timeout: float | None = None,
            profile: Profile | None = None,
            cancel: Cancel | None = None) -> dict[str, numpy.ndarray]:
        """Runs the model.

        C-contiguous and aligned arrays are read in place; others are copied first. Types are never
        converted.

        Ctrl-C ends a run of the main thread, as does whatever else a signal's handler raises: the
        run looks for signals every 40 ms, between operators and within one that takes long.

        :param inputs: an array for each input of the model, and for any of ``defaults``; or a
            tensor in memory of the CPU that knows DLPack.
        :param outputs: names of the outputs that are wanted; None: all.
        :param out: arrays that outputs are written to; type and shape must be those of the result,
            else nothing is run, and the memory must not overlap an input's.
        :param timeout: seconds; :class:`DeadlineError` when they have passed, within 50 ms.
        :param profile: where to add what each operator took; see :class:`Profile`.
        :param cancel: what ends the run from another thread, with :class:`CancelledError`.
        :returns: the outputs by name; those in ``out`` are the arrays given there, the others own
            memory of the library's, without a copy. After a failure, what ``out`` holds is
            undefined.
        :raises TypeError: an argument is of a wrong kind; the sentence names it, says what it is,
            and what is needed. ``ValueError``: the session is closed, or an argument's value is
            not allowed.
        :raises Error: the run failed.
        """
        handles = self._handles
        if handles is None:
            raise ValueError(_CLOSED)
        session, release = handles
        if type(inputs) is dict and out is None and (outputs is None or _are_names(outputs)):
            wanted = self._all_outputs if outputs is None else tuple(outputs)
        else:
            outputs = _check_run(inputs, outputs, out)
            wanted = self._all_outputs if outputs is None else tuple(outputs)
            known = set(wanted)
            wanted += tuple(name for name in out or () if name not in known)
        call = self._take_call(tuple(inputs), wanted)
        alive = call.read_from(inputs)
        if out is not None:
            call.write_to(out)
        spans = self._spans
        if timeout is None and cancel is None and profile is None and spans is None:
            status = call.run(session, options_of_run())
        else:
            options = limits_of_run(timeout, cancel)
            run = functools.partial(call.run, session, options)
            if profile is not None:
                _check.instance("run", "profile", profile, Profile)
                run = functools.partial(profile._run, run, options, self.context.threads)
            status = run() if spans is None else spans.run(self, run, options, inputs, call.error)
        del alive  # not before: the mapping may change while the lock is released
        if status:
            raise_interrupt()
            fail(status, call.error)
        arrays = call.take(release)
        self._idle_calls.append(call)
        return arrays

    async def run_async(self, inputs: Mapping[str, Any], outputs: Iterable[str] | None = None,
                        out: Mapping[str, numpy.ndarray] | None = None,
                        timeout: float | None = None,
                        profile: Profile | None = None) -> dict[str, numpy.ndarray]:
        """Runs the model as :meth:`run` does, without holding up asyncio's loop.

            async with asyncio.timeout(1):
                first, second = await asyncio.gather(session.run_async({"x": a}),
                                                     session.run_async({"x": b}))

        Cancelling the task ends the run. ``asyncio.CancelledError`` arrives when it has ended,
        within 50 ms: until then the arrays in ``inputs`` must not be written to, and those in
        ``out`` not be used. At the end of the program, runs that nobody has cancelled are.

        Runs of a session have threads of its own: as many as ``max_runs``, or as processors where
        that is not given; more runs than these wait for one. With ``when_busy="fail"`` they fail
        as :meth:`run` does. Any loop of any thread may call it, also in a child of ``os.fork``.
        ``contextvars`` are the caller's.
        """
        if self._handles is None:
            raise ValueError(_CLOSED)
        outputs = _check_run(inputs, outputs, out)
        from . import _async  # here, because asyncio takes longer to import than all of latchkey
        inputs, out = dict(inputs), None if out is None else dict(out)
        return await _async.call(
            self._pools, self._most_async,
            lambda cancel: self.run(inputs, outputs, out, timeout, profile, cancel))

    def tune(self, inputs: Mapping[str, Any], *, seconds: float = 5.0,
             file: str | os.PathLike[str] | None = None,
             cancel: Cancel | None = None) -> tuple[Choice, ...]:
        """Measures what the nodes take by native and by oneDNN, at the size of these inputs, for a
        session of the engine ``auto``. What was measured decides for plans that are made from then
        on in the context: for this size at once; run plans of other sizes, of other sessions and,
        with a cache for each thread, of other threads stay as they are.

            session.tune({"x": x}, file="tuning")
            later = latchkey.Session("model.onnx", engine="auto", tuning="tuning")

        It waits until it has all threads of the context. Ctrl-C ends it as it ends :meth:`run`.
        Other runs may be on meanwhile, and disturb what is measured. Nodes that plan several
        different works are not noted; they stay estimated.

        :param inputs: as of :meth:`run`. What comes out is dropped.
        :param seconds: for about so long; each is measured three times at least.
        :param file: where to append what was measured, and what the context has measured before and
            not saved; it is made if it is not there. ``None``: it is not saved.
        :param cancel: what ends it from another thread, with :class:`CancelledError`.
        :returns: what is chosen now, as :meth:`Context.choices` has it.
        :raises UnsupportedError: the engine of the context is not ``auto``, or there is no other
            one than native. ``ValueError``: the session is closed, or an argument's value is not
            allowed.
        :raises Error: the run failed, or the file cannot be written or is no tuning file; then
            nothing is appended.
        """
        time_ns = int(_check.real("tune", "seconds", seconds, 1e-9, 1e6) * 1e9)
        path = (None if file is None else
                ffi.new("char[]", encode_path(_check.path("tune", "file", file))))
        options = limits_of_run(None, cancel)
        options.tune_ns = time_ns
        self._run_once(inputs, options)
        if path is not None:
            self.context._save_tuning(path)
        return self.context.choices()

    def offers(self, inputs: Mapping[str, Any] | None = None, *,
               shapes: Mapping[str, Sequence[int]] | None = None,
               cancel: Cancel | None = None) -> tuple[Choice, ...]:
        """Asks for offers for the works of all nodes at one size, and says what was chosen and why,
        before the first request, say::

            session = latchkey.Session("model.onnx", engine="auto")
            for offer in session.offers(shapes={"x": (1, 3, 48, 320)}):
                print(offer.node, offer.work, offer.taken, offer.rule, offer.reason)

        The model is run twice, at a size that counts as recurring: the engine ``auto`` chooses at
        once, and runs of this size have what it has chosen. Without it ``auto`` has native compute
        a size at first sight, until it has come 8 times. With the engine ``native`` nobody is
        asked, and what is returned is empty.

        :param inputs: as of :meth:`run`, where shapes depend on values. What comes out is dropped.
        :param shapes: of other inputs, which are zeros then. Where the model fixes a shape, it need
            not be given.
        :param cancel: what ends it from another thread, with :class:`CancelledError`.
        :returns: as :meth:`Context.choices`, which has those of other sessions of the context too.
        :raises ValueError: the session is closed, or an input has neither a value nor a shape.
        :raises Error: the run failed.
        """
        self._handle()  # which says that it is closed
        options = limits_of_run(None, cancel)
        options.recurs = 1
        given = sized(self.inputs, {} if inputs is None else inputs,
                      {} if shapes is None else shapes)
        self._run_once(given, options)
        with self.clone() as other:  # which binds the nodes, where this session has a plan already
            other._run_once(given, options)
        return self.context.choices()

    def _run_once(self, inputs: Mapping[str, Any], options: Any) -> None:
        """A run whose outputs are dropped."""
        handles = self._handles
        if handles is None:
            raise ValueError(_CLOSED)
        session, release = handles
        _check_run(inputs, None, None)
        call = self._take_call(tuple(inputs), self._all_outputs)
        alive = call.read_from(inputs)
        status = call.run(session, options)
        del alive  # not before: the mapping may change while the lock is released
        if status:
            raise_interrupt()
            fail(status, call.error)
        call.take(release)
        self._idle_calls.append(call)

    def stats(self) -> Stats:
        """Statistics of the context (:meth:`Context.stats`); ``["session"]``: of this session."""
        stats, error = ffi.new("lk_session_stats *"), ffi.new("lk_error *")
        stats.struct_size = ffi.sizeof("lk_session_stats")
        handle = self._handle()  # it keeps the session open, whoever closes it meanwhile
        status = self._api.stats(lib.lk_py_session_get(handle), stats, error)
        if status:
            fail(status, error)
        fields = (name for name, _ in ffi.typeof("lk_session_stats").fields)
        own = {name: getattr(stats, name) for name in fields if name != "struct_size"}
        return Stats({**self.context.stats(), "session": own})

    def statistics(self, refusals: bool = False) -> dict[str, Any]:
        """All that is counted, of the session, its context and the process, from the lists of
        nodes and of sizes to who has the memory: docs/statistics.md has the names.

        It may be called while other threads run the session, which it does not hold up.

        :param refusals: with what passes have left, so that :func:`latchkey.explain` has it where
            the statistics go into a file. This takes the time and the memory of
            :meth:`refusals`.
        """
        refusals = _check.flag("read statistics", "refusals", refusals)
        text_out, error = ffi.new("char **"), ffi.new("lk_error *")
        handle = self._handle()  # it keeps the session open, whoever closes it meanwhile
        native = lib.lk_py_session_get(handle)
        status = self._api.report(native, text_out, error)
        if status:
            fail(status, error)
        try:
            found: dict[str, Any] = json.loads(ffi.string(text_out[0]))
        finally:
            self._api.report_release(native, text_out[0])
        if refusals:
            found["session"]["refusals"] = [one._asdict() for one in self.refusals()]
        return found

    def refusals(self) -> tuple[Refusal, ...]:
        """What passes have left as it is, and why: nodes whose operators fit what a pass looks
        for, of which one condition does not hold; and what passes that are switched off would have
        rewritten.

        The model is read and rewritten once more for it, which takes the time and the memory of
        :meth:`clone`. Any thread may call it, also during runs. :class:`OutOfMemoryError`;
        ``ValueError``: the session is closed.
        """
        return _model.refusals(self._handle())

    def explain(self, profile: Profile | None = None) -> Explanation:
        """Why runs were slow or memory grew, as far as the statistics and :meth:`refusals` show
        it: the causes, with what they have cost, what shows them, and what can be done. ``print``
        shows it as text. It takes the time and the memory of :meth:`clone`.

        :param profile: of runs of this session: what nodes that are left take is read from it,
            and how many threads are enough.
        """
        if profile is not None:
            _check.instance("explain", "profile", profile, Profile)
        statistics = self.statistics(refusals=True)
        times = _times_of_nodes(profile) if profile is not None else {}
        for refusal in statistics["session"]["refusals"]:
            refusal["run_ns"] = times.get(refusal["output_name"])
        return explain_both(statistics, thread_use(profile) if profile is not None else None)

    def trace(self, events: int | None = None) -> Trace:
        """Traces the runs of this session from now on, until :meth:`Trace.stop` or the end of a
        ``with`` block. :meth:`Trace.add` adds sessions of the same context.

        :param events: the most events that are kept, the newest ones; ``None``: 65536.
        """
        trace = Trace(self.context, events)
        trace.add(self)
        return trace

    def clone(self) -> Session:
        """Another session of the same model, with the same context and options.

        It has its own identity, run plans and statistics, and shares the mapped file or the bytes
        and the packed weights. It may be made while other threads run this session, and after the
        file was replaced or removed; it may outlive this session. ``copy.copy`` does the same.
        """
        made, error = ffi.new("lk_py_session **"), ffi.new("lk_error *")
        status = lib.lk_py_session_clone(self._handle(), made, error)
        if status:
            fail(status, error)
        session = type(self).__new__(type(self))
        session.__dict__.update(self.__dict__)
        session._hold(made[0])
        return session

    __copy__ = clone
    __reduce_ex__ = _check.not_pickled

    get_inputs = _Elsewhere("session.inputs has what the model takes")
    get_outputs = _Elsewhere("session.outputs has what the model gives")
    get_modelmeta = _Elsewhere("session.metadata has the metadata of the file")
    get_session_options = _Elsewhere("session.context.options() has the options in force")
    get_providers = _Elsewhere("latchkey.ort is the provider for ONNX Runtime")
    set_providers = _Elsewhere("latchkey.ort is the provider for ONNX Runtime")
    run_with_ort_values = _Elsewhere("session.run({name: array}) reads tensors in place")
    run_with_iobinding = _Elsewhere("session.run(..., out={name: array}) writes in place")
    io_binding = _Elsewhere("session.run(..., out={name: array}) writes in place")
    end_profiling = _Elsewhere("session.run(..., profile=latchkey.Profile()) measures a run")

    def clear(self) -> None:
        """Drops the cache entries of this session, and nobody else's."""
        error = ffi.new("lk_error *")
        context, handle = self.context, self._handle()  # which keeps the session open meanwhile
        executor = self._api.executor(lib.lk_py_session_get(handle))
        status = context._api.cache_clear(context._native(), executor, error)
        if status:
            fail(status, error)

    def close(self) -> None:
        """Closes the session, once its runs have ended and no output array is left.

        Runs that have not begun fail: of ``run_async``, those that wait for a thread too. Closing
        twice is allowed; a ``with`` block closes at its end.
        """
        self._handles = None
        self._pools.clear()  # whose threads end when they are idle

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._handles is None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._handles is None:
            return "<latchkey.Session, closed>"
        inputs, outputs = (", ".join(map(str, values)) for values in (self.inputs, self.outputs))
        return f"<latchkey.Session {inputs} -> {outputs}>"

    def _repr_html_(self) -> str:
        """For a notebook: inputs, outputs, and the nodes with what each runs on."""
        from . import _html
        if self._handles is None:
            return f"<p>{_html.text(repr(self))}</p>"
        values = [["", "name", "type", "shape"]]
        for what, found in (("input", self.inputs), ("output", self.outputs)):
            values += [[what, value.name, value._type(), value._dimensions()] for value in found]
        nodes = self.nodes
        rows = [["operator", "fused", "name", "output", "runs on"], *(
            [node.op_type, node.fused, node.name, node.output_name, node.implementation]
            for node in nodes)]
        return (_html.table("inputs and outputs", values, left=4) +
                _html.table(f"{len(nodes)} nodes", rows, left=5, is_open=len(nodes) <= 20))

    def _hold(self, made: Any) -> None:
        """Takes over an lk_py_session, which is released with the last that refers to it."""
        pointer = ffi.gc(made, lib.lk_py_session_release)
        self._handles = pointer, functools.partial(lib.lk_py_output_release, pointer)
        self._idle_calls: list[Call] = []  # as many as there were runs at the same time
        self._pools: dict[int, Pool] = {}  # of run_async, by process
        self._trace: Trace | None = None  # that is attached

    def _attach(self, trace: Trace) -> None:
        handle = self._handle()  # it keeps the session open, whoever closes it meanwhile
        self._api.trace_attach(lib.lk_py_session_get(handle), trace._native())
        self._trace = trace

    def _detach(self, trace: Trace) -> None:
        """Does nothing where another trace was attached meanwhile, or the session is closed."""
        handles = self._handles
        if handles is None or self._trace is not trace:
            return
        self._api.trace_attach(lib.lk_py_session_get(handles[0]), ffi.NULL)
        self._trace = None

    def _handle(self) -> Any:
        handles = self._handles
        if handles is None:
            raise ValueError(_CLOSED)
        return handles[0]

    def _take_call(self, names: tuple[str, ...], wanted: tuple[str, ...]) -> Call:
        """One for this run alone. Lists are safe to take from and to give to on any thread."""
        try:
            call = self._idle_calls.pop()
        except IndexError:
            return Call(self._names, names, wanted)
        if call.names == names and call.wanted == wanted:
            return call
        return Call(self._names, names, wanted)


_KEYWORDS = tuple(Session.__init__.__kwdefaults__ or ())  # its own options
