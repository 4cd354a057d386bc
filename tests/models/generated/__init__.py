"""Whole models with the nodes that exporters emit, made from seeded numbers; see README.md."""

from . import convnets, decoders, detectors, encoders, speech, tables, transformers
from .model import Model, compare, fitted, recorded

MODELS = {model.name: model
          for family in (encoders, decoders, transformers, convnets, detectors, speech, tables)
          for model in family.MODELS}

__all__ = ["MODELS", "Model", "compare", "fitted", "recorded"]
