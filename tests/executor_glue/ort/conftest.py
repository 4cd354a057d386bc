"""The provider's library is registered once in a process."""

import pathlib
import sys

import onnxruntime
import pytest
from provider import LIBRARY, devices

# The models and pictures of text come from there.
sys.path.append(str(pathlib.Path(__file__).parents[2] / "models"))


@pytest.fixture(scope="session", autouse=True)
def registered():
    onnxruntime.register_execution_provider_library("latchkey", LIBRARY)
    assert len(devices()) == 1
