"""What ONNX Runtime's optimizers make of several operators: com.microsoft."""

import dataclasses
import math

import numpy

from attention_rows import mask_index_of
from case import (FLOATS, TOLERANCE, Case, axis, broadcast, by_others, halved, pick, row, shape,
                  values)
from integer_rows import convolution, integers, qlinear_conv
from moves_rows import anything, gather_nd, number_range, trilu
from qlinear_rows import quantized, quantizer, real
from quantized_rows import dequantize_linear, quantize_linear

DOMAIN = "com.microsoft"


# ---- element by element ----


def by_f64(function):
    """In f64, rounded to the type of the first input."""
    return lambda inputs: [function(*(x.astype(numpy.float64) for x in inputs)).astype(
        inputs[0].dtype)]


@row("BiasAdd", DOMAIN)
def bias_add(rng):
    x = shape(rng, low=1)
    kind = pick(rng, FLOATS)
    inputs = [values(rng, dims, kind, special=0.02) for dims in (x, x[-1:], x)]
    return Case(inputs, expected=by_f64(lambda x, bias, skip: x + bias + skip))


@row("BiasSplitGelu", DOMAIN)
def bias_split_gelu(rng):
    x = shape(rng, low=1)
    x[-1] *= 2
    kind = pick(rng, FLOATS)

    def right(x, bias):
        left, gate = numpy.split(x + bias, 2, -1)
        erf = numpy.vectorize(math.erf, otypes=[numpy.float64])(gate / math.sqrt(2))
        return left * gate * (1 + erf) / 2

    return Case([values(rng, dims, kind) for dims in (x, x[-1:])], expected=by_f64(right))


# ---- norms ----


def group_norm_case(rng, skips):
    groups, each, batch = (int(rng.integers(1, 5)) for _ in range(3))
    channels, is_last = groups * each, int(rng.integers(2))
    spatial = [int(rng.integers(1, 7)) for _ in range(2)]
    dims = [batch, *spatial, channels] if is_last else [batch, channels, *spatial]
    inputs = [values(rng, dims), values(rng, [channels]), values(rng, [channels])]
    attributes = {"groups": groups, "activation": int(rng.integers(2)), "channels_last": is_last,
                  "epsilon": pick(rng, [1e-5, 1e-2])}
    n_outputs = int(rng.integers(1, 3)) if skips else 1
    if skips:
        ones = [batch, 1, 1, channels] if is_last else [batch, channels, 1, 1]
        inputs.append(values(rng, pick(rng, [dims, ones, [batch, channels]])))
        if rng.random() < 0.6:
            inputs.append(values(rng, [channels]))

    def right(given):
        def second(x):
            x = x.astype(numpy.float64)
            if x.ndim < 4:
                return x.reshape([*x.shape, 1, 1])
            return numpy.moveaxis(x, -1, 1) if is_last else x

        total = sum(second(x) for x in (given[0], *given[3:]))
        parts = total.reshape(batch, groups, -1)
        parts = parts - parts.mean(-1, keepdims=True)
        parts /= numpy.sqrt((parts ** 2).mean(-1, keepdims=True) + attributes["epsilon"])
        y = parts.reshape(total.shape) * second(given[1]) + second(given[2])
        if attributes["activation"]:
            y = y / (1 + numpy.exp(-y))
        return [(numpy.moveaxis(one, 1, -1) if is_last else one).astype(numpy.float32)
                for one in (y, total)][:n_outputs]

    return Case(inputs, attributes, n_outputs=n_outputs, tolerance=2e-4, expected=right)


@row("GroupNorm", DOMAIN)
def group_norm(rng):
    return group_norm_case(rng, False)


@row("SkipGroupNorm", DOMAIN)
def skip_group_norm(rng):
    return group_norm_case(rng, True)


# ---- tables ----


def words(rng):
    """IDs of words and segments, and the shapes of tables and of what scales and shifts."""
    batch, rows = int(rng.integers(1, 4)), 0 if rng.random() < 0.04 else int(rng.integers(1, 9))
    width, tables = int(rng.integers(1, 40)), rng.integers(1, 20, 2)
    sizes = [int(tables[0]), rows + int(tables[1]), 2]
    ids = [rng.integers(0, size, (batch, rows)).astype(numpy.int32) for size in sizes]
    dims = [[size, width] for size in sizes] + [[width], [width]]
    return ids, dims


