"""Compares a model with ONNX Runtime, ONNX's reference or another model; see :func:`compare`.

``steps`` has the steps, ``sides`` who runs the model, ``difference`` how far values are apart,
``isolate`` whose fault it is, ``comparison`` and ``report`` what was found. Nothing here imports
onnx or onnxruntime before it is needed.
"""

from .comparison import Comparison
from .difference import Difference, Worst
from .isolate import Verdict
from .sides import PeerError
from .steps import compare

__all__ = ["Comparison", "Difference", "PeerError", "Verdict", "Worst", "compare"]
