"""Transforms and tables for signals, and determinants."""

import numpy

from case import FLOATS, NUMBERS, Case, dtype_of, opset_of, pick, row, shape, type_of, values
from onnx import TensorProto


@row("Det")
def det(rng):
    opset = opset_of(rng, "Det")
    n = int(rng.integers(0 if rng.random() < 0.1 else 1, 8))
    x = values(rng, shape(rng, 0, 3, empty=0.03) + [n, n], type_of(rng, "Det", opset), -2, 2)
    return Case([x], opset=opset, tolerance=None if x.dtype != numpy.float64 else 1e-8,
                expected=lambda inputs: [numpy.asarray(
                    numpy.linalg.det(inputs[0].astype(numpy.float64))).astype(inputs[0].dtype)])


# ---- windows ----

TERMS = {"HannWindow": (0.5, 0.5, 0), "HammingWindow": (25 / 46, 21 / 46, 0),
         "BlackmanWindow": (0.42, 0.5, 0.08)}


def _window(op_type):
    def draw(rng):
        size, periodic = int(rng.integers(0, 40)), int(rng.integers(0, 2))
        # whole numbers are cut, so that 1 may become 0
        kind = pick(rng, FLOATS)
        a, b, c = TERMS[op_type]

        def right(inputs):
            x = 2 * numpy.pi * numpy.arange(size) / max(size if periodic else size - 1, 1)
            found = a - b * numpy.cos(x) + c * numpy.cos(2 * x)
            if size == 1 and not periodic:
                found = numpy.ones(1)
            return [found.astype(dtype_of(kind))]

        return Case([numpy.array(size, pick(rng, [numpy.int32, numpy.int64]))],
                    {"periodic": periodic, "output_datatype": getattr(TensorProto, kind)},
                    opset=opset_of(rng, op_type), expected=right,
                    constants={0} if rng.random() < 0.5 else set())

    return draw


for operator in TERMS:
    row(operator)(_window(operator))


@row("MelWeightMatrix")
def mel_weight_matrix(rng):
    rate = int(rng.integers(100, 50000))
    lower = numpy.float32(rng.uniform(0, rate / 4))
    upper = numpy.float32(rng.uniform(rate / 4, rate / 2))
    whole = pick(rng, [numpy.int32, numpy.int64])
    inputs = [numpy.array(n, whole) for n in
              (int(rng.integers(0, 20)), int(rng.integers(0, 300)), rate)]
    bands, length = int(inputs[0]), int(inputs[1])
    kind = pick(rng, NUMBERS)

    def right(given):
        low, high = (2595 * numpy.log1p(float(one) / 700) / numpy.log(10) for one in given[3:])
        mel = numpy.arange(bands + 2) * ((high - low) / (bands + 2)) + low
        hertz = 700 * numpy.expm1(mel / 2595 * numpy.log(10))
        at = numpy.floor((length + 1) * hertz / rate).astype(int).clip(0, length // 2)
        found = numpy.zeros((length // 2 + 1, bands))
        for i in range(bands):
            left, middle, last = at[i:i + 3]
            for j in range(left, middle + 1):
                found[j, i] = (j - left) / (middle - left) if middle > left else 1
            for j in range(middle, last):
                found[j, i] = (last - j) / (last - middle)
        return [found.astype(dtype_of(kind))]

    return Case(inputs + [numpy.array(lower), numpy.array(upper)],
                {"output_datatype": getattr(TensorProto, kind)}, opset=17, expected=right,
                constants=set(range(5)) if rng.random() < 0.5 else set())


# ---- transforms ----


def _parts(x):
    return numpy.stack([x.real, x.imag], -1)


def _complex(x):
    wide = x.astype(numpy.float64)
    return wide[..., 0] + 1j * wide[..., 1] if x.shape[-1] == 2 else wide[..., 0] + 0j


@row("DFT")
def dft(rng):
    opset = opset_of(rng, "DFT")
    inverse, onesided = int(rng.integers(0, 2)), int(rng.integers(0, 2))
    dims = shape(rng, 1, 3, largest=4, empty=0)
    at = int(rng.integers(0, len(dims)))
    least, most = 2 if inverse and onesided else 1, 40 if rng.random() < 0.9 else 600
    dims[at] = int(rng.integers(least, most))
    x = values(rng, dims + [int(rng.integers(1, 3))], type_of(rng, "DFT", opset))
    given = int(rng.integers(1, 50)) if rng.random() < 0.5 else None
    length = given or (2 * (dims[at] - 1) if inverse and onesided else dims[at])
    attributes = {"inverse": inverse, "onesided": onesided}
    where = at - len(dims) - 1 if rng.random() < 0.5 else at
    inputs = [x, None if given is None else
              numpy.array(given, pick(rng, [numpy.int32, numpy.int64]))]
    if opset < 20:
        attributes["axis"] = where
    else:
        inputs.append(numpy.array(where, numpy.int64))
    while inputs[-1] is None:
        inputs.pop()

    def right(inputs):
        signal = _complex(inputs[0])
        if inverse and onesided:
            found = numpy.fft.irfft(signal, length, at)[..., None]
        elif inverse:
            found = _parts(numpy.fft.ifft(signal, length, at))
        else:
            found = _parts(numpy.fft.fft(signal, length, at))
            if onesided:
                found = numpy.take(found, range(length // 2 + 1), at)
        return [found.astype(inputs[0].dtype)]

    constants = {i for i in range(1, len(inputs)) if rng.random() < 0.5}
    return Case(inputs, attributes, opset=opset, expected=right, constants=constants)


@row("STFT")
def stft(rng):
    opset = opset_of(rng, "STFT")
    length, frame = int(rng.integers(1, 60)), int(rng.integers(1, 30))
    frame, step = min(frame, length), int(rng.integers(1, 12))
    onesided = int(rng.integers(0, 2))
    kind, whole = type_of(rng, "STFT", opset), pick(rng, [numpy.int32, numpy.int64])
    x = values(rng, [int(rng.integers(1, 4)), length, int(rng.integers(1, 3))], kind)
    window = values(rng, [frame], kind) if rng.random() < 0.5 else None
    told = window is None or rng.random() < 0.5
    inputs = [x, numpy.array(step, whole), window, numpy.array(frame, whole) if told else None]
    while inputs[-1] is None:
        inputs.pop()

    def right(inputs):
        signal = _complex(inputs[0])
        factors = 1 if window is None else window.astype(numpy.float64)
        frames = [numpy.fft.fft(signal[:, i * step:i * step + frame] * factors)
                  for i in range((length - frame) // step + 1)]
        found = _parts(numpy.stack(frames, 1))
        return [found[:, :, :frame // 2 + 1 if onesided else frame].astype(inputs[0].dtype)]

    return Case(inputs, {"onesided": onesided}, opset=opset, expected=right,
                constants={1, 3} & set(range(len(inputs))) if rng.random() < 0.5 else set())