def embedded(epsilon, n_outputs):
    """In f64; without `positions`, the first ones."""
    def right(inputs):
        ids, segments, word, position, segment, gamma, beta, mask, positions = (
            [*inputs, None, None][:9])
        total = word.astype(numpy.float64)[ids]
        total += (position[:ids.shape[1]] if positions is None else position[positions])
        if segment is not None:
            total += segment[0 if segments is None else segments]
        centered = total - total.mean(-1, keepdims=True)
        y = centered / numpy.sqrt((centered ** 2).mean(-1, keepdims=True) + epsilon)
        count = numpy.zeros(len(ids)) if mask is None else (mask == 1).sum(-1)
        return [(y * gamma + beta).astype(numpy.float32), count.astype(numpy.int32),
                total.astype(numpy.float32)][:n_outputs]

    return right


@row("EmbedLayerNormalization", DOMAIN)
def embed_layer_normalization(rng):
    ids, dims = words(rng)
    has_segments, n_outputs = rng.random() < 0.6, int(rng.integers(1, 4))
    epsilon = pick(rng, [1e-12, 1e-3])
    inputs = [ids[0], ids[2] if has_segments else None, *(values(rng, one) for one in dims)]
    if not has_segments and rng.random() < 0.8:
        inputs[4] = None
    if rng.random() < 0.6:
        mask = rng.integers(0, 3, ids[0].shape).astype(numpy.int32)
        inputs.append(mask if rng.random() < 0.7 else None)
        if rng.random() < 0.5:
            inputs.append(ids[1] if rng.random() < 0.5 else ids[1][:1])
    # ONNX Runtime wants constant tables and the second output
    tables = {i for i in range(2, 7) if inputs[i] is not None}
    by_formula = n_outputs == 1 or ids[0].size == 0 or rng.random() < 0.3
    return Case(inputs, {"epsilon": epsilon}, n_outputs=n_outputs, tolerance=2e-4,
                constants={i for i in tables if rng.random() < 0.5} if by_formula else tables,
                expected=embedded(epsilon, n_outputs) if by_formula else None)


@row("QEmbedLayerNormalization", DOMAIN)
def qembed_layer_normalization(rng):
    ids, dims = words(rng)
    has_segments, n_outputs = rng.random() < 0.6, int(rng.integers(1, 3))
    kind, epsilon = pick(rng, ["UINT8", "INT8"]), pick(rng, [1e-12, 1e-3])
    inputs = [ids[0], ids[2] if has_segments else None,
              *(integers(rng, one, kind) for one in dims),
              rng.integers(0, 3, ids[0].shape).astype(numpy.int32) if rng.random() < 0.7 else None,
              *(values(rng, [], low=0.01, high=0.1) for _ in dims),
              *(integers(rng, [], kind) for _ in dims)]
    if not has_segments:
        inputs[4] = inputs[10] = inputs[15] = None

    def right(given):
        real = [None if given[i] is None else
                (given[i].astype(numpy.float64) - given[11 + i]) * given[6 + i]
                for i in range(2, 7)]
        return embedded(epsilon, n_outputs)([*given[:2], *real, given[7]])

    return Case(inputs, {"epsilon": epsilon}, n_outputs=n_outputs, tolerance=2e-4,
                constants={i for i in range(2, 7) if inputs[i] is not None and rng.random() < 0.5},
                expected=right)


# ---- convolutions ----


def some_activation(rng):
    """Attributes that say which, and with which numbers."""
    name = pick(rng, ["Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid"])
    numbers = {"LeakyRelu": [0.25], "Clip": [-0.5, 1.5], "HardSigmoid": [0.3, 0.4]}.get(name)
    return {"activation": name} | ({"activation_params": numbers} if numbers else {})


@row("FusedConv", DOMAIN)
def fused_conv(rng):
    x, w, attributes = convolution(rng)
    attributes |= some_activation(rng) if rng.random() < 0.9 else {}
    inputs = [values(rng, x), values(rng, w, low=-1, high=1)]
    inputs.append(values(rng, [w[0]]) if rng.random() < 0.6 else None)
    constants = {i for i in (1, 2) if rng.random() < 0.6 and inputs[i] is not None}
    case = Case(inputs, attributes, constants=constants, tolerance=1e-4)
    if rng.random() < 0.5:
        without = [by_others(DOMAIN, "FusedConv", case)[0].shape]
        inputs.append(values(rng, *without))
    return case


