"""What a generated model is: what makes it, and the requests that it is asked."""

import dataclasses
import functools
from collections.abc import Callable

from bounds import check_output
from exported_models import draw

from .spellings import SPELLINGS


@dataclasses.dataclass(frozen=True)
class Model:
    """`make(scale)` gives an ONNX model; `scale` 1 is for tests, more has wider layers. `sizes`:
    {input: [type, shape, low, high]}, as in the files of exported/, at scale 1. Each is followed by
    `steps` more, for which outputs become inputs as `feedback` says, and `next(batch)` has the
    rest."""

    name: str
    make: Callable
    sizes: list
    steps: int = 0
    feedback: dict = dataclasses.field(default_factory=dict)
    next: Callable | None = None


def spelled(name, make, sizes, *spellings, **more):
    """A Model for each spelling: `make(builder, scale)` in that one's nodes."""
    return [Model(f"{name}_{spelling}", functools.partial(made, make, name, spelling), sizes,
                  **more) for spelling in spellings]


def made(make, name, spelling, scale):
    kind, opset = SPELLINGS[spelling]
    return make(kind(name, opset), scale)


def numbers(*shape, low=-1, high=1):
    return ["float32", list(shape), low, high]


def integers(high, *shape, low=0):
    return ["int64", list(shape), low, high]


def fitted(proto, request):
    """The request with dimensions as the model has them where it fixes them: at another scale."""
    found = {}
    for value in proto.graph.input:
        kind, shape, low, high = request[value.name]
        dims = value.type.tensor_type.shape.dim
        shape = [dim.dim_value if dim.HasField("dim_value") else asked
                 for dim, asked in zip(dims, shape, strict=True)]
        found[value.name] = [kind, shape, low, high]
    return found


def recorded(model, proto, run):
    """Every request with what it gives, [(feeds, {output: array})]; `run(feeds)` gives all
    outputs in order."""
    names = [output.name for output in proto.graph.output]
    found = []
    for number, size in enumerate(model.sizes):
        feeds = draw(fitted(proto, size), number)
        for step in range(model.steps + 1):
            outputs = dict(zip(names, run(feeds), strict=True))
            found.append((feeds, outputs))
            if model.steps:
                feeds = {given: outputs[name] for name, given in model.feedback.items()}
                feeds |= draw(model.next(len(outputs[names[0]])), step)
    return found


def compare(found, right, name):
    """All outputs, {name: array}."""
    for output, values in right.items():
        check_output(found[output], values, name, output)
