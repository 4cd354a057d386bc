"""Reductions, and what goes along one dimension."""

import numpy

from case import FLOATS, Case, axis, opset_of, pick, row, shape, type_of, values

# What a reduction does with float64, or with Python's integers.
REDUCTIONS = {
    "ReduceL1": lambda x, axes: numpy.sum(abs(x), axis=axes, keepdims=True),
    "ReduceL2": lambda x, axes: numpy.sqrt(numpy.sum(x * x, axis=axes, keepdims=True)),
    "ReduceLogSum": lambda x, axes: numpy.log(numpy.sum(x, axis=axes, keepdims=True)),
    "ReduceLogSumExp": lambda x, axes: _log_sum_exp(x, axes),
    "ReduceMax": lambda x, axes: numpy.max(x, axis=axes, keepdims=True),
    "ReduceMean": lambda x, axes: numpy.mean(x, axis=axes, keepdims=True),
    "ReduceMin": lambda x, axes: numpy.min(x, axis=axes, keepdims=True),
    "ReduceProd": lambda x, axes: numpy.prod(x, axis=axes, keepdims=True),
    "ReduceSum": lambda x, axes: numpy.sum(x, axis=axes, keepdims=True),
    "ReduceSumSquare": lambda x, axes: numpy.sum(x * x, axis=axes, keepdims=True),
}
# Of no elements; the largest and the least of a type are apart.
OF_NOTHING = {"ReduceL1": 0, "ReduceL2": 0, "ReduceLogSum": -numpy.inf,
              "ReduceLogSumExp": -numpy.inf, "ReduceMean": 0, "ReduceProd": 1, "ReduceSum": 0,
              "ReduceSumSquare": 0}


def _log_sum_exp(x, axes):
    most = numpy.max(x, axis=axes, keepdims=True)
    most = numpy.where(numpy.isfinite(most), most, 0)
    return numpy.log(numpy.sum(numpy.exp(x - most), axis=axes, keepdims=True)) + most


def _limit(op_type, dtype):
    if dtype.name == "bool":
        return op_type == "ReduceMin"
    if dtype.kind in "iu":
        info = numpy.iinfo(dtype)
        return info.max if op_type == "ReduceMin" else info.min
    return numpy.inf if op_type == "ReduceMin" else -numpy.inf


def _reduced(op_type, x, axes, keeps):
    """In float64 or int64, and cut or rounded once."""
    is_whole = x.dtype.kind in "iub"
    wide = x.astype(x.dtype if x.dtype.kind in "uib" else numpy.float64)
    if op_type not in ("ReduceMax", "ReduceMin") and x.dtype.kind in "iu":
        wide = x.astype(numpy.float64 if "Log" in op_type or op_type in ("ReduceL2", "ReduceMean")
                        else numpy.int64)
    dims = [1 if i in axes else n for i, n in enumerate(x.shape)]
    with numpy.errstate(all="ignore"):
        if x.size == 0:
            nothing = OF_NOTHING.get(op_type)
            found = numpy.full(dims, _limit(op_type, x.dtype) if nothing is None else nothing)
        elif axes:
            found = numpy.asarray(REDUCTIONS[op_type](wide, tuple(axes)))
        else:
            found = numpy.asarray(REDUCTIONS[op_type](wide[..., None], (x.ndim,)))[..., 0]
        if not is_whole or found.dtype.kind != "f":
            found = found.astype(x.dtype)
        else:
            found = numpy.trunc(found).astype(numpy.int64).astype(x.dtype)
    return found if keeps else found.reshape([n for i, n in enumerate(x.shape) if i not in axes])


def _dims(rng):
    if rng.random() < 0.1:
        return [int(rng.integers(1, 4)), int(rng.integers(500, 5000))][::pick(rng, [1, -1])]
    return shape(rng, empty=0.03) if rng.random() < 0.7 else shape(rng, 5, 8, 3, 0.01)


def _reduction(op_type):
    takes_input = 13 if op_type == "ReduceSum" else 18

    def draw(rng):
        opset = opset_of(rng, op_type)
        kind = type_of(rng, op_type, opset)
        dims = _dims(rng)
        # the logarithm of 0 is no integer
        low = -3 if op_type != "ReduceLogSum" else 0 if kind in FLOATS else 1
        special = 0.02 if kind in FLOATS and op_type != "ReduceLogSum" else 0
        x = values(rng, dims, kind, low=low, special=special)
        if op_type == "ReduceProd":
            x = values(rng, dims, kind, low=1, high=2 if x.size < 20 else 1)
        axes = [i for i in range(len(dims)) if rng.random() < 0.5]
        given = [i - len(dims) if rng.random() < 0.3 else i for i in axes]
        keeps = int(rng.integers(0, 2))
        attributes, inputs = {"keepdims": keeps}, [x]
        noop = False
        if not axes:  # nothing given: all, or none
            noop = opset >= takes_input and rng.random() < 0.4
            if noop:
                attributes["noop_with_empty_axes"] = 1
            axes = [] if noop else list(range(len(dims)))
            given = None
        if opset >= takes_input:
            if given is not None or rng.random() < 0.5:
                inputs.append(numpy.array(given or [], numpy.int64))
        elif given is not None:
            attributes["axes"] = given
        return Case(inputs, attributes, opset=opset,
                    constants={1} if len(inputs) == 2 and rng.random() < 0.7 else set(),
                    expected=lambda inputs: [_reduced(op_type, inputs[0], axes, keeps)])

    return draw