def channels_last(case, weights):
    """The same with all tensors of pixels, and maybe the weights, transposed."""
    whole = dataclasses.replace(case)

    def moved(x):
        return numpy.ascontiguousarray(numpy.moveaxis(x, 1, -1))

    def right(_):
        return [moved(y) for y in by_others(DOMAIN, "FusedConv", whole)]

    places = {0, 3} | ({1} if weights else set())
    inputs = [moved(x) if i in places and x is not None else x for i, x in enumerate(case.inputs)]
    return dataclasses.replace(case, inputs=inputs, expected=right)


@row("NhwcFusedConv", DOMAIN)
def nhwc_fused_conv(rng):
    return channels_last(fused_conv(rng), False)


@row("NhwcConv", DOMAIN)
def nhwc_conv(rng):
    case = fused_conv(rng)
    case.inputs = case.inputs[:3]
    for name in ("activation", "activation_params"):
        case.attributes.pop(name, None)
    return channels_last(case, True)


# ---- products ----


def in_order(x, swaps, batch_inside):
    """Of matrices as numpy.matmul has them, what lies in memory in another order."""
    if x.ndim > 1 and swaps:
        x = numpy.swapaxes(x, -1, -2)
    if x.ndim > 1 and batch_inside:
        x = numpy.moveaxis(x, -2, 0)
    return numpy.ascontiguousarray(x)


def packed(numbers, bits):
    """[rows][count] as bytes: the first number in the lowest bits."""
    each = 8 // bits
    padded = numpy.pad(numbers, [(0, 0), (0, -numbers.shape[1] % each)])
    parts = padded.reshape(len(numbers), -1, each).astype(numpy.uint32)
    return (parts << (bits * numpy.arange(each))).sum(-1).astype(numpy.uint8)


def unpacked(numbers, scales, zeros):
    """(number - zero point) scale of rows of blocks, which have one of each."""
    rows, blocks = zeros.shape
    of_blocks = numbers.reshape(rows, blocks, -1) - zeros[:, :, None].astype(numpy.float64)
    return (of_blocks * scales.reshape(rows, blocks, 1)).reshape(rows, -1)


@row("GatherBlockQuantized", DOMAIN)
def gather_block_quantized(rng):
    bits, block = pick(rng, [2, 4, 8]), pick(rng, [16, 32])
    blocks, rows = int(rng.integers(1, 4)), int(rng.integers(1, 9))
    numbers = rng.integers(0, 2 ** bits, (rows, blocks * block))
    scales, real_zeros = values(rng, [rows, blocks]), numpy.full((rows, blocks), 2 ** (bits - 1))
    inputs = [packed(numbers, bits), None, scales]
    if rng.random() < 0.5:
        real_zeros = rng.integers(0, 2 ** bits, (rows, blocks))
        inputs.append(packed(real_zeros, bits))
    if bits < 8 and rng.random() < 0.3:  # a dimension between
        inputs = [None if x is None else numpy.expand_dims(x, 1) for x in inputs]
    picked = shape(rng, low=0, high=3)
    # beyond the table there are zeros
    found = rng.integers(-rows, rows + (2 if rng.random() < 0.3 else 0), picked)
    inputs[1] = found.astype(pick(rng, [numpy.int32, numpy.int64]))

    def right(given):
        table = unpacked(numbers, given[2], real_zeros).reshape([*given[0].shape[:-1], -1])
        is_there = numpy.reshape(found < rows, [*picked, *[1] * (table.ndim - 1)])
        return [numpy.where(is_there, table[numpy.minimum(found, rows - 1)], 0)
                .astype(numpy.float32)]

    attributes = {"bits": bits, "block_size": block, "quantize_axis": -1}
    case = halved(rng, Case(inputs, attributes, expected=right,
                            constants={0, 2} if rng.random() < 0.5 else set()))
    case.widens = 2
    return case


