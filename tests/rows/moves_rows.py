"""Operators that move elements."""

import functools

import numpy
import onnx

from case import ALL_TYPES, FLOATS, INTEGERS, NUMBERS, Case, axis, broadcast, dtype_of, pick
from case import row, shape, values

Move = functools.partial(Case, moves=True)
NOT_BF16 = [name for name in NUMBERS if name != "BFLOAT16"]


def ints(numbers, dtype=numpy.int64):
    return numpy.array(numbers, dtype).reshape(len(numbers))


def anything(rng, dims, types=ALL_TYPES):
    return values(rng, dims, pick(rng, types))


def maybe(rng, *inputs):
    """A set of those inputs that are constants this time."""
    return {i for i in inputs if rng.random() < 0.5}


def indices(rng, dims, size, negative=True):
    """Random indices into an axis of `size`; of an empty one there are none."""
    kind = pick(rng, (numpy.int32, numpy.int64))
    if size == 0:
        return numpy.zeros(dims, kind)
    return rng.integers(-size if negative else 0, size, dims).astype(kind)


def unary(op_type, opsets=(13, 21), low=0):
    @row(op_type)
    def draw(rng):
        return Case([anything(rng, shape(rng, low, 6))], opset=pick(rng, opsets))
    return draw


unary("Identity", (7, 13, 21))
unary("Shape", (7, 13))
unary("Size", (7, 13, 21))


# ---- views ----


@row("Flatten")
def flatten(rng):
    x = anything(rng, shape(rng, 0, 6))
    return Move([x], {"axis": int(rng.integers(-x.ndim, x.ndim + 1))}, opset=pick(rng, (11, 21)))


@row("Reshape")
def reshape(rng):
    dims = shape(rng, 0, 6, empty=0)
    to = list(dims)
    rng.shuffle(to)
    if to and rng.random() < 0.5:
        to[int(rng.integers(len(to)))] = -1
    return Move([anything(rng, dims), ints(to)], constants=maybe(rng, 1), opset=pick(rng, (7, 21)))


@row("Squeeze")
def squeeze(rng):
    dims = [1 if rng.random() < 0.5 else dim for dim in shape(rng, 1, 6)]
    ones = [i - (len(dims) if rng.random() < 0.5 else 0) for i, d in enumerate(dims) if d == 1]
    axes = [one for one in ones if rng.random() < 0.5]
    if rng.random() < 0.5 or not axes:
        return Move([anything(rng, dims)], {"axes": axes} if axes else {}, opset=11)
    return Move([anything(rng, dims), ints(axes)], constants=maybe(rng, 1))


@row("Unsqueeze")
def unsqueeze(rng):
    dims = shape(rng, 0, 5)
    count = int(rng.integers(1, 4))
    axes = rng.choice(len(dims) + count, count, replace=False)
    axes = [int(a) - (len(dims) + count if rng.random() < 0.5 else 0) for a in axes]
    x = anything(rng, dims)
    expected = lambda _: [numpy.expand_dims(x, tuple(axes))]  # noqa: E731
    if rng.random() < 0.5:
        return Case([x], {"axes": axes}, opset=11, expected=expected)
    return Case([x, ints(axes)], constants=maybe(rng, 1), expected=expected)


@row("Dropout")
def dropout(rng):
    opset = pick(rng, (10, 13, 22))  # what a mask is that hides nothing, old opsets do not say
    return Case([anything(rng, shape(rng, 0, 5), FLOATS)], opset=opset,
                n_outputs=int(rng.integers(1, 3)) if opset > 10 else 1)


# ---- constants ----


@row("Constant")
def constant(rng):
    value = anything(rng, shape(rng, 0, 3))
    return Case([], {"value": onnx.numpy_helper.from_array(value)}, expected=lambda _: [value])


@row("ConstantOfShape")
def constant_of_shape(rng):
    value = anything(rng, [1], [t for t in ALL_TYPES if t != "BFLOAT16"])
    attributes = {"value": onnx.numpy_helper.from_array(value)} if rng.random() < 0.8 else {}
    return Case([ints(shape(rng, 0, 6))], attributes, constants=maybe(rng, 0))


