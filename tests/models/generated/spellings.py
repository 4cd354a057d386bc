"""How three exporters spell the same things: PyTorch's older exporter, its newer one, and tf2onnx.

A family of models is written once, against the functions that these classes share, and comes out as
the nodes that each of them emits.
"""

import math

import numpy

from .builder import BOOL, FLOAT, INT32, INT64, LAST, LOWEST, Builder


class Spelling(Builder):
    """What all three spell alike."""

    gain = 1.3  # of convolutions: how much of what they take an activation after them leaves

    def conv(self, x, n_in, n_out, kernel=1, stride=1, groups=1, pad=None, dilation=1, bias=True,
             dims=2):
        pad = dilation * (kernel - 1) // 2 if pad is None else pad
        pads = pad if isinstance(pad, list) else [pad] * (2 * dims)
        filters = self.weight(n_out, n_in // groups, *[kernel] * dims, gain=self.gain,
                              fan_in=n_in // groups * kernel ** dims)
        return self.op("Conv", x, filters, *([self.bias(n_out)] if bias else []),
                       dilations=[dilation] * dims, group=groups, kernel_shape=[kernel] * dims,
                       pads=pads, strides=[stride] * dims)

    def batch_norm(self, x, n):
        return self.op("BatchNormalization", x, self.scale(n), self.bias(n), self.bias(n),
                       self.scale(n), epsilon=1e-5, momentum=0.9)

    def embed(self, ids, count, n):
        return self.op("Gather", self.weight(count, n), ids)

    def unsqueeze(self, x, *axes):
        """One node for each axis."""
        for axis in axes:
            x = self.op("Unsqueeze", x, [axis])
        return x

    def slice(self, x, axis, start, end, step=None):
        return self.op("Slice", x, [start], [end], [axis], *([[step]] if step else []))

    def reduce(self, kind, x, axes, keepdims=1):
        """Before opset 18 only ReduceSum took its axes as an input."""
        if self.opset < 18 and kind != "ReduceSum":
            return self.op(kind, x, axes=axes, keepdims=keepdims)
        return self.op(kind, x, axes, keepdims=keepdims)

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def split(self, x, parts, axis):
        return self.op("Split", x, parts, n=len(parts), axis=axis)

    def heads(self, x, n, s, count, size):
        """[n, s, count * size] -> [n, count, s, size]"""
        return self.op("Transpose", self.view(x, n, s, count, size), perm=[0, 2, 1, 3])

    def merged(self, x, n, s, width):
        return self.view(self.op("Transpose", x, perm=[0, 2, 1, 3]), n, s, width)

    def spelled_norm(self, x, n, epsilon=1e-5, axis=-1, shape=None):
        """LayerNormalization before opset 17."""
        centred = self.op("Sub", x, self.reduce("ReduceMean", x, [axis]))
        squares = self.op("Pow", centred, 2.0)
        spread = self.op("Sqrt", self.op("Add", self.reduce("ReduceMean", squares, [axis]),
                                         epsilon))
        scaled = self.op("Mul", self.op("Div", centred, spread), self.scale(*(shape or (n,))))
        return self.op("Add", scaled, self.bias(*(shape or (n,))))

    def layer_norm(self, x, n, epsilon=1e-5):
        if self.opset < 17:
            return self.spelled_norm(x, n, epsilon)
        return self.op("LayerNormalization", x, self.scale(n), self.bias(n), axis=-1,
                       epsilon=epsilon)


class TorchScript(Spelling):
    """PyTorch's older exporter: constants are nodes, sizes are asked for one by one."""

    constants_are_nodes = True

    def size(self, x, axis):
        return self.op("Gather", self.op("Shape", x), axis, axis=0)

    def dims(self, *parts):
        return self.op("Concat", *[self.constant([part]) if isinstance(part, int)
                                   else self.op("Unsqueeze", part, [0]) for part in parts], axis=0)

    def view(self, x, *parts):
        return self.op("Reshape", x, self.dims(*parts),
                       **({"allowzero": 0} if self.opset >= 14 else {}))

    def expand(self, x, *parts):
        """-1 keeps a dimension: the exporter puts a 1 there while the model runs."""
        wanted = self.op("Reshape", self.dims(*parts), [-1])
        ones = self.filled(self.op("Shape", wanted), 1)
        kept = self.op("Equal", wanted, self.op("Mul", ones, -1))
        return self.op("Expand", x, self.op("Where", kept, ones, wanted))

    def arange(self, end, start=0):
        """`end` and `start` are sizes, here and below."""
        return self.op("Range", start, self.op("Cast", end, to=INT64), 1)

    def linear(self, x, n_in, n_out, bias=True):
        product = self.op("MatMul", x, self.weight(n_in, n_out, fan_in=n_in))
        return self.op("Add", self.bias(n_out), product) if bias else product

    def gelu(self, x):
        spread = self.op("Add", self.op("Erf", self.op("Div", x, math.sqrt(2))), 1.0)
        return self.op("Mul", self.op("Mul", x, spread), 0.5)

    def rms_norm(self, x, n):
        squares = self.reduce("ReduceMean", self.op("Pow", x, 2.0), [-1])
        root = self.op("Sqrt", self.op("Add", squares, 1e-6))
        return self.op("Mul", self.scale(n), self.op("Mul", x, self.op("Div", 1.0, root)))

    def group_norm(self, x, n, groups):
        flat = self.op("Reshape", x, [0, groups, -1])
        normal = self.op("InstanceNormalization", flat, [1.0] * groups, [0.0] * groups,
                         epsilon=1e-5)
        back = self.op("Reshape", normal, self.op("Shape", x))
        return self.op("Add", self.op("Mul", back, self.scale(n, 1, 1)), self.bias(n, 1, 1))

    def attention(self, q, k, v, size, mask=None):
        """Of heads [n, heads, s, size]; the mask is added."""
        if self.opset < 17:
            scores = self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2]))
            scores = self.op("Div", scores, math.sqrt(size))
        else:
            root = 1 / math.sqrt(math.sqrt(size))
            k = self.op("Transpose", k, perm=[0, 1, 3, 2])
            scores = self.op("MatMul", self.op("Mul", q, root), self.op("Mul", k, root))
        if mask:
            scores = self.op("Add", scores, mask)
        return self.op("MatMul", self.op("Softmax", scores, axis=-1), v)

    def padding_mask(self, mask, n, s):
        """[n, s] of 1 and 0 -> [n, 1, 1, s] of 0 and the lowest number."""
        wide = self.op("Cast", self.unsqueeze(mask, 1, 2), to=FLOAT)
        return self.op("Mul", self.op("Sub", 1.0, wide), LOWEST)