@row("MatMulNBits", DOMAIN)
def matmul_n_bits(rng):
    k, n = int(rng.integers(1, 300)), int(rng.integers(1, 80))
    bits, block = pick(rng, [4, 4, 8, 8, 2]), pick(rng, [16, 32, 64, 128, 256])
    blocks = -(-k // block)
    numbers = rng.integers(0, 2 ** bits, (n, blocks * block))
    a = shape(rng, low=0, high=3) + [k]
    scales = values(rng, [n, blocks], low=-0.5, high=0.5)
    zeros, real_zeros = None, numpy.full((n, blocks), 2.0 ** (bits - 1))
    form = rng.random()
    if form < 0.4:
        real_zeros = rng.integers(0, 2 ** bits, (n, blocks))
        zeros = packed(real_zeros, bits)
    elif form < 0.6:
        real_zeros = zeros = values(rng, [n, blocks], low=0, high=9)
    weights = packed(numbers, bits).reshape(n, blocks, block * bits // 8)
    real = unpacked(numbers, scales, real_zeros)[:, :k]
    inputs = [values(rng, a), weights, scales, zeros]
    if rng.random() < 0.2:  # as older models have them
        inputs[2:] = [None if x is None else x.reshape(-1) for x in inputs[2:]]
    if rng.random() < 0.5:
        inputs += [None, values(rng, [n])]
    constants = {i for i in (1, 2, 3, 5) if i < len(inputs) and inputs[i] is not None}
    if rng.random() < 0.2:
        constants -= {int(rng.integers(1, 4))}
    attributes = {"K": k, "N": n, "bits": bits, "block_size": block,
                  "accuracy_level": pick(rng, [0, 4])}
    tolerance = 1e-3
    if attributes["accuracy_level"] == 4:  # A may be rounded to bytes, by the largest of a block
        largest = numpy.abs(inputs[0]).max(initial=0)
        tolerance += float(largest / 254 * numpy.abs(real).sum(axis=1).max(initial=0))

    def right(given):
        has_real = given[3] is not None and given[3].dtype == numpy.float32
        of = unpacked(numbers, given[2],
                      given[3].reshape(n, blocks) if has_real else real_zeros)[:, :k]
        bias = given[5] if len(given) > 5 else 0
        return [numpy.asarray(given[0] @ of.T + bias).astype(numpy.float32)]

    # ONNX Runtime has constants and matrices only, and some blocks, zero points and bits; where A
    # may be rounded, some of its outputs are 0
    by_numpy = (attributes["accuracy_level"] == 4 or len(a) < 2 or 0 in a or
                constants < {1, 2} or bits == 2 or scales.ndim == 1 or
                (zeros is not None and zeros.dtype == numpy.float32) or rng.random() < 0.4)
    case = halved(rng, Case(inputs, attributes, constants=constants, tolerance=tolerance,
                            expected=right if by_numpy else None))
    if case.widens is not None:  # by ONNX Runtime otherwise: in f32
        case.tolerance = tolerance + TOLERANCE[case.inputs[0].dtype.name.upper()]
    return case


@row("FusedGemm", DOMAIN)
def fused_gemm(rng):
    m, n, k = (int(rng.integers(1, 60)) for _ in range(3))
    swaps = [int(rng.integers(2)) for _ in range(2)]
    name, numbers = pick(rng, [
        ("Relu", {}), ("Tanh", {}), ("Sigmoid", {}), ("LeakyRelu", {"activation_alpha": 0.25}),
        ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4})])
    inputs = [values(rng, [k, m] if swaps[0] else [m, k]),
              values(rng, [n, k] if swaps[1] else [k, n])]
    if rng.random() < 0.7:
        inputs.append(values(rng, pick(rng, [[n], [1, n], [m, n], [m, 1], [1], []])))
    attributes = {"transA": swaps[0], "transB": swaps[1], "alpha": pick(rng, [1.0, 0.125]),
                  "beta": pick(rng, [1.0, 0.5]), "activation": name} | numbers
    return Case(inputs, attributes, constants={1} if rng.random() < 0.5 else set(), tolerance=1e-4)


@row("TransposeMatMul", DOMAIN)
def transpose_matmul(rng):
    case = fused_matmul(rng)
    # ONNX Runtime's has these two alone
    while case.attributes.pop("transBatchA") or case.attributes.pop("transBatchB"):
        case = fused_matmul(rng)
    return case


