"""docs/operators.md is what tools/list_operators prints."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_operators_is_up_to_date():
    made = subprocess.run([sys.executable, ROOT / "tools/list_operators",
                           os.environ["LATCHKEY_COMMAND"]], check=True, capture_output=True,
                          text=True).stdout
    assert (ROOT / "docs/operators.md").read_text() == made, (
        "run tools/list_operators build/development/latchkey > docs/operators.md")
