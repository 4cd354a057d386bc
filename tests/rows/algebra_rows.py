"""Losses, poolings of whole channels and of norms, norms over axes, and Einsum."""

import numpy

from case import Case, axis, opset_of, pick, row, shape, type_of, values

# ---- losses ----


def _log_softmax(x):
    less = x - numpy.max(x, 1, keepdims=True)
    return less - numpy.log(numpy.sum(numpy.exp(less), 1, keepdims=True))


def _loss(op_type):
    def draw(rng):
        opset = opset_of(rng, op_type)
        kind = type_of(rng, op_type, opset)
        classes = int(rng.integers(1, 6))
        dims = shape(rng, 1, 4, empty=0.03)
        x = values(rng, [dims[0], classes] + dims[1:], kind)
        reduction = pick(rng, ["none", "sum", "mean"])
        attributes = {"reduction": reduction}
        targets = rng.integers(0, classes, dims).astype(pick(rng, [numpy.int32, numpy.int64]))
        ignored = int(pick(rng, [-100, -1, 0, classes - 1])) if rng.random() < 0.5 else None
        if ignored is not None:
            attributes["ignore_index"] = ignored
            targets = numpy.where(rng.random(dims) < 0.3, ignored, targets).astype(targets.dtype)
        inputs = [x, targets]
        if rng.random() < 0.5:
            inputs.append(values(rng, [classes], kind, low=0.1))
        tells = op_type == "SoftmaxCrossEntropyLoss" and rng.random() < 0.5

        def right(inputs):
            wide, targets = inputs[0].astype(numpy.float64), inputs[1].astype(numpy.int64)
            log_prob = _log_softmax(wide) if op_type == "SoftmaxCrossEntropyLoss" else wide
            counts = numpy.ones(targets.shape, bool) if ignored is None else targets != ignored
            at = numpy.where(counts, targets, 0)
            weights = inputs[2].astype(numpy.float64)[at] if len(inputs) > 2 else 1.0
            weights = numpy.where(counts, weights, 0)
            found = -numpy.take_along_axis(log_prob, at[:, None], 1)[:, 0]
            loss = numpy.where(counts, found, 0) * weights
            with numpy.errstate(all="ignore"):
                if reduction == "mean":
                    loss = numpy.sum(loss) / numpy.sum(weights)
                elif reduction == "sum":
                    loss = numpy.sum(loss)
            outputs = [loss, log_prob] if tells else [loss]
            return [numpy.asarray(one).astype(inputs[0].dtype) for one in outputs]

        return Case(inputs, attributes, opset=opset, n_outputs=2 if tells else 1, expected=right)

    return draw


for operator in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
    row(operator)(_loss(operator))


# ---- poolings ----


def _power(x, p):
    return numpy.abs(x.astype(numpy.float64)) ** p


@row("GlobalMaxPool")
def global_max_pool(rng):
    opset = opset_of(rng, "GlobalMaxPool")
    x = values(rng, shape(rng, 3, 5, empty=0), type_of(rng, "GlobalMaxPool", opset))
    return Case([x], opset=opset, expected=lambda inputs: [
        numpy.max(inputs[0], tuple(range(2, inputs[0].ndim)), keepdims=True)])


@row("GlobalLpPool")
def global_lp_pool(rng):
    opset, p = max(opset_of(rng, "GlobalLpPool"), 7), int(rng.integers(1, 5))
    x = values(rng, shape(rng, 3, 5, empty=0.03), type_of(rng, "GlobalLpPool", opset))
    return Case([x], {"p": p}, opset=opset, expected=lambda inputs: [
        (numpy.sum(_power(inputs[0], p), tuple(range(2, inputs[0].ndim)), keepdims=True)
         ** (1 / p)).astype(inputs[0].dtype)])


@row("LpPool")
def lp_pool(rng):
    opset, p = max(opset_of(rng, "LpPool"), 7), int(rng.integers(1, 5))
    spatial = int(rng.integers(1, 4))
    dims = [int(rng.integers(1, 4)) for _ in range(2)]
    dims += [int(rng.integers(3, 9)) for _ in range(spatial)]
    kernel = [int(rng.integers(1, 4)) for _ in range(spatial)]
    strides = [int(rng.integers(1, 4)) for _ in range(spatial)]
    pads = [int(rng.integers(0, n)) for n in kernel + kernel]
    dilations = [1] * spatial
    attributes = {"p": p, "kernel_shape": kernel, "strides": strides, "pads": pads}
    if opset >= 18 and rng.random() < 0.5:
        dilations = [int(rng.integers(1, 3)) for _ in range(spatial)]
        attributes["dilations"] = dilations
    for i in range(spatial):  # a window at least
        dims[2 + i] = max(dims[2 + i], (kernel[i] - 1) * dilations[i] + 1)
    x = values(rng, dims, type_of(rng, "LpPool", opset))

    def right(inputs):
        around = list(zip(pads[:spatial], pads[spatial:], strict=True))
        powers = numpy.pad(_power(inputs[0], p), [(0, 0), (0, 0)] + around)
        extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        windows = numpy.lib.stride_tricks.sliding_window_view(
            powers, extents, tuple(range(2, 2 + spatial)))
        steps = (slice(None), slice(None)) + tuple(slice(None, None, s) for s in strides)
        windows = windows[steps + tuple(slice(None, None, d) for d in dilations)]
        sums = numpy.sum(windows, tuple(range(2 + spatial, 2 + 2 * spatial)))
        return [(sums ** (1 / p)).astype(inputs[0].dtype)]

    return Case([x], attributes, opset=opset, expected=right)