@row("EyeLike")
def eye_like(rng):
    attributes = {"k": int(rng.integers(-6, 7))} if rng.random() < 0.7 else {}
    if rng.random() < 0.5:
        attributes["dtype"] = getattr(onnx.TensorProto, pick(rng, NOT_BF16))
    x = anything(rng, shape(rng, 2, 2), NOT_BF16)
    to = onnx.helper.tensor_dtype_to_np_dtype(attributes["dtype"]) if "dtype" in attributes \
        else x.dtype
    right = numpy.eye(*x.shape, attributes.get("k", 0)).astype(to)
    return Case([x], attributes, opset=pick(rng, (9, 22)), expected=lambda _: [right])


@row("Range")
def number_range(rng):
    name = pick(rng, ("FLOAT", "DOUBLE", "INT16", "INT32", "INT64", "FLOAT16", "BFLOAT16"))
    kind = dtype_of(name)
    real = name in FLOATS
    step = rng.uniform(0.5, 3) if real else rng.integers(1, 5)
    numbers = [rng.uniform(-9, 9), rng.uniform(-9, 9)] if real else rng.integers(-99, 99, 2)
    inputs = [numpy.array(v).astype(kind) for v in (*numbers, step * pick(rng, (-1, 1)))]
    start, limit, delta = (float(v) for v in inputs)
    count = max(0, int(numpy.ceil((limit - start) / delta)))
    right = (start + numpy.arange(count) * delta).astype(kind)
    return Case(inputs, constants=maybe(rng, 0, 1, 2), opset=27 if "16" in name and real else 11,
                expected=lambda _: [right])


# ---- strided copies ----


@row("Transpose")
def transpose(rng):
    x = anything(rng, shape(rng, 0, 8, largest=3))
    perm = [int(i) for i in rng.permutation(x.ndim)]
    return Move([x], {"perm": perm} if perm and rng.random() < 0.8 else {},
                opset=pick(rng, (7, 13, 25)))


@row("Concat")
def concat(rng):
    dims, kind = shape(rng, 1, 6), pick(rng, ALL_TYPES)
    at = axis(rng, len(dims))
    inputs = []
    for _ in range(int(rng.integers(1, 5))):
        dims[at] = int(rng.integers(0, 5))
        inputs.append(values(rng, dims, kind))
    return Move(inputs, {"axis": at}, constants=maybe(rng, *range(1, len(inputs))),
                opset=pick(rng, (11, 13)))


@row("Slice")
def cut(rng):
    x = anything(rng, shape(rng, 1, 8, largest=4))
    axes = [int(a) for a in rng.choice(x.ndim, int(rng.integers(1, x.ndim + 1)), replace=False)]
    starts, ends = (rng.integers(-6, 7, len(axes)).tolist() for _ in range(2))
    axes = [a - (x.ndim if rng.random() < 0.5 else 0) for a in axes]
    if rng.random() < 0.2:
        return Move([x], {"starts": starts, "ends": ends, "axes": axes}, opset=7)
    kind = pick(rng, (numpy.int32, numpy.int64))
    steps = [int(s) for s in rng.choice([-3, -2, -1, 1, 2, 3], len(axes))]
    rest = [ints(given, kind) for given in (starts, ends, axes, steps)]
    return Move([x, *rest], constants=maybe(rng, 1, 2, 3, 4), opset=pick(rng, (10, 13)))


@row("Expand")
def expand(rng):
    dims = shape(rng, 0, 6, largest=4)
    source, to = broadcast(rng, dims)
    return Move([anything(rng, source), ints(to)], constants=maybe(rng, 1),
                opset=pick(rng, (8, 13)))


@row("Split")
def split(rng):
    dims, count = shape(rng, 1, 5), int(rng.integers(1, 5))
    at = axis(rng, len(dims))
    opset = pick(rng, (11, 13, 18))
    given = rng.random() < 0.5
    attributes = {"axis": at}
    if given:
        sizes = rng.integers(0, 4, count).tolist()
        dims[at] = sum(sizes)
    elif opset == 18:
        attributes["num_outputs"] = count
        each = int(rng.integers(1, 5))  # and no more than it for the last
        dims[at] = each * count - int(rng.integers(0, min(each, count)))
    else:
        dims[at] = count * int(rng.integers(0, 4))
    x = anything(rng, dims)
    if given and opset == 11:
        return Move([x], attributes | {"split": sizes}, n_outputs=count, opset=opset)
    return Move([x, ints(sizes)] if given else [x], attributes, n_outputs=count, opset=opset,
                constants=maybe(rng, 1) if given else set())