@row("FusedMatMul", DOMAIN)
def fused_matmul(rng):
    m, n, k = (0 if rng.random() < 0.04 else int(rng.integers(1, 50)) for _ in range(3))
    batch = [int(rng.integers(1, 4)) for _ in range(int(rng.integers(0, 3)))]
    shapes = [[*batch, m, k], [*batch, k, n]]
    inside = [0, 0]
    if batch and rng.random() < 0.5:
        inside = [int(rng.integers(2)) for _ in range(2)]
    elif rng.random() < 0.4:
        i = int(rng.integers(2))  # the other one's batch is repeated
        shapes[i] = shapes[i][-2:]
        if rng.random() < 0.2:
            shapes[1] = [k]
    swaps = [int(rng.integers(2)) for _ in range(2)]
    plain = [values(rng, dims) for dims in shapes]
    alpha = pick(rng, [1.0, 0.125, -2.5])
    inputs = [in_order(plain[i], swaps[i], inside[i]) for i in range(2)]
    attributes = {"alpha": alpha, "transA": swaps[0], "transB": swaps[1],
                  "transBatchA": inside[0], "transBatchB": inside[1]}
    # ONNX Runtime gets a transposed A by a vector wrong, and has no product of nothing
    by_numpy = len(shapes[1]) == 1 or 0 in (m, n, k)

    kind = numpy.float64 if rng.random() < 0.2 else numpy.float32
    if kind == numpy.float64:
        plain, inputs, by_numpy = ([x.astype(kind) / 3 for x in plain],
                                   [x.astype(kind) / 3 for x in inputs], True)

    def right(_):
        product = numpy.matmul(*(x.astype(numpy.float64) for x in plain))
        return [numpy.asarray(alpha * product).astype(kind)]

    return Case(inputs, attributes, constants={1} if rng.random() < 0.3 else set(),
                tolerance=1e-4 if kind == numpy.float32 else 1e-12,
                expected=right if by_numpy else None)


# ---- attention ----


@row("QAttention", DOMAIN)
def qattention(rng):
    batch, heads, rows, past = (int(rng.integers(1, 4)) for _ in range(4))
    rows = rows if rng.random() < 0.5 else int(rng.integers(1, 30))
    width, size, past = int(rng.integers(1, 20)), int(rng.integers(1, 20)), pick(rng, [0, past])
    kinds, columns = [pick(rng, ["UINT8", "INT8"]) for _ in range(2)], 3 * heads * size
    of_weights = pick(rng, [[], [columns]])
    inputs = [integers(rng, [batch, rows, width], kinds[0]),
              integers(rng, [width, columns], kinds[1]), values(rng, [columns]),
              values(rng, [], low=0.002, high=0.02), values(rng, of_weights, low=0.002, high=0.01),
              mask_index_of(rng, batch, rows, past) if rng.random() < 0.6 else None,
              integers(rng, [], kinds[0]) if rng.random() < 0.7 else None,
              integers(rng, of_weights, kinds[1]) if rng.random() < 0.7 else None,
              values(rng, [2, batch, heads, past, size]) if past else None]
    attributes = {"num_heads": heads}
    if rng.random() < 0.3:
        attributes["scale"] = 0.3
    if rng.random() < 0.3:
        attributes["mask_filter_value"] = -50.0
    if rng.random() < 0.3:
        attributes["unidirectional"] = 1

    def right(given):
        x, w = ((given[i].astype(numpy.float64) - (0 if zero is None else zero)) * given[3 + i]
                for i, zero in ((0, given[6]), (1, given[7])))
        real = [x.astype(numpy.float32), w.astype(numpy.float32), given[2], given[5], given[8]]
        return by_others(DOMAIN, "Attention", Case(real, attributes, n_outputs=2))

    return Case(inputs, attributes, constants={1} if rng.random() < 0.5 else set(), n_outputs=2,
                tolerance=1e-3, expected=right)


# ---- quantized ----


@row("QLinearWhere", DOMAIN)
def qlinear_where(rng):
    kind = pick(rng, ["UINT8", "INT8"])
    condition, *dims = broadcast(rng, shape(rng), 3)
    inputs = [values(rng, condition, "BOOL")]
    for one in dims:
        inputs += [integers(rng, one, kind), *quantizer(rng, kind)]
    inputs += quantizer(rng, kind)
    for i in (3, 6):
        if rng.random() < 0.2:
            inputs[i] = None

    def right(given):
        found = numpy.where(given[0], real(*given[1:4]), real(*given[4:7]))
        return [quantized(found, given[7], given[8], given[1].dtype)]

    return Case(inputs, expected=right)


