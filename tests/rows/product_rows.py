"""Products of matrices and convolutions of real numbers."""

from case import Case, doubled, halved, pick, row, values
from integer_rows import convolution, matrices, some_constants


@row("MatMul")
def matmul(rng):
    a, b = matrices(rng)
    case = Case([values(rng, a, low=-1, high=1), values(rng, b, low=-1, high=1)],
                constants=some_constants(rng, [1]), tolerance=1e-4)
    if 0 in b:  # sums of nothing, which ONNX Runtime leaves as memory was
        case.expected = lambda inputs: [inputs[0] @ inputs[1]]
    kind = pick(rng, ["DOUBLE", "INT32", "UINT32", "INT64", "UINT64"])
    if rng.random() < 0.3:  # integers wrap around
        case.inputs = [values(rng, dims, kind, special=0 if kind == "DOUBLE" else 0.1)
                       for dims in (a, b)]
        case.tolerance = 1e-12
        return case
    return halved(rng, case)


@row("Gemm")
def gemm(rng):
    m, k, n = (int(rng.integers(1, 60)) for _ in range(3))
    trans_a, trans_b = int(rng.integers(0, 2)), int(rng.integers(0, 2))
    inputs = [values(rng, [k, m] if trans_a else [m, k], low=-1, high=1),
              values(rng, [n, k] if trans_b else [k, n], low=-1, high=1)]
    bias = pick(rng, [None, [n], [1, n], [m, n], [m, 1], [1]])
    if bias is not None:
        inputs.append(values(rng, bias))
    attributes = {"transA": trans_a, "transB": trans_b, "alpha": pick(rng, [1.0, 0.5]),
                  "beta": pick(rng, [1.0, 2.0])}
    case = Case(inputs, attributes, some_constants(rng, range(1, len(inputs))), tolerance=1e-4)
    return doubled(rng, case, beta=pick(rng, [1.0, 0.3, 0.0])) or halved(rng, case)


@row("Conv")
def conv(rng):
    x, w, attributes = convolution(rng)
    inputs = [values(rng, x, low=-1, high=1), values(rng, w, low=-1, high=1)]
    if rng.random() < 0.5:
        inputs.append(values(rng, w[:1]))
    return halved(rng, Case(inputs, attributes, some_constants(rng, range(1, len(inputs))),
                            tolerance=1e-4))


@row("ConvTranspose")
def conv_transpose(rng):
    spatial, groups = int(rng.integers(1, 4)), pick(rng, [1, 1, 2, 3])
    channels, outputs = (groups * int(rng.integers(1, 9)) for _ in range(2))
    x = [int(rng.integers(1, 3)), channels, *(int(rng.integers(2, 7)) for _ in range(spatial))]
    w = [channels, outputs // groups, *(int(rng.integers(1, 4)) for _ in range(spatial))]
    attributes = {"group": groups}
    if rng.random() < 0.5:
        attributes["strides"] = [int(rng.integers(1, 4)) for _ in range(spatial)]
    if rng.random() < 0.5:
        attributes["pads"] = [int(rng.integers(0, (size - 1) // 2 + 1)) for size in w[2:]] * 2
    inputs = [values(rng, x, low=-1, high=1), values(rng, w, low=-1, high=1)]
    if rng.random() < 0.5:
        inputs.append(values(rng, [outputs]))
    return halved(rng, Case(inputs, attributes, some_constants(rng, range(1, len(inputs))),
                            tolerance=1e-4))
