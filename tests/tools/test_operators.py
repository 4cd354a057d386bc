"""docs/operators.md is what tools/list_operators prints."""

import json
import os
import subprocess
import sys
from pathlib import Path

from onnx import defs

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_operators_is_up_to_date():
    made = subprocess.run([sys.executable, ROOT / "tools/list_operators",
                           os.environ["LATCHKEY_COMMAND"]], check=True, capture_output=True,
                          text=True).stdout
    assert (ROOT / "docs/operators.md").read_text() == made, (
        "run tools/list_operators build/development/latchkey > docs/operators.md")


def test_no_operator_is_older_than_in_onnx():
    listed = json.loads(subprocess.run([os.environ["LATCHKEY_COMMAND"], "ops", "--json"],
                                       check=True, capture_output=True, text=True).stdout)
    first = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "":
            first[schema.name] = min(first.get(schema.name, 99), schema.since_version)
    ours = [row for row in listed if row["domain"] == "ai.onnx"]
    assert len(ours) > 150
    assert [row for row in ours if row["min_opset"] < first.get(row["operator"], 0)] == []
