"""Models as exporters write them give the same in ONNX Runtime with and without the provider, at
every size that their files list, and again when a size comes back."""

import pytest
from bounds import check_output
from exported_models import FOLDER, NAMES, requests_of
from provider import open_reference, open_session


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_cpu_provider(name):
    path = FOLDER / f"{name}.onnx"
    other, session = open_reference(path), open_session(path)
    feeds = requests_of(name)
    right = [other.run(None, one) for one in feeds]
    for _ in range(2):
        for one, outputs in zip(feeds, right):
            for info, found, values in zip(other.get_outputs(), session.run(None, one), outputs):
                check_output(found, values, name, info.name)