class Dynamo(Spelling):
    """PyTorch's newer exporter: constants are shared initializers, a size is a vector of one."""

    def size(self, x, axis):
        return self.op("Shape", x, start=axis, end=axis + 1)

    def scalar(self, size):
        return self.op("Squeeze", size)

    def dims(self, *parts):
        if all(isinstance(part, int) for part in parts):
            return self.constant(list(parts))
        return self.op("Concat", *[self.constant([part]) if isinstance(part, int) else part
                                   for part in parts], axis=0)

    def view(self, x, *parts):
        return self.op("Reshape", x, self.dims(*parts), allowzero=1)

    def expand(self, x, *parts):
        """-1 keeps a dimension: a 1 in its place, since shapes are known to this exporter."""
        return self.op("Expand", x, self.dims(*[1 if part == -1 else part for part in parts]))

    def arange(self, end, start=0):
        start = self.scalar(start) if isinstance(start, str) else start
        return self.op("Range", start, self.scalar(end), 1)

    def unsqueeze(self, x, *axes):
        return self.op("Unsqueeze", x, list(axes))

    def linear(self, x, n_in, n_out, bias=True):
        product = self.op("MatMul", x, self.weight(n_in, n_out, fan_in=n_in))
        return self.op("Add", product, self.bias(n_out)) if bias else product

    def gelu(self, x):
        spread = self.op("Add", self.op("Erf", self.op("Div", x, math.sqrt(2))), 1.0)
        return self.op("Mul", x, self.op("Mul", 0.5, spread))

    def rms_norm(self, x, n):
        squares = self.reduce("ReduceMean", self.op("Pow", x, 2.0), [-1])
        root = self.op("Reciprocal", self.op("Sqrt", self.op("Add", squares, 1e-6)))
        return self.op("Mul", self.scale(n), self.op("Mul", x, root))

    def group_norm(self, x, n, groups):
        """The operator of opset 21, which has a scale for each channel."""
        return self.op("GroupNormalization", x, self.scale(n), self.bias(n), epsilon=1e-5,
                       num_groups=groups)

    def transposed(self, k):
        """The last two dimensions, through three, as its attention does it."""
        shape = self.op("Shape", k, start=0)
        last = self.op("Slice", shape, [-1], [LAST])
        second = self.op("Slice", shape, [-2], [-1])
        first = self.op("Slice", shape, [-LAST - 1], [-2])
        flat = self.op("Reshape", k, self.op("Concat", [-1], second, last, axis=0), allowzero=0)
        turned = self.op("Transpose", flat, perm=[0, 2, 1])
        return self.op("Reshape", turned, self.op("Concat", first, last, second, axis=0),
                       allowzero=0)

    def attention(self, q, k, v, size, mask=None):
        root = 1 / math.sqrt(math.sqrt(size))
        scores = self.op("MatMul", self.op("Mul", q, root),
                         self.op("Mul", self.transposed(k), root))
        if not mask:
            return self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        weights = self.op("Softmax", self.op("Add", scores, mask), axis=-1)
        weights = self.op("Where", self.op("IsNaN", weights), 0.0, weights)
        return self.op("MatMul", weights, v)

    def padding_mask(self, mask, n, s):
        """Asked for place by place: GatherND with the numbers of rows and columns."""
        kept = self.op("Cast", mask, to=BOOL)
        rows = self.unsqueeze(self.arange(n), 1, 2, 3)
        columns = self.unsqueeze(self.arange(s), 0, 1, 2)
        shape = self.op("Shape", self.op("Max", rows, columns), start=0)
        places = self.op("Concat", *[self.op("Unsqueeze", self.op("Expand", one, shape), [-1])
                                     for one in (rows, columns)], axis=-1)
        found = self.op("GatherND", kept, places, batch_dims=0)
        return self.op("Where", self.op("And", True, found), 0.0, LOWEST)