@row("QLinearConv", DOMAIN)
def qlinear_conv_microsoft(rng):
    case = qlinear_conv(rng)
    if rng.random() < 0.3:
        return case
    right = case.expected(case.inputs)
    inputs = [numpy.ascontiguousarray(numpy.moveaxis(case.inputs[0], 1, -1)), *case.inputs[1:]]
    return dataclasses.replace(case, inputs=inputs, attributes=case.attributes | {
        "channels_last": 1}, expected=lambda _: [numpy.moveaxis(y, 1, -1) for y in right])


@row("NhwcMaxPool", DOMAIN)
def nhwc_max_pool(rng):
    spatial = int(rng.integers(1, 4))
    kind = pick(rng, ["UINT8", "INT8"])
    dims = [int(rng.integers(1, 4)), *(int(rng.integers(4, 9)) for _ in range(spatial)),
            int(rng.integers(1, 40))]
    attributes = {"kernel_shape": [int(rng.integers(1, 5)) for _ in range(spatial)],
                  "ceil_mode": int(rng.integers(2))}
    if rng.random() < 0.5:
        attributes["strides"] = [int(rng.integers(1, 4)) for _ in range(spatial)]
    if rng.random() < 0.5:
        attributes["pads"] = [min(int(rng.integers(2)), attributes["kernel_shape"][i % spatial] - 1)
                              for i in range(2 * spatial)]

    def right(given):
        first = numpy.ascontiguousarray(numpy.moveaxis(given[0], -1, 1))
        found = by_others("", "MaxPool", Case([first], attributes, opset=12))[0]
        return [numpy.moveaxis(found, 1, -1)]

    return Case([integers(rng, dims, kind)], attributes, expected=right)


# ---- moves ----


@row("UnfoldTensor", DOMAIN)
def unfold_tensor(rng):
    x = anything(rng, shape(rng, 1, 5))
    at = axis(rng, x.ndim)
    if x.shape[at] == 0:
        return unfold_tensor(rng)
    size, step = int(rng.integers(1, x.shape[at] + 1)), int(rng.integers(1, 4))

    def right(given):
        windows = numpy.lib.stride_tricks.sliding_window_view(given[0], size, at % x.ndim)
        return [windows.take(range(0, windows.shape[at % x.ndim], step), at % x.ndim)]

    return Case([x], {"dim": at, "size": size, "step": step}, expected=right)


# ---- what ONNX has too ----


@row("QuantizeLinear", DOMAIN)
def quantize_linear_microsoft(rng):
    case = quantize_linear(rng)
    while "block_size" in case.attributes:
        case = quantize_linear(rng)
    return case


@row("DequantizeLinear", DOMAIN)
def dequantize_linear_microsoft(rng):
    case = dequantize_linear(rng)
    while "block_size" in case.attributes:
        case = dequantize_linear(rng)
    return case


@row("Trilu", DOMAIN)
def trilu_microsoft(rng):
    case = trilu(rng)  # ONNX Runtime's lacks most types
    part = numpy.triu if case.attributes.get("upper", 1) else numpy.tril
    case.moves = False
    case.expected = lambda given: [part(given[0], int(given[1]) if len(given) > 1 else 0)]
    return case


@row("GatherND", DOMAIN)
def gather_nd_microsoft(rng):
    case = gather_nd(rng)
    while case.attributes:
        case = gather_nd(rng)
    case.inputs[1] = case.inputs[1].astype(pick(rng, [numpy.int32, numpy.int64]))
    return case


@row("Range", DOMAIN)
def range_microsoft(rng):
    case = number_range(rng)
    if rng.random() < 0.4:
        kind = case.inputs[0].dtype
        start, limit = (float(one) for one in case.inputs[:2])
        count = max(0, int(numpy.ceil(limit - start)))
        right = (start + numpy.arange(count)).astype(kind)
        case.inputs, case.constants = case.inputs[:2], case.constants - {2}
        case.expected = lambda _: [right]
    return case


@row("ExpandDims", DOMAIN)
def expand_dims(rng):
    x = anything(rng, shape(rng, 0, 5))
    at = int(rng.integers(-x.ndim - 1, x.ndim + 1))
    return Case([x, numpy.array(at, numpy.int32)], constants={1} if rng.random() < 0.5 else set(),
                expected=lambda given: [numpy.expand_dims(given[0], at)])
