"""Operators that take elements between others."""

import numpy

from case import FLOATS, NEWEST_OPSET, Case, pick, row, values

HALVES = ("FLOAT", "FLOAT16", "BFLOAT16")


@row("AffineGrid")
def affine_grid(rng):
    rank, batch = int(rng.integers(2, 4)), int(rng.integers(0 if rng.random() < 0.1 else 1, 4))
    align = int(rng.integers(2))
    theta = values(rng, [batch, rank, rank + 1], pick(rng, FLOATS))
    dims = [int(d) for d in rng.integers(1, 5, rank)]
    size = numpy.array([batch, 3, *dims])

    def right(inputs):
        axes = []
        for n in dims:
            if align:
                axes.append(numpy.linspace(-1, 1, n) if n > 1 else numpy.array([-1.0]))
            else:
                axes.append((2 * numpy.arange(n) + 1) / n - 1)
        places = numpy.meshgrid(*axes, indexing="ij")
        places = numpy.stack([*reversed(places), numpy.ones(dims)])
        moved = numpy.einsum("nik,k...->n...i", inputs[0].astype(numpy.float64), places)
        return [moved.astype(theta.dtype)]

    return Case([theta, size], {"align_corners": align}, opset=pick(rng, (20, NEWEST_OPSET)),
                constants={1} if rng.random() < 0.5 else set(), expected=right)