@row("DepthToSpace")
def depth_to_space(rng):
    b, (n, c, h, w) = int(rng.integers(1, 4)), shape(rng, 4, 4, 3)
    return Move([anything(rng, [n, c * b * b, h, w])],
                {"blocksize": b, "mode": pick(rng, ("DCR", "CRD"))}, opset=pick(rng, (11, 13)))


@row("SpaceToDepth")
def space_to_depth(rng):
    b, (n, c, h, w) = int(rng.integers(1, 4)), shape(rng, 4, 4, 3)
    attributes = {"mode": pick(rng, ("DCR", "CRD"))} if rng.random() < 0.5 else {}
    return Move([anything(rng, [n, c, h * b, w * b])], attributes | {"blocksize": b},
                opset=28 if attributes else 13)


@row("Trilu")
def trilu(rng):
    x = anything(rng, shape(rng, 2, 5))
    inputs = [x, numpy.array(int(rng.integers(-6, 7)))][: int(rng.integers(1, 3))]
    return Move(inputs, {"upper": int(rng.integers(2))} if rng.random() < 0.8 else {}, opset=14,
                constants=maybe(rng, *range(1, len(inputs))))


# ---- more around, or less ----


@row("Tile")
def tile(rng):
    dims = shape(rng, 0, 6, largest=3)
    return Move([anything(rng, dims), ints(rng.integers(0, 4, len(dims)).tolist())],
                constants=maybe(rng, 1), opset=pick(rng, (7, 13)))


def padded(x, mode, begin, end, value):
    """numpy's, of what negative pads leave."""
    kept = x[tuple(slice(max(0, -b), max(0, d - max(0, -e))) for b, e, d in
                   zip(begin, end, x.shape))]
    width = [(max(0, b), max(0, e)) for b, e in zip(begin, end)]
    if mode == "constant":
        return numpy.pad(kept, width, mode, constant_values=value)
    return numpy.pad(kept, width, mode)


