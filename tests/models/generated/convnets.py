"""Pictures by convolutions: ResNet (arXiv:1512.03385), MobileNetV3 (arXiv:1905.02244), EfficientNet
(arXiv:1905.11946), ConvNeXt (arXiv:2201.03545), UNet with GroupNormalization."""

from .builder import FLOAT
from .model import numbers, spelled


def picture(b, name="picture"):
    return b.input(name, FLOAT, ["n", 3, "h", "w"])


def classified(b, x, n_in, classes=50):
    """Flatten keeps the batch, then a Gemm."""
    x = b.op("Flatten", x, axis=1)
    x = b.op("Gemm", x, b.weight(classes, n_in, fan_in=n_in), b.bias(classes), alpha=1.0, beta=1.0,
             transB=1)
    b.output(x, FLOAT, ["n", classes])
    return b.model()


def max_pool(b, x, kernel, stride, pad):
    return b.op("MaxPool", x, ceil_mode=0, dilations=[1, 1], kernel_shape=[kernel] * 2,
                pads=[pad] * 4, strides=[stride] * 2)


# ---- ResNet ----

def resnet(b, scale, normalizations=False):
    """Bottlenecks. Its exporters fold BatchNormalization into the convolutions, or leave it."""
    def conv(x, *sizes, **options):
        if not normalizations:
            return b.conv(x, *sizes, **options)
        return b.batch_norm(b.conv(x, *sizes, bias=False, **options), sizes[1])

    wide = 40 * scale
    x = b.op("Relu", conv(picture(b), 3, wide, 7, stride=2))
    x = max_pool(b, x, 3, 2, 1)
    channels = wide
    for stage, blocks in enumerate((2, 2, 2)):
        inner, outer = wide << stage, (wide << stage) * 4
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = b.op("Relu", conv(x, channels, inner))
            y = b.op("Relu", conv(y, inner, inner, 3, stride=stride))
            y = conv(y, inner, outer)
            if not block:
                x = conv(x, channels, outer, stride=stride)
            x = b.op("Relu", b.op("Add", y, x))
            channels = outer
    if normalizations:
        x = b.reduce("ReduceMean", x, [-1, -2])
    else:
        x = b.op("GlobalAveragePool", x)
    return classified(b, x, channels)


def resnet_normalized(b, scale):
    return resnet(b, scale, normalizations=True)


# ---- MobileNetV3 ----

def squeezed(b, x, n, inner):
    """Each channel by what all of the picture says of it."""
    s = b.op("Relu", b.conv(b.op("GlobalAveragePool", x), n, inner))
    return b.op("Mul", b.op("HardSigmoid", b.conv(s, inner, n), alpha=1 / 6), x)


