"""What all Python tests share lies in harness/."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parent / "harness"))