@row("Pad")
def pad(rng):
    opset = pick(rng, (7, 11, 13, 18, 21, 25))
    mode = pick(rng, ("constant", "reflect", "edge") + (("wrap",) if opset >= 19 else ()))
    dims = shape(rng, 1, 6, 4, empty=0.05 if mode == "constant" else 0)
    x = anything(rng, dims, ALL_TYPES if opset >= 13 else NOT_BF16 if opset > 7 else
                 ("FLOAT", "DOUBLE", "FLOAT16"))
    axes = [int(a) for a in rng.permutation(len(dims))]
    if opset >= 18 and rng.random() < 0.6:
        axes = axes[: int(rng.integers(1, len(axes) + 1))]
    else:
        axes = sorted(axes)
    least = -1 if rng.random() < 0.3 else 0  # negative ones leave an element
    begin, end = ([int(rng.integers(least * max(0, (dims[a] - 1) // 2), 6)) for a in axes]
                  for _ in range(2))
    pads = [0] * len(dims), [0] * len(dims)
    for i, a in enumerate(axes):
        pads[0][a], pads[1][a] = begin[i], end[i]
    value = anything(rng, [], [onnx.TensorProto.DataType.Name(
        onnx.helper.np_dtype_to_tensor_dtype(x.dtype))])
    has_value = rng.random() < 0.5 and opset >= 11
    right = padded(x, mode, *pads, value if has_value else 0.5 if opset == 7 else 0)
    expected = lambda _: [right.astype(x.dtype)]  # noqa: E731
    if opset == 7:
        return Case([x], {"mode": mode, "pads": begin + end, "value": 0.5}, opset=opset,
                    expected=expected)
    inputs = [x, ints(begin + end), value if has_value else None]
    if len(axes) < len(dims) or axes != sorted(axes):
        inputs.append(ints([a - (len(dims) if rng.random() < 0.5 else 0) for a in axes]))
    return Case(inputs, {"mode": mode}, constants=maybe(rng, 1, *range(3, len(inputs))),
                opset=opset, expected=expected)


@row("CenterCropPad")
def center_crop_pad(rng):
    dims = shape(rng, 1, 6, largest=4)
    axes = [int(a) for a in rng.permutation(len(dims))][: int(rng.integers(1, len(dims) + 1))]
    sizes = ints(rng.integers(0, 7, len(axes)).tolist(), pick(rng, (numpy.int32, numpy.int64)))
    return Move([anything(rng, dims), sizes],
                {"axes": [a - (len(dims) if rng.random() < 0.5 else 0) for a in axes]},
                constants=maybe(rng, 1), opset=18)


@row("Col2Im")
def col2im(rng):
    rank = int(rng.integers(1, 4))
    image, block, strides, dilations = (rng.integers(1, high, rank).tolist()
                                        for high in ((40, 16, 6)[rank - 1], 4, 3, 3))
    pads = rng.integers(0, 3, 2 * rank).tolist()
    count = [(image[i] + pads[i] + pads[rank + i] - (block[i] - 1) * dilations[i] - 1)
             // strides[i] + 1 for i in range(rank)]
    if min(count) < 1:
        return col2im(rng)
    n, c = (int(v) for v in rng.integers(1, 4, 2))
    x = anything(rng, [n, c * int(numpy.prod(block)), int(numpy.prod(count))], NUMBERS)
    right = numpy.zeros([n, c, *image], numpy.float64 if x.dtype.kind not in "iu" else x.dtype)
    columns = x.astype(right.dtype).reshape([n, c, *block, *count])
    for tap in numpy.ndindex(*block):
        for at in numpy.ndindex(*count):
            place = [at[i] * strides[i] + tap[i] * dilations[i] - pads[i] for i in range(rank)]
            if all(0 <= p < d for p, d in zip(place, image)):
                right[(..., *place)] += columns[(slice(None), slice(None), *tap, *at)]
    return Case([x, ints(image), ints(block)],
                {"strides": strides, "dilations": dilations, "pads": pads}, opset=18,
                constants=maybe(rng, 1, 2), expected=lambda _: [right.astype(x.dtype)],
                tolerance=0.1 if x.dtype.name == "bfloat16" else 0.01 if x.itemsize == 2 else None)


# ---- indices ----


@row("Gather")
def gather(rng):
    dims = shape(rng, 1, 5)
    at = axis(rng, len(dims))
    dims[at] = max(1, dims[at])
    return Move([anything(rng, dims), indices(rng, shape(rng, 0, 3), dims[at])], {"axis": at},
                opset=pick(rng, (11, 13)), constants=maybe(rng, 0, 1))


def _elements(rng, distinct=False):
    """A shape, an axis, and indices into it that are a part of the shape elsewhere."""
    dims = shape(rng, 1, 5)
    at = axis(rng, len(dims))
    dims[at] = max(1, dims[at])
    part = [int(rng.integers(0, d + 1)) for d in dims]
    part[at] = int(rng.integers(0, 6))
    if not distinct:
        return dims, at, indices(rng, part, dims[at])
    part[at] = min(part[at], dims[at])
    order = numpy.argsort(rng.random([dims[at] if i == at % len(dims) else d
                                      for i, d in enumerate(part)]), at)
    from_end = dims[at] if rng.random() < 0.5 else 0
    return dims, at, numpy.take(order, range(part[at]), at) - from_end


@row("GatherElements")
def gather_elements(rng):
    dims, at, picked = _elements(rng)
    return Move([anything(rng, dims), picked], {"axis": at}, opset=pick(rng, (11, 13)))


def _tuples(rng, batch, distinct=False):
    dims = shape(rng, batch + 1, 5, empty=0)
    length = int(rng.integers(1, len(dims) - batch + 1))
    slots = dims[:batch] + shape(rng, 0, 2)
    space = dims[batch : batch + length]
    count = int(numpy.prod(slots))
    if distinct:
        slots = [min(count, int(numpy.prod(space)))]
        flat = rng.permutation(int(numpy.prod(space)))[: slots[0]]
    else:
        flat = rng.integers(0, int(numpy.prod(space)), count)
    found = numpy.stack(numpy.unravel_index(flat, space), -1).reshape([*slots, length])
    negative = rng.random(found.shape) < 0.3
    return dims, numpy.where(negative, found - numpy.array(space), found), length


@row("GatherND")
def gather_nd(rng):
    batch = int(rng.integers(0, 3))
    dims, picked, _ = _tuples(rng, batch)
    return Move([anything(rng, dims), picked], {"batch_dims": batch} if batch else {},
                opset=pick(rng, (12, 13)))


def _reduced(rng, opset):
    """A reduction, and types that it is compared in."""
    names = ("none",) + (("add", "mul") if opset >= 16 else ()) + (("min", "max") if opset >= 18
                                                                   else ())
    name = pick(rng, names)
    if name == "none":
        return name, ALL_TYPES
    return name, ("FLOAT", "DOUBLE") + INTEGERS


def _scatter(rng, data, picked, updates, places, reduction, attributes, opset):
    """`places`: of each update, in the data."""
    right = data.copy()
    function = {"add": numpy.add, "mul": numpy.multiply, "min": numpy.minimum,
                "max": numpy.maximum}.get(reduction)
    with numpy.errstate(over="ignore"):
        for place, update in places:
            right[place] = update if function is None else function(right[place], update)
    if reduction != "none":
        attributes = attributes | {"reduction": reduction}
    return Move([data, picked, updates], attributes, opset=opset, constants=maybe(rng, 0),
                expected=lambda _: [right])


def _scatter_elements(rng, opset):
    reduction, types = _reduced(rng, opset)
    dims, at, picked = _elements(rng, reduction == "none")
    kind = pick(rng, types)
    data, updates = values(rng, dims, kind), values(rng, picked.shape, kind)
    places = []
    for slot in numpy.ndindex(*picked.shape):
        place = list(slot)
        place[at] = int(picked[slot])
        places.append((tuple(place), updates[slot]))
    return _scatter(rng, data, picked, updates, places, reduction, {"axis": at}, opset)


@row("Scatter")
def scatter(rng):
    return _scatter_elements(rng, 9)


@row("ScatterElements")
def scatter_elements(rng):
    return _scatter_elements(rng, pick(rng, (11, 13, 16, 18)))


@row("ScatterND")
def scatter_nd(rng):
    opset = pick(rng, (11, 13, 16, 18))
    reduction, types = _reduced(rng, opset)
    dims, picked, length = _tuples(rng, 0, reduction == "none")
    kind = pick(rng, types)
    data = values(rng, dims, kind)
    updates = values(rng, [*picked.shape[:-1], *dims[length:]], kind)
    places = [(tuple(picked[slot]), updates[slot]) for slot in numpy.ndindex(*picked.shape[:-1])]
    return _scatter(rng, data, picked, updates, places, reduction, {}, opset)


@row("TensorScatter")
def tensor_scatter(rng):
    dims = shape(rng, 2, 5)
    at = int(rng.integers(1, len(dims)))
    part = list(dims)
    part[at] = int(rng.integers(0, dims[at] + 1))
    circular = rng.random() < 0.5 and dims[at] > 0
    high = 2 * dims[at] if circular else dims[at] - part[at] + 1
    kind = pick(rng, ALL_TYPES)
    inputs = [values(rng, dims, kind), values(rng, part, kind)]
    if rng.random() < 0.7:
        inputs.append(rng.integers(0, high, dims[0]))
    return Move(inputs, {"axis": at - (len(dims) if rng.random() < 0.5 else 0),
                         "mode": "circular" if circular else "linear"}, opset=24)


@row("OneHot")
def one_hot(rng):
    depth = int(rng.integers(0, 6))
    picked = rng.integers(-depth - 2, depth + 3, shape(rng, 0, 4))
    kinds = [dtype_of(name) for name in ("INT64", "INT32", "INT8", "FLOAT", "DOUBLE", "FLOAT16")]
    kind = pick(rng, ALL_TYPES)
    at = axis(rng, picked.ndim + 1)
    off, on = values(rng, [2], kind)
    wrapped = numpy.expand_dims(numpy.where(picked < 0, picked + depth, picked), at)
    line = [1] * (picked.ndim + 1)
    line[at] = depth
    right = numpy.where(wrapped == numpy.arange(depth).reshape(line), on, off).astype(off.dtype)
    count = numpy.array(depth if rng.random() < 0.5 else [depth]).astype(pick(rng, kinds))
    return Case([picked.astype(pick(rng, kinds)), count, numpy.array([off, on])], {"axis": at},
                constants=maybe(rng, 1, 2), opset=pick(rng, (9, 11)), expected=lambda _: [right])


@row("ReverseSequence")
def reverse_sequence(rng):
    dims = shape(rng, 2, 5)
    time = int(rng.integers(2))
    return Move([anything(rng, dims), rng.integers(0, dims[time] + 1, dims[1 - time])],
                {"time_axis": time, "batch_axis": 1 - time}, opset=10)


@row("MaxUnpool")
def max_unpool(rng):
    rank = int(rng.integers(1, 4))
    kernel, strides = (rng.integers(1, high, rank).tolist() for high in (4, 4))
    dims = [int(d) for d in rng.integers(1, 4, rank + 2)]
    natural = dims[:2] + [(d - 1) * s + k for d, s, k in zip(dims[2:], strides, kernel)]
    total, count = int(numpy.prod(natural)), int(numpy.prod(dims))
    inputs = [anything(rng, dims, FLOATS)]
    places = rng.permutation(total)[:count] if count <= total else rng.integers(0, 1, count)
    if count > total:
        return max_unpool(rng)
    inputs.append(places.reshape(dims))
    flat = numpy.zeros(total, inputs[0].dtype)
    flat[places] = inputs[0].reshape(-1)
    right = flat.reshape(natural)
    if rng.random() < 0.3:
        to = natural[:2] + [d + int(rng.integers(0, 3)) for d in natural[2:]]
        inputs.append(ints(to))
        right = numpy.pad(right, [(0, t - d) for t, d in zip(to, natural)])
    return Case(inputs, {"kernel_shape": kernel, "strides": strides}, opset=pick(rng, (11, 22)),
                constants=maybe(rng, *range(2, len(inputs))), expected=lambda _: [right])


@row("TopK")
def top_k(rng):
    dims, opset = shape(rng, 1, 5), pick(rng, (7, 10, 11, 24))
    at = axis(rng, len(dims))
    k = int(rng.integers(0, dims[at] + 1))
    largest = int(rng.integers(2)) if opset >= 11 else 1
    types = ("FLOAT", "DOUBLE", "FLOAT16") if opset < 11 else NUMBERS if opset == 24 else NOT_BF16
    x = anything(rng, dims, types)
    if rng.random() < 0.5:
        x = x.astype(numpy.int8).astype(x.dtype)  # many are equal
    keys = x.astype(numpy.float64)
    places = numpy.argsort(-keys if largest else keys, at, kind="stable")
    places = numpy.take(places, range(k), at)
    right = [numpy.take_along_axis(x, places, at), places]
    attributes = {"axis": at} | ({"largest": largest, "sorted": 1} if opset >= 11 else {})
    if opset < 10:
        return Case([x], attributes | {"k": k}, n_outputs=2, opset=opset, expected=lambda _: right)
    return Case([x, ints([k])], attributes, n_outputs=2, opset=opset, constants=maybe(rng, 1),
                expected=lambda _: right)


@row("Upsample")
def upsample(rng):
    dims = shape(rng, 4, 4, empty=0)
    linear = rng.random() < 0.5
    scales = [1.0 if linear and i < 2 else float(pick(rng, (1, 1.5, 2, 3))) for i in range(4)]
    x = anything(rng, dims, ("FLOAT",) if linear else ("FLOAT", "INT32", "UINT8"))
    mode = {"mode": "linear" if linear else "nearest"}
    if rng.random() < 0.5:
        return Case([x], mode | {"scales": scales}, opset=7)
    return Case([x, numpy.array(scales, numpy.float32)], mode, constants=maybe(rng, 1), opset=9)
