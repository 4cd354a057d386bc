"""docs/operators.md is what tools/list_operators prints."""

import collections
import json
import os
import subprocess
import sys
from pathlib import Path

from onnx import defs

ROOT = Path(__file__).resolve().parents[2]
OLDEST = 7  # opset that Latchkey reads


def test_the_page_of_operators_is_up_to_date():
    made = subprocess.run([sys.executable, ROOT / "tools/list_operators",
                           os.environ["LATCHKEY_COMMAND"]], check=True, capture_output=True,
                          text=True).stdout
    assert (ROOT / "docs/operators.md").read_text() == made, (
        "run tools/list_operators build/development/latchkey > docs/operators.md")


def test_operators_begin_with_a_version_of_onnx():
    """Or with the oldest opset that is read, where that version is older. ONNX Runtime has one of
    its own in ONNX's domain."""
    listed = json.loads(subprocess.run([os.environ["LATCHKEY_COMMAND"], "ops", "--json"],
                                       check=True, capture_output=True, text=True).stdout)
    versions = collections.defaultdict(set)
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "":
            versions[schema.name].add(schema.since_version)
            if schema.since_version < OLDEST:
                versions[schema.name].add(OLDEST)
    ours = [row for row in listed if row["domain"] == "ai.onnx"]
    assert len(ours) > 150
    versions["SimplifiedLayerNormalization"].add(OLDEST)
    assert [row for row in ours if row["min_opset"] not in versions[row["operator"]]] == []