# ---- norms over axes ----


@row("LpNormalization")
def lp_normalization(rng):
    opset, p = opset_of(rng, "LpNormalization"), int(rng.integers(1, 3))
    dims = shape(rng, 1, 5, empty=0.03)
    at = axis(rng, len(dims))
    x = values(rng, dims, type_of(rng, "LpNormalization", opset))
    if rng.random() < 0.2:
        x = numpy.zeros_like(x)

    def right(inputs):
        norm = numpy.sum(_power(inputs[0], p), at, keepdims=True) ** (1 / p)
        with numpy.errstate(all="ignore"):
            found = numpy.where(norm == 0, 0, inputs[0].astype(numpy.float64) / norm)
        return [found.astype(inputs[0].dtype)]

    return Case([x], {"axis": at, "p": p}, opset=opset, expected=right)


@row("MeanVarianceNormalization")
def mean_variance_normalization(rng):
    opset = opset_of(rng, "MeanVarianceNormalization")
    dims = shape(rng, 4, 5, largest=7, empty=0.02)
    attributes, axes = {}, [0, 2, 3]
    if rng.random() < 0.6:
        axes = [i for i in range(len(dims)) if rng.random() < 0.6] or [0]
        attributes["axes"] = [i - len(dims) if rng.random() < 0.3 else i for i in axes]
    # of the elements that are normalized, two at least: else the deviation is only rounding
    dims[axes[0]] = max(dims[axes[0]], 2) if dims[axes[0]] > 0 else 0
    x = values(rng, dims, type_of(rng, "MeanVarianceNormalization", opset))

    def right(inputs):
        wide = inputs[0].astype(numpy.float64)
        less = wide - numpy.mean(wide, tuple(axes), keepdims=True)
        deviation = numpy.sqrt(numpy.mean(less * less, tuple(axes), keepdims=True))
        return [(less / (deviation + 1e-9)).astype(inputs[0].dtype)]

    # two numbers that are nearly equal have a deviation that is nearly rounding
    return Case([x], attributes, opset=opset, tolerance=None if x.dtype == numpy.float64 else 2e-2,
                expected=lambda inputs: right(inputs) if inputs[0].size else [inputs[0]])


# ---- Einsum ----

EQUATIONS = ["ij->ji", "ii->i", "ii->", "ii", "ij->", "i->i", "ij,jk->ik", "ij,jk",
             "ij,kj->ki", "bij,bjk->bik", "bij,bkj->bki", "...ij,...jk->...ik", "bhid,bhjd->bhij",
             "bhij,bhjd->bhid", "bihd,bjhd->bhij", "bhij,bjhd->bihd", "i,j->ij", "i,i->", "i,i->i",
             "ij,ij->i", "ij,j->i", "...,...->...", "...i,i", "i...,j...->ij...", "...ii->...i",
             "ij,jk,kl->il", "ij,j,jk->ki", "ab,cd,ad->cb", "aij,bjk,ck->abc", "ijk,ljk->il",
             "ijk,kjl->li", "bijc,bklc->bijkl", "Ab,bA->", "ba", "i j , j k -> k i", "ijij->ji",
             "iij,jk->ik", "ijk,jil->kl", "a,b,c->cab", "abc->b", "...a->..."]


@row("Einsum")
def einsum(rng):
    opset = opset_of(rng, "Einsum")
    kind = type_of(rng, "Einsum", opset)
    equation = pick(rng, EQUATIONS)
    size = {letter: 0 if rng.random() < 0.02 else int(rng.integers(1, 6)) if rng.random() < 0.9
            else int(rng.integers(20, 70)) for letter in sorted(set(equation)) if letter.isalpha()}
    wide = shape(rng, 0, 2, empty=0)
    inputs = []
    for term in equation.split("->")[0].replace(" ", "").split(","):
        before, dots, behind = term.partition("...")
        dims = [size[letter] for letter in before] + (wide if dots else [])
        inputs.append(values(rng, dims + [size[letter] for letter in behind], kind,
                             low=-1 if kind.startswith("INT") else 0, high=1))

    def right(inputs):
        whole = inputs[0].dtype.kind in "iu"
        wide = [one.astype(numpy.int64 if whole else numpy.float64) for one in inputs]
        return [numpy.asarray(numpy.einsum(equation.replace(" ", ""), *wide)).astype(
            inputs[0].dtype)]

    return Case(inputs, {"equation": equation}, opset=opset, expected=right,
                constants={len(inputs) - 1} if rng.random() < 0.3 else set())