def mobilenet_v3(b, scale):
    b.gain = 1.6
    channels = 16 * scale
    x = b.op("HardSwish", b.conv(picture(b), 3, channels, 3, stride=2))
    # kernel, expansion, out, squeezed, activation, stride
    for kernel, times, out, se, kind, stride in (
            (3, 1, 16, True, "Relu", 2), (3, 4, 24, False, "Relu", 2), (3, 4, 24, False, "Relu", 1),
            (5, 4, 40, True, "HardSwish", 2), (5, 6, 40, True, "HardSwish", 1),
            (5, 3, 48, True, "HardSwish", 1)):
        out, wide = out * scale, channels * times
        y = b.op(kind, b.conv(x, channels, wide)) if times > 1 else x
        y = b.op(kind, b.conv(y, wide, wide, kernel, stride=stride, groups=wide))
        y = squeezed(b, y, wide, max(8, wide // 4)) if se else y
        y = b.conv(y, wide, out)
        x = b.op("Add", y, x) if stride == 1 and out == channels else y
        channels = out
    x = b.op("GlobalAveragePool", b.op("HardSwish", b.conv(x, channels, 6 * channels)))
    x = b.op("Flatten", x, axis=1)
    hidden = 256 * scale
    x = b.op("HardSwish", b.op("Gemm", x, b.weight(hidden, 6 * channels, fan_in=6 * channels),
                               b.bias(hidden), alpha=1.0, beta=1.0, transB=1))
    return classified(b, x, hidden)


# ---- EfficientNet ----

def efficientnet(b, scale):
    """From Keras: it is given channels last; a stride of 2 is padded at the end alone, and what
    squeezes asks for means with their dimensions, around which Transposes stay."""
    b.gain = 1.6
    x = b.input("image", FLOAT, ["n", "h", "w", 3])
    x = b.op("Sub", b.op("Mul", x, 1 / 255), [0.485, 0.456, 0.406])
    channels = 16 * scale
    x = b.silu(b.conv(b.first(x), 3, channels, 3, stride=2, pad=[0, 0, 1, 1]))
    for kernel, times, out, stride in ((3, 1, 16, 1), (3, 6, 24, 2), (3, 6, 24, 1), (5, 6, 40, 2),
                                       (5, 6, 40, 1)):
        out, wide = out * scale, channels * times
        y = b.silu(b.conv(x, channels, wide)) if times > 1 else x
        before, after = (kernel - 2) // 2, (kernel - 1) // 2
        pad = [before, before, after, after] if stride == 2 else None
        y = b.silu(b.conv(y, wide, wide, kernel, stride=stride, groups=wide, pad=pad))
        s = b.reduce("ReduceMean", b.last(y), [1, 2], keepdims=0)
        n = b.size(s, 0)
        s = b.first(b.view(s, n, 1, 1, wide))
        s = b.conv(b.silu(b.conv(s, wide, max(4, wide // 12))), max(4, wide // 12), wide)
        y = b.conv(b.op("Mul", b.op("Sigmoid", s), y), wide, out)
        x = b.op("Add", y, x) if stride == 1 and out == channels else y
        channels = out
    x = b.last(b.silu(b.conv(x, channels, 8 * channels)))
    x = b.reduce("ReduceMean", x, [1, 2], keepdims=0)
    x = b.op("MatMul", x, b.weight(8 * channels, 50, fan_in=8 * channels))
    b.output(b.op("Softmax", b.op("Add", x, b.bias(50)), axis=-1), FLOAT, ["n", 50])
    return b.model()


# ---- ConvNeXt ----

def convnext(b, scale):
    """Its convolutions are channels first, its normalization and linear layers channels last."""
    def last(x):
        return b.op("Transpose", x, perm=[0, 2, 3, 1])

    def first(x):
        return b.op("Transpose", x, perm=[0, 3, 1, 2])

    channels = 48 * scale
    x = b.conv(picture(b), 3, channels, 4, stride=4, pad=0)
    x = first(b.layer_norm(last(x), channels, 1e-6))
    for stage in range(3):
        if stage:
            # Over channels that come first it is always written out.
            x = b.spelled_norm(x, channels, 1e-6, axis=1, shape=(channels, 1, 1))
            x = b.conv(x, channels, 2 * channels, 2, stride=2, pad=0)
            channels *= 2
        for _ in range(2):
            y = last(b.conv(x, channels, channels, 7, groups=channels))
            y = b.linear(b.layer_norm(y, channels, 1e-6), channels, 4 * channels)
            y = b.linear(b.gelu(y), 4 * channels, channels)
            y = first(b.op("Mul", b.scale(channels), y))
            x = b.op("Add", y, x)
    x = b.op("GlobalAveragePool", x)
    x = b.layer_norm(last(x), channels, 1e-6)
    return classified(b, x, channels)


# ---- UNet ----

def unet(b, scale):
    """As diffusion has it: what is normalized in groups, SiLU, a number that says the time, and
    attention where the picture is smallest."""
    def block(x, time, n_in, n_out):
        y = b.conv(b.silu(b.group_norm(x, n_in, 8)), n_in, n_out, 3)
        shift = b.unsqueeze(b.linear(b.silu(time), 64, n_out), 2, 3)
        y = b.op("Add", y, shift)
        y = b.conv(b.silu(b.group_norm(y, n_out, 8)), n_out, n_out, 3)
        return b.op("Add", x if n_in == n_out else b.conv(x, n_in, n_out), y)

    wide = 32 * scale
    x, when = picture(b), b.input("time", FLOAT, ["n", 1])
    time = b.linear(b.silu(b.linear(when, 1, 64)), 64, 64)
    x = b.conv(x, 3, wide, 3)
    fine = block(x, time, wide, wide)
    middle = block(b.conv(fine, wide, wide, 3, stride=2), time, wide, 2 * wide)
    low = block(b.conv(middle, 2 * wide, 2 * wide, 3, stride=2), time, 2 * wide, 2 * wide)

    n, h, w = b.size(low, 0), b.size(low, 2), b.size(low, 3)
    flat = b.op("Transpose", b.view(b.group_norm(low, 2 * wide, 8), n, 2 * wide, -1),
                perm=[0, 2, 1])
    q, k, v = (b.linear(flat, 2 * wide, 2 * wide) for _ in range(3))
    scores = b.op("MatMul", q, b.op("Transpose", k, perm=[0, 2, 1]))
    weights = b.op("Softmax", b.op("Mul", scores, (2 * wide) ** -0.5), axis=-1)
    mixed = b.op("Transpose", b.linear(b.op("MatMul", weights, v), 2 * wide, 2 * wide),
                 perm=[0, 2, 1])
    low = b.op("Add", b.view(mixed, n, 2 * wide, h, w), low)

    for skip, n_skip, n_out in ((middle, 2 * wide, wide), (fine, wide, wide)):
        n_in = 2 * wide if skip == middle else wide
        # To the size of what it is put beside, which need not be twice its own.
        size = b.dims(b.size(low, 0), n_in, b.size(skip, 2), b.size(skip, 3))
        up = b.op("Resize", low, None, None, size, mode="nearest", nearest_mode="floor",
                  coordinate_transformation_mode="asymmetric")
        low = block(b.op("Concat", b.conv(up, n_in, n_in, 3), skip, axis=1), time, n_in + n_skip,
                    n_out)
    x = b.conv(b.silu(b.group_norm(low, wide, 8)), wide, 3, 3)
    b.output(x, FLOAT, ["n", 3, "h", "w"])
    return b.model()


# ---- requests ----

def pictures(*shapes):
    return [{"picture": numbers(n, 3, h, w)} for n, h, w in shapes]


SIZES = pictures((1, 160, 160), (2, 96, 112), (1, 33, 50))
UNET_SIZES = [{**size, "time": numbers(size["picture"][1][0], 1)}
              for size in pictures((1, 48, 64), (2, 16, 16), (1, 19, 27))]

MODELS = [
    *spelled("resnet", resnet, SIZES, "torch17"),
    *spelled("resnet_normalized", resnet_normalized, SIZES, "dynamo18"),
    *spelled("mobilenet_v3", mobilenet_v3, SIZES, "torch17", "dynamo18"),
    *spelled("efficientnet", efficientnet,
             [{"image": numbers(n, h, w, 3, low=0, high=255)}
              for n, h, w in ((1, 160, 160), (2, 96, 112), (1, 34, 50))], "tf13"),
    *spelled("convnext", convnext, pictures((1, 128, 128), (2, 64, 80), (1, 48, 37)), "torch14",
             "torch17", "dynamo18"),
    *spelled("unet", unet, UNET_SIZES, "torch17", "dynamo21"),
]
