"""latchkey report: a page of recordings and statistics."""

from __future__ import annotations

import argparse
import json
import os

from .._files import write_whole
from .._report import make_page
from .._text import escape
from .front import OK, CommandError

ARGUMENTS = "FILE..."
DESCRIPTION = """\
Makes one HTML page, which needs no network, of a recording: memory over time,
latency by size, builds, the time of each node, the slowest requests and why,
and the graph of the model. Of two recordings the page shows both side by side,
and what is different."""

EPILOG = """\
'latchkey record' and latchkey.Recorder make recordings. Statistics that
session.statistics() or latchkey.ort.stats() have returned will do as well, as
JSON; the page then has what these hold.

Examples:
  latchkey report run.json -o report.html
  latchkey report before.json after.json -o report.html"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Says what the command takes."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="one or two .json files")
    parser.add_argument("-o", "--output", metavar="PAGE", required=True,
                        help="write the page to PAGE")
    parser.add_argument("--json", action="store_true", help="print JSON")


def work(arguments: argparse.Namespace) -> int:
    """Makes the page, and says where it is."""
    if len(arguments.files) > 2:
        raise CommandError(f"failed to read the command line: {len(arguments.files)} files are "
                           "given, 1 or 2 are allowed", 2)
    page = make_page(arguments.files)
    if os.path.exists(arguments.output) and any(
            os.path.samefile(arguments.output, file) for file in arguments.files):
        raise CommandError(f"failed to write report '{arguments.output}': it is a file that the "
                           "page is made of", 2)
    write_whole(arguments.output, page, "a report")
    if arguments.json:
        print(json.dumps({"page": arguments.output, "files": arguments.files}))
    else:
        print(escape(f"{arguments.output} shows {' beside '.join(arguments.files)}"))
    return OK