@row("DeformConv")
def deform_conv(rng):
    kind = pick(rng, HALVES)
    group, offset_group, per_group, out_per_group = (int(v) for v in rng.integers(1, 4, 4))
    channels, out_channels = group * offset_group * per_group, group * out_per_group
    kernel, strides, dilations = (rng.integers(1, high, 2).tolist() for high in (4, 3, 3))
    pads = rng.integers(0, 3, 4).tolist()
    image = [int(d) for d in rng.integers(1, 7, 2)]
    to = [(image[i] + pads[i] + pads[i + 2] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1
          for i in range(2)]
    if min(to) < 1:
        return deform_conv(rng)
    batch, taps = int(rng.integers(1, 3)), offset_group * kernel[0] * kernel[1]
    inputs = [values(rng, [batch, channels, *image], kind),
              values(rng, [out_channels, channels // group, *kernel], kind, -1, 1),
              values(rng, [batch, 2 * taps, *to], kind, -2, 2)]
    if rng.random() < 0.5:
        inputs.append(values(rng, [out_channels], kind) if rng.random() < 0.7 else None)
        inputs.append(values(rng, [batch, taps, *to], kind, 0, 1))
    attributes = {"group": group, "offset_group": offset_group, "strides": strides,
                  "dilations": dilations, "pads": pads}
    if rng.random() < 0.5:
        attributes["kernel_shape"] = kernel
    return Case(inputs, attributes, opset=pick(rng, (19, 22)), widens=0,
                constants={1} if rng.random() < 0.5 else set(),
                tolerance=5e-5 if kind == "FLOAT" else None)


@row("GridSample")
def grid_sample(rng):
    rank = int(rng.integers(1, 4))
    opset = pick(rng, (16, 20, 22, NEWEST_OPSET))
    align, padding = int(rng.integers(2)), pick(rng, ("zeros", "border", "reflection"))
    if opset < 20:
        rank, mode = 2, pick(rng, ("bilinear", "nearest", "bicubic"))
    else:
        mode = pick(rng, ("linear", "nearest", "cubic"))
    if "cubic" in mode and padding == "border":
        # ONNX's reference differs: grid_sample.c says where; ONNX Runtime has two dimensions only
        rank, opset = 2, min(opset, 22)
    dims = [0 if rng.random() < 0.05 and padding == "zeros" else int(d)
            for d in rng.integers(2 if align else 1, 5, rank)]
    batch, channels = int(rng.integers(1, 3)), int(rng.integers(1, 4))
    to = [0 if rng.random() < 0.05 else int(d) for d in rng.integers(1, 7, rank)]
    # ONNX Runtime has f64 from opset 20 on, for both
    x = values(rng, [batch, channels, *dims], pick(rng, HALVES if opset < 20 else FLOATS))
    wide = x.dtype.name == "float64"
    grid = values(rng, [batch, *to, rank], "DOUBLE" if wide else pick(rng, HALVES), -2, 2)
    case = Case([x, grid], {"mode": mode, "padding_mode": padding, "align_corners": align},
                opset=opset, widens=0, tolerance=2e-5 if wide else None)
    if 0 in dims or 0 in to:
        case.expected = lambda _: [numpy.zeros([batch, channels, *to], x.dtype)]
        case.widens = None
    return case


@row("GridSample", "com.microsoft")
def grid_sample_microsoft(rng):
    batch, channels, height, width = (int(d) for d in rng.integers(1, 7, 4))
    align, padding = int(rng.integers(2)), pick(rng, ("zeros", "border", "reflection"))
    dims = [height + align, width + align]  # at least two places to align
    x = values(rng, [batch, channels, *dims], pick(rng, HALVES))
    to = [0 if rng.random() < 0.05 else int(d) for d in rng.integers(1, 7, 2)]
    grid = values(rng, [batch, *to, 2], pick(rng, HALVES), -2, 2)
    case = Case([x, grid], {"mode": pick(rng, ("bilinear", "nearest", "bicubic")),
                            "padding_mode": padding, "align_corners": align}, widens=0)
    if 0 in to:
        case.expected = lambda _: [numpy.zeros([batch, channels, *to], x.dtype)]
        case.widens = None
    return case


def largest_of_regions(x, places, pooled, scale):
    """MaxRoiPool of f64, which ONNX Runtime lacks."""
    to = numpy.zeros([len(places), x.shape[1], *pooled])
    for n, place in enumerate(places):
        low, high = (numpy.floor(abs(at) + 0.5) * numpy.sign(at)
                     for at in (place[[2, 1]] * scale, place[[4, 3]] * scale))
        step = numpy.maximum(high - low + 1, 1) / pooled
        for bin_at in numpy.ndindex(*pooled):
            first = numpy.clip(numpy.floor(bin_at * step) + low, 0, x.shape[2:]).astype(int)
            end = numpy.clip(numpy.ceil((numpy.array(bin_at) + 1) * step) + low, 0, x.shape[2:])
            part = x[int(place[0]), :, first[0]:int(end[0]), first[1]:int(end[1])]
            if part.size:
                to[(n, slice(None), *bin_at)] = part.max(axis=(1, 2))
    return to


@row("MaxRoiPool")
def max_roi_pool(rng):
    batch, channels, height, width = (int(d) for d in rng.integers(1, 7, 4))
    regions = 0 if rng.random() < 0.05 else int(rng.integers(1, 5))
    scale = pick(rng, (1.0, 0.5, 2.0))
    x = values(rng, [batch, channels, height, width], pick(rng, FLOATS))
    corners = rng.uniform(-2, 8, (regions, 2, 2)) / scale
    if rng.random() < 0.9:  # else it may end before it begins
        corners.sort(axis=1)
    batches = rng.integers(0, batch, (regions, 1))
    places = numpy.concatenate([batches, corners.reshape(regions, 4)], axis=1).astype(x.dtype)
    pooled = rng.integers(1, 4, 2).tolist()
    case = Case([x, places], {"pooled_shape": pooled, "spatial_scale": scale},
                opset=pick(rng, (7, 13, 21)), widens=0)
    if x.dtype == numpy.float64:
        case.expected = lambda inputs: [largest_of_regions(*inputs, pooled, scale)]
    return case


@row("RoiAlign")
def roi_align(rng):
    opset = pick(rng, (10, 16, 22, NEWEST_OPSET))
    batch, channels, height, width = (int(d) for d in rng.integers(1, 6, 4))
    regions = 0 if rng.random() < 0.05 else int(rng.integers(1, 5))
    scale = pick(rng, (1.0, 0.5, 2.0))
    x = values(rng, [batch, channels, height, width], pick(rng, FLOATS))
    corners = rng.uniform(-2, 6, (regions, 2, 2)) / scale
    if rng.random() < 0.9:  # else it may end before it begins
        corners.sort(axis=1)
    corners = corners.reshape(regions, 4).astype(x.dtype)
    attributes = {"mode": pick(rng, ("avg", "max")), "spatial_scale": scale,
                  "output_height": int(rng.integers(1, 4)),
                  "output_width": int(rng.integers(1, 4)),
                  "sampling_ratio": 9 if rng.random() < 0.1 else int(rng.integers(0, 4))}
    if rng.random() < 0.1:
        attributes["output_width"] = 30  # more samples along it than are kept
    if opset >= 16:
        attributes["coordinate_transformation_mode"] = pick(
            rng, ("half_pixel", "output_half_pixel"))
    return Case([x, corners, rng.integers(0, batch, regions)], attributes, opset=opset, widens=0)