for operator in REDUCTIONS:
    row(operator)(_reduction(operator))


# ---- along one dimension ----


def _alongs(rng, least=1):
    dims = [0]
    while not dims or 0 in dims:
        dims = _dims(rng)
        if len(dims) < least:
            dims = []
    return dims


def _arg(op_type):
    def draw(rng):
        opset = opset_of(rng, op_type)
        kind = type_of(rng, op_type, opset)
        dims = _alongs(rng)
        x = values(rng, dims, kind, special=0.05)
        at, keeps = axis(rng, len(dims)), int(rng.integers(0, 2))
        is_last = opset >= 12 and rng.random() < 0.5

        def right(inputs):
            find = numpy.argmax if op_type == "ArgMax" else numpy.argmin
            wide = inputs[0].astype(numpy.float32) if inputs[0].dtype.kind not in "iu" and \
                inputs[0].dtype != numpy.float64 else inputs[0]
            found = find(numpy.flip(wide, at) if is_last else wide, axis=at)
            found = dims[at] - 1 - found if is_last else found
            return [numpy.expand_dims(found, at) if keeps else found]

        attributes = {"axis": at, "keepdims": keeps}
        if is_last:
            attributes["select_last_index"] = 1
        return Case([x], attributes, opset=opset,
                    expected=lambda inputs: [numpy.asarray(one, numpy.int64)
                                             for one in right(inputs)])

    return draw


row("ArgMax")(_arg("ArgMax"))
row("ArgMin")(_arg("ArgMin"))


def _running(op_type):
    def draw(rng):
        opset = opset_of(rng, op_type)
        kind = type_of(rng, op_type, opset)
        dims = _alongs(rng)
        at = axis(rng, len(dims))
        is_product = op_type == "CumProd"
        few = is_product and dims[at] > 20
        x = values(rng, dims, kind, low=1 if few else -3, high=1 if few else 3,
                   special=0 if is_product else 0.01)
        exclusive, reverse = int(rng.integers(0, 2)), int(rng.integers(0, 2))

        def right(inputs):
            wide = inputs[0].astype(numpy.int64 if inputs[0].dtype.kind in "iu" else numpy.float64)
            wide = numpy.flip(wide, at) if reverse else wide
            with numpy.errstate(all="ignore"):
                if exclusive:
                    first = numpy.full_like(numpy.take(wide, [0], at), 1 if is_product else 0)
                    wide = numpy.concatenate(
                        [first, numpy.take(wide, range(dims[at] - 1), at)], at)
                found = (numpy.cumprod if is_product else numpy.cumsum)(wide, at)
                return [(numpy.flip(found, at) if reverse else found).astype(inputs[0].dtype)]

        return Case([x, numpy.array(at, pick(rng, [numpy.int32, numpy.int64]))],
                    {"exclusive": exclusive, "reverse": reverse}, opset=opset, expected=right,
                    constants={1} if rng.random() < 0.7 else set())

    return draw


row("CumSum")(_running("CumSum"))
row("CumProd")(_running("CumProd"))


# ---- softmax and its kin ----


def _softmax(op_type):
    def draw(rng):
        opset = opset_of(rng, op_type)
        kind = type_of(rng, op_type, opset)
        dims = _alongs(rng)
        x = values(rng, dims, kind, low=-20, high=20)
        at = axis(rng, len(dims))

        def right(inputs):
            wide = inputs[0].astype(numpy.float64)
            flat, along = wide, at
            if opset < 13:
                first = at % len(dims)
                flat = wide.reshape([int(numpy.prod(dims[:first])), -1])
                along = 1
            less = flat - numpy.max(flat, along, keepdims=True)
            total = numpy.sum(numpy.exp(less), along, keepdims=True)
            found = less - numpy.log(total) if op_type == "LogSoftmax" else numpy.exp(less) / total
            if op_type == "Hardmax":
                found = numpy.zeros_like(flat)
                where = numpy.expand_dims(numpy.argmax(flat, along), along)
                numpy.put_along_axis(found, where, 1, along)
            return [found.reshape(dims).astype(inputs[0].dtype)]

        return Case([x], {"axis": at}, opset=opset, expected=right)

    return draw


for operator in ("Softmax", "LogSoftmax", "Hardmax"):
    row(operator)(_softmax(operator))
