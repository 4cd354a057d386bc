"""Models that find things in pictures, with what chooses among boxes inside: YOLO (as Ultralytics
has it), SSD (arXiv:1512.02325) from TensorFlow with a Loop over the images, and Mask R-CNN
(arXiv:1703.06870) with RoiAlign on two levels."""

import math

import numpy

from .builder import BOOL, FLOAT, INT64, LAST
from .convnets import max_pool, picture, pictures
from .model import numbers, spelled


# ---- YOLO ----

def cbs(b, x, n_in, n_out, kernel=1, stride=1):
    return b.silu(b.conv(x, n_in, n_out, kernel, stride=stride))


def c2f(b, x, n_in, n, shortcut=True):
    """Half of the channels through bottlenecks; every result is kept."""
    parts = b.split(cbs(b, x, n_in, n), [n // 2, n // 2], 1)
    y = cbs(b, cbs(b, parts[1], n // 2, n // 2, 3), n // 2, n // 2, 3)
    parts.append(b.op("Add", parts[1], y) if shortcut else y)
    return cbs(b, b.op("Concat", *parts, axis=1), 3 * n // 2, n)


def yolo(b, scale):
    b.gain = 1.6
    kinds, bins = 8, 16
    wide = 16 * scale
    x = cbs(b, cbs(b, picture(b), 3, wide, 3, 2), wide, 2 * wide, 3, 2)
    x = c2f(b, x, 2 * wide, 2 * wide)
    fine = c2f(b, cbs(b, x, 2 * wide, 4 * wide, 3, 2), 4 * wide, 4 * wide)
    low = c2f(b, cbs(b, fine, 4 * wide, 8 * wide, 3, 2), 8 * wide, 8 * wide)
    pools = [cbs(b, low, 8 * wide, 4 * wide)]
    for _ in range(3):
        pools.append(max_pool(b, pools[-1], 5, 1, 2))
    low = cbs(b, b.op("Concat", *pools, axis=1), 16 * wide, 8 * wide)
    up = b.op("Resize", low, None, [1.0, 1.0, 2.0, 2.0], mode="nearest", nearest_mode="floor",
              coordinate_transformation_mode="asymmetric", cubic_coeff_a=-0.75)
    fine = c2f(b, b.op("Concat", up, fine, axis=1), 12 * wide, 4 * wide, shortcut=False)
    down = b.op("Concat", cbs(b, fine, 4 * wide, 4 * wide, 3, 2), low, axis=1)
    low = c2f(b, down, 12 * wide, 8 * wide, shortcut=False)

    flat, anchors, strides = [], [], []
    for level, channels, stride in ((fine, 4 * wide, 8.0), (low, 8 * wide, 16.0)):
        box = b.conv(cbs(b, level, channels, 32, 3), 32, 4 * bins)
        kind = b.conv(cbs(b, level, channels, 32, 3), 32, kinds)
        n, h, w = b.size(level, 0), b.size(level, 2), b.size(level, 3)
        flat.append(b.view(b.op("Concat", box, kind, axis=1), n, kinds + 4 * bins, -1))
        across = b.op("Add", b.op("Cast", b.arange(w), to=FLOAT), 0.5)
        along = b.op("Add", b.op("Cast", b.arange(h), to=FLOAT), 0.5)
        rows = b.expand(b.view(along, -1, 1), h, w)
        columns = b.expand(b.view(across, 1, -1), h, w)
        both = b.op("Concat", *(b.unsqueeze(one, 2) for one in (columns, rows)), axis=-1)
        anchors.append(b.view(both, -1, 2))
        strides.append(b.expand(stride, b.op("Mul", h, w), 1))
    anchors = b.unsqueeze(b.op("Transpose", b.op("Concat", *anchors, axis=0), perm=[1, 0]), 0)
    strides = b.op("Transpose", b.op("Concat", *strides, axis=0), perm=[1, 0])
    box, kind = b.split(b.op("Concat", *flat, axis=2), [4 * bins, kinds], 1)
    n, count = b.size(box, 0), b.size(box, 2)
    box = b.op("Transpose", b.view(box, n, 4, bins, count), perm=[0, 2, 1, 3])
    box = b.op("Softmax", box, axis=1)
    mean = numpy.arange(bins, dtype=numpy.float32).reshape(1, bins, 1, 1)
    box = b.op("Conv", box, b.initializer(mean), dilations=[1, 1], group=1, kernel_shape=[1, 1],
               pads=[0] * 4, strides=[1, 1])
    before, after = b.split(b.view(box, n, 4, count), [2, 2], 1)
    box = b.op("Concat", b.op("Sub", anchors, before), b.op("Add", anchors, after), axis=1)
    box = b.op("Mul", box, strides)
    scores = b.op("Sigmoid", kind)

    boxes = b.op("Transpose", box, perm=[0, 2, 1])
    chosen = b.op("NonMaxSuppression", boxes, scores, [20], [0.45], [0.6])
    image, _, place = (b.slice(chosen, 1, i, i + 1, 1) for i in range(3))
    b.output(b.op("GatherND", boxes, b.op("Concat", image, place, axis=1)), FLOAT, ["k", 4])
    b.output(b.op("GatherND", scores, chosen), FLOAT, ["k"])
    b.output(b.slice(chosen, 1, 0, 2, 1), INT64, ["k", 2])
    return b.model()


# ---- SSD ----

def clipped(b, x):
    return b.op("Clip", x, 0.0, 6.0)


def anchors_of(sides, per):
    """Boxes (y, x, h, w) around the points of square grids, with `per` shapes."""
    made = []
    for side, size in sides:
        for y in range(side):
            for x in range(side):
                for i in range(per):
                    stretch = (1, 2, 0.5)[i % 3] ** 0.5
                    made.append([(y + 0.5) / side, (x + 0.5) / side, size / stretch,
                                 size * stretch])
    return numpy.array(made, numpy.float32)


def ssd(b, scale):
    """Channels last at both ends; what the images' best boxes are is asked in a Loop over them."""
    kinds, per, most = 6, 3, 20
    x = b.input("image", FLOAT, ["n", 96, 96, 3])
    x = b.op("Sub", b.op("Mul", x, 2 / 255), 1.0)
    channels = 16 * scale
    x = clipped(b, b.conv(b.first(x), 3, channels, 3, stride=2, pad=[0, 0, 1, 1]))
    levels = []
    for out, stride in ((24, 2), (48, 2), (48, 1), (96, 2), (96, 1)):
        out *= scale
        pad = [0, 0, 1, 1] if stride == 2 else None
        if stride == 2 and out > 48 * scale:
            levels.append((x, channels))
        x = clipped(b, b.conv(x, channels, channels, 3, stride=stride, groups=channels, pad=pad))
        x = clipped(b, b.conv(x, channels, out))
        channels = out
    levels.append((x, channels))
    boxes, scores = [], []
    for level, wide in levels:
        for found, each in ((boxes, 4), (scores, kinds + 1)):
            made = b.last(b.conv(level, wide, per * each, 3))
            found.append(b.view(made, b.size(made, 0), -1, each))
    codes = b.op("Concat", *boxes, axis=1)
    scores = b.op("Sigmoid", b.op("Concat", *scores, axis=1))
    anchors = anchors_of(((12, 0.2), (6, 0.45)), per)
    centre, size = b.split(codes, [2, 2], 2)
    centre = b.op("Add", b.op("Mul", b.op("Mul", centre, 0.1), anchors[:, 2:]), anchors[:, :2])
    half = b.op("Mul", b.op("Mul", b.op("Exp", b.op("Mul", size, 0.2)), anchors[:, 2:]), 0.5)
    boxes = b.op("Concat", b.op("Sub", centre, half), b.op("Add", centre, half), axis=2)
    boxes = b.op("Max", b.op("Min", boxes, 1.0), 0.0)
    scores = b.slice(scores, 2, 1, LAST)

    body = b.body("each_image")
    turn = body.input("image_number", INT64, [])
    go_on = body.input("image_cond", BOOL, [])
    mine, these = body.op("Gather", boxes, turn, axis=0), body.op("Gather", scores, turn, axis=0)
    turned = body.op("Unsqueeze", body.op("Transpose", these, perm=[1, 0]), [0])
    chosen = body.op("NonMaxSuppression", body.op("Unsqueeze", mine, [0]), turned, [8], [0.5],
                     [0.65])
    best = body.op("GatherND", these, body.op("Concat", body.slice(chosen, 1, 2, 3),
                                              body.slice(chosen, 1, 1, 2), axis=1))
    count = body.op("Min", body.op("Shape", best), [most])
    values, order = body.op("TopK", best, count, n=2, axis=0, largest=1, sorted=1)
    chosen = body.op("Gather", chosen, order, axis=0)
    place = body.op("Squeeze", body.slice(chosen, 1, 2, 3), [1])
    kind = body.op("Squeeze", body.slice(chosen, 1, 1, 2), [1])
    left = body.op("Sub", [most], count)
    padded = body.op("Pad", body.op("Gather", mine, place, axis=0),
                     body.op("Concat", [0, 0], left, [0], axis=0))
    sides = body.op("Concat", [0], left, axis=0)
    body.output(body.op("Identity", go_on), BOOL, [])
    body.output(padded, FLOAT, [most, 4])
    body.output(body.op("Pad", values, sides), FLOAT, [most])
    body.output(body.op("Pad", body.op("Cast", kind, to=FLOAT), sides), FLOAT, [most])
    body.output(body.op("Cast", body.op("Squeeze", count, [0]), to=FLOAT), FLOAT, [])
    n = b.op("Cast", b.size(boxes, 0), to=INT64)
    made = b.op("Loop", n, numpy.array(True), n=4, body=body.graph())
    for one, shape in zip(made, ([most, 4], [most], [most], [])):
        b.output(one, FLOAT, ["n", *shape])
    return b.model()


# ---- Mask R-CNN ----

def corners(b, anchors, codes):
    """Boxes (x0, y0, x1, y1) from anchors and what is said of their centres and sizes."""
    x0, y0, x1, y1 = (b.slice(anchors, 1, i, i + 1, 1) for i in range(4))
    dx, dy, dw, dh = (b.slice(codes, 1, i, i + 1, 1) for i in range(4))
    limit = math.log(1000 / 16)
    made = []
    for start, end, moved, size in ((x0, x1, dx, dw), (y0, y1, dy, dh)):
        wide = b.op("Sub", end, start)
        centre = b.op("Add", start, b.op("Mul", 0.5, wide))
        centre = b.op("Add", b.op("Mul", moved, wide), centre)
        half = b.op("Mul", 0.5, b.op("Mul", b.op("Exp", b.op("Clip", size, None, limit)), wide))
        made.append((b.op("Sub", centre, half), b.op("Add", centre, half)))
    return b.op("Concat", made[0][0], made[1][0], made[0][1], made[1][1], axis=1)


def grid_anchors(b, level, stride, size):
    h, w = b.size(level, 2), b.size(level, 3)
    columns = b.op("Mul", b.op("Cast", b.arange(w), to=FLOAT), float(stride))
    rows = b.op("Mul", b.op("Cast", b.arange(h), to=FLOAT), float(stride))
    x = b.view(b.expand(b.view(columns, 1, -1), h, w), -1)
    y = b.view(b.expand(b.view(rows, -1, 1), h, w), -1)
    points = b.op("Concat", *(b.unsqueeze(one, 1) for one in (x, y, x, y)), axis=1)
    shapes = [[-size * r / 2, -size / r / 2, size * r / 2, size / r / 2] for r in (0.7, 1.0, 1.4)]
    return b.view(b.op("Add", b.unsqueeze(points, 1), b.unsqueeze(b.constant(shapes), 0)), -1, 4)


def from_levels(b, levels, boxes, out, channels):
    """RoiAlign of each box on the level that fits its size; the others' rows are filled in turn."""
    sides = [b.op("Sub", b.slice(boxes, 1, i + 2, i + 3, 1), b.slice(boxes, 1, i, i + 1, 1))
             for i in range(2)]
    area = b.op("Squeeze", b.op("Mul", *sides), [1])
    size = b.op("Div", b.op("Log", b.op("Add", b.op("Div", b.op("Sqrt", area), 24.0), 1e-6)),
                math.log(2))
    where = b.op("Cast", b.op("Clip", b.op("Floor", size), 0.0, 1.0), to=INT64)
    count = b.size(boxes, 0)
    result = b.filled(b.dims(count, channels, out, out))
    for i, (level, stride) in enumerate(levels):
        rows = b.op("Transpose", b.op("NonZero", b.op("Equal", where, i)), perm=[1, 0])
        rows = b.op("Squeeze", rows, [1])
        mine = b.op("Gather", boxes, rows, axis=0)
        images = b.filled(b.op("Shape", rows), 0)
        aligned = b.op("RoiAlign", level, mine, images, output_height=out, output_width=out,
                       coordinate_transformation_mode="output_half_pixel", sampling_ratio=2,
                       mode="avg", spatial_scale=1 / stride)
        result = b.op("ScatterND", result, b.unsqueeze(rows, 1), aligned)
    return result


def mask_rcnn(b, scale):
    wide, kept, kinds = 32 * scale, 24, 7
    x = b.input("picture", FLOAT, [1, 3, "h", "w"])
    height, width = b.size(x, 2), b.size(x, 3)
    x = b.op("Relu", b.conv(x, 3, wide, 7, stride=2))
    x = max_pool(b, x, 3, 2, 1)
    fine = b.op("Relu", b.conv(x, wide, wide, 3, stride=2))
    low = b.op("Relu", b.conv(fine, wide, 2 * wide, 3, stride=2))
    low = b.conv(low, 2 * wide, wide)
    size = b.op("Slice", b.op("Shape", fine), [2], [4], [0])
    kept_dims = b.op("Slice", b.op("Shape", low), [0], [2], [0])
    up = b.op("Resize", low, None, None, b.op("Concat", kept_dims, size, axis=0), mode="nearest",
              coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    fine = b.conv(b.op("Add", b.conv(fine, wide, wide), up), wide, wide, 3)
    levels = [(fine, 8), (low, 16)]

    filters = [b.weight(wide, wide, 3, 3, fan_in=9 * wide), b.weight(3, wide, 1, 1, fan_in=wide),
               b.weight(12, wide, 1, 1, fan_in=wide, gain=0.3)]
    biases = [b.bias(wide), b.bias(3), b.bias(12)]
    boxes, scores = [], []
    for level, stride in levels:
        h = b.op("Relu", b.op("Conv", level, filters[0], biases[0], kernel_shape=[3, 3],
                              pads=[1] * 4, strides=[1, 1], dilations=[1, 1], group=1))
        made = []
        for i, each in ((1, 1), (2, 4)):
            y = b.op("Conv", h, filters[i], biases[i], kernel_shape=[1, 1], pads=[0] * 4,
                     strides=[1, 1], dilations=[1, 1], group=1)
            y = b.view(y, 1, 3, each, b.size(y, 2), b.size(y, 3))
            made.append(b.view(b.op("Transpose", y, perm=[0, 3, 4, 1, 2]), -1, each))
        score = b.view(made[0], -1)
        most = b.op("Min", b.op("Shape", score), [60])
        best, order = b.op("TopK", score, most, n=2, axis=0, largest=1, sorted=1)
        anchors = b.op("Gather", grid_anchors(b, level, stride, 3.0 * stride), order, axis=0)
        boxes.append(corners(b, anchors, b.op("Gather", made[1], order, axis=0)))
        scores.append(best)
    boxes, scores = b.op("Concat", *boxes, axis=0), b.op("Sigmoid", b.op("Concat", *scores, axis=0))
    x = b.op("Clip", b.slice(boxes, 1, 0, LAST, 2), 0.0, b.op("Cast", width, to=FLOAT))
    y = b.op("Clip", b.slice(boxes, 1, 1, LAST, 2), 0.0, b.op("Cast", height, to=FLOAT))
    parts = [b.slice(one, 1, i, i + 1, 1) for i in (0, 1) for one in (x, y)]
    boxes = b.op("Concat", *parts, axis=1)
    chosen = b.op("NonMaxSuppression", b.unsqueeze(boxes, 0), b.unsqueeze(scores, 0, 1), [LAST],
                  [0.7])
    place = b.op("Squeeze", b.op("Gather", chosen, [2], axis=1), [1])
    boxes = b.op("Gather", boxes, b.op("Slice", place, [0], [kept], [0], [1]), axis=0)

    h = b.op("Flatten", from_levels(b, levels, boxes, 7, wide), axis=1)
    for n_in in (49 * wide, 128):
        h = b.op("Relu", b.op("Gemm", h, b.weight(128, n_in, fan_in=n_in, gain=1.3), b.bias(128),
                              alpha=1.0, beta=1.0, transB=1))
    kind = b.op("Softmax", b.linear(h, 128, kinds), axis=-1)
    code = b.op("Mul", b.linear(h, 128, 4), 0.2)
    mask = from_levels(b, levels, boxes, 14, wide)
    for _ in range(2):
        mask = b.op("Relu", b.conv(mask, wide, wide, 3))
    mask = b.op("Relu", b.op("ConvTranspose", mask, b.weight(wide, wide, 2, 2, fan_in=wide),
                             b.bias(wide), kernel_shape=[2, 2], strides=[2, 2], pads=[0] * 4,
                             dilations=[1, 1], group=1))
    mask = b.op("Sigmoid", b.conv(mask, wide, kinds))
    label = b.op("ArgMax", kind, axis=1, keepdims=0)
    order = b.op("Range", 0, b.size(mask, 0), 1)
    places = b.op("Concat", b.unsqueeze(order, 1), b.unsqueeze(label, 1), axis=1)
    b.output(corners(b, boxes, code), FLOAT, ["k", 4])
    b.output(kind, FLOAT, ["k", kinds])
    b.output(b.unsqueeze(b.op("GatherND", mask, places), 1), FLOAT, ["k", 1, 28, 28])
    return b.model()


MODELS = [
    *spelled("yolo", yolo, pictures((1, 192, 256), (2, 96, 64), (1, 32, 32)), "torch17",
             "dynamo18"),
    *spelled("ssd", ssd, [{"image": numbers(n, 96, 96, 3, low=0, high=255)} for n in (1, 3, 2)],
             "tf13"),
    *spelled("mask_rcnn", mask_rcnn, pictures((1, 224, 256), (1, 96, 96), (1, 71, 133)), "torch17",
             "dynamo18"),
]