class Tf2Onnx(Spelling):
    """tf2onnx: channels last, sizes as int32, products of matrices by Reshape."""

    def size(self, x, axis):
        shape = self.op("Cast", self.op("Shape", x), to=INT32)
        one = self.op("Slice", shape, [axis], [axis + 1], [0])
        return self.op("Squeeze", one, [0])

    def dims(self, *parts):
        if all(isinstance(part, int) for part in parts):
            return self.constant(list(parts))
        packed = [self.constant(numpy.array([part], numpy.int32)) if isinstance(part, int)
                  else self.op("Unsqueeze", part, [0]) for part in parts]
        return self.op("Cast", self.op("Concat", *packed, axis=0), to=INT64)

    def view(self, x, *parts):
        return self.op("Reshape", x, self.dims(*parts))

    def expand(self, x, *parts):
        return self.op("Expand", x, self.dims(*[1 if part == -1 else part for part in parts]))

    def arange(self, end, start=0):
        start = start if isinstance(start, str) else numpy.int32(start)
        return self.op("Cast", self.op("Range", start, end, numpy.int32(1)), to=INT64)

    def linear(self, x, n_in, n_out, bias=True):
        """Tensordot: a matrix, and the first dimensions back."""
        first = self.op("Gather", self.op("Shape", x), [0, 1], axis=0)
        product = self.op("MatMul", self.op("Reshape", x, [-1, n_in]),
                          self.weight(n_in, n_out, fan_in=n_in))
        back = self.op("Reshape", product, self.op("Concat", first, [n_out], axis=0))
        return self.op("Add", back, self.bias(n_out)) if bias else back

    def layer_norm(self, x, n, epsilon=1e-5):
        """Keras: moments, then one product and one sum."""
        mean = self.reduce("ReduceMean", x, [-1])
        apart = self.op("Sub", x, mean)
        spread = self.reduce("ReduceMean", self.op("Mul", apart, apart), [-1])
        root = self.op("Reciprocal", self.op("Sqrt", self.op("Add", spread, epsilon)))
        factor = self.op("Mul", root, self.scale(n))
        shift = self.op("Sub", self.bias(n), self.op("Mul", mean, factor))
        return self.op("Add", self.op("Mul", x, factor), shift)

    def gelu(self, x):
        spread = self.op("Add", self.op("Erf", self.op("Mul", x, math.sqrt(0.5))), 1.0)
        return self.op("Mul", self.op("Mul", x, 0.5), spread)

    def attention(self, q, k, v, size, mask=None):
        scores = self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2]))
        scores = self.op("Mul", scores, 1 / math.sqrt(size))
        if mask:
            scores = self.op("Add", scores, mask)
        return self.op("MatMul", self.op("Softmax", scores, axis=-1), v)

    def padding_mask(self, mask, n, s):
        wide = self.view(self.op("Cast", mask, to=FLOAT), n, 1, 1, s)
        return self.op("Mul", self.op("Sub", 1.0, wide), -10000.0)

    # ---- images: what it cannot turn around stays channels last ----

    def first(self, x):
        """Channels first; two Transposes that undo each other are one value, as its optimizer has
        it."""
        return self.turned(x, [0, 3, 1, 2], [0, 2, 3, 1])

    def last(self, x):
        return self.turned(x, [0, 2, 3, 1], [0, 3, 1, 2])

    def turned(self, x, perm, inverse):
        for node in self.nodes:
            if node.op_type == "Transpose" and node.output[0] == x and \
                    list(node.attribute[0].ints) == inverse:
                return node.input[0]
        return self.op("Transpose", x, perm=perm)


# By name: what spells, and the opset. Numbers in names of models are opsets.
SPELLINGS = {**{f"torch{opset}": (TorchScript, opset) for opset in (14, 17)},
             **{f"dynamo{opset}": (Dynamo, opset) for opset in (18, 20, 21, 23)},
             "tf13": (Tf2Onnx, 13)}
