"""Several sessions in one process: two models by turns, sessions that come and go, and more shapes
than the cache may hold. Outputs are those of the CPU provider each time."""

import functools
import gc
import random

import light_models
import pytest
from bounds import check_output
from ocr_models import ANGLE, RECOGNITION, noise
from pictures import draw_lines, to_tensor
from provider import open_reference, open_session, statistics

SESSIONS = 30
SHAPES = 120


reference_of = functools.cache(open_reference)


@pytest.fixture(scope="module")
def squeezenet(tmp_path_factory):
    return light_models.save("squeezenet", tmp_path_factory.mktemp("light"))


class Compared:
    """A session with the provider beside one without."""

    def __init__(self, path, options=None):
        self.session = open_session(path, options)
        self.reference = reference_of(path)
        self.input = self.session.get_inputs()[0].name
        self.model = path.stem
        self.outputs = [output.name for output in self.session.get_outputs()]

    def run(self, array):
        right = self.reference.run(None, {self.input: array})
        found = self.session.run(None, {self.input: array})
        for name, one, other in zip(self.outputs, found, right, strict=True):
            check_output(one, other, self.model, name, f": {array.shape}")

    def statistics(self):
        return statistics(self.session, {self.input: noise(1, 3, 48, 32)})


def text(width):
    return to_tensor(draw_lines(width, 48, ["Latchkey oneDNN 3.13"], 24))


@pytest.mark.parametrize("mode", ["shared", "thread", "off"])
def test_two_models_by_turns(mode, squeezenet):
    one, other = Compared(RECOGNITION, {"cache": mode}), Compared(squeezenet, {"cache": mode})
    batches, widths = random.Random(1), random.Random(2)
    for _ in range(12):
        one.run(text(widths.choice((48, 100, 160, 203))))
        other.run(noise(batches.choice((1, 2)), 3, 224, 224))


def test_sessions_of_two_models_that_come_and_go(squeezenet):
    """One session stays; what the others needed is gone with them."""
    stays = Compared(RECOGNITION)
    stays.run(text(100))
    before = stays.statistics()["context"]
    image = noise(1, 3, 224, 224)
    for i in range(SESSIONS):
        # Half of them are of the model that stays open, so that they share what it has.
        comes = Compared(squeezenet if i % 2 else RECOGNITION)
        comes.run(image if i % 2 else text(100))
        del comes
        if i % 10 == 9:
            stays.run(text(100))
    gc.collect()
    after = stays.statistics()["context"]
    assert after["weights"]["bytes"] == before["weights"]["bytes"] > 0
    assert after["weights"]["packed"] == (
        before["weights"]["packed"] + SESSIONS // 2 * packed(squeezenet))
    entries = after["cache"]["kinds"]["run"]["entries"]
    assert entries == before["cache"]["kinds"]["run"]["entries"] > 0


def packed(path):
    """Packed weights of a model."""
    session = open_session(path, {"cache_entries": "100000"})  # a context of its own
    session.run(None, {session.get_inputs()[0].name: noise(1, 3, 224, 224)})
    return statistics(session)["context"]["weights"]["packed"]


@pytest.mark.parametrize("mode", ["shared", "thread"])
def test_more_shapes_than_the_cache_holds(mode):
    budget = 2 << 20
    compared = Compared(ANGLE, {"cache": mode, "cache_bytes": str(budget)})
    shapes = random.Random(3)
    most = 0
    for _ in range(SHAPES):
        compared.run(noise(shapes.randint(1, 3), 3, 48, shapes.randint(16, 200)))
        most = max(most, compared.statistics()["context"]["cache"]["bytes"])
        assert most <= budget
    cache = compared.statistics()["context"]["cache"]
    assert most > budget // 2, "a budget that is not needed proves nothing"
    assert sum(kind["evictions"] for kind in cache["kinds"].values()) > 0
