"""The subcommands that are Python, since they need Python packages: a row for each.

The program's own table (executor_glue/cli/main.c) has the same texts, so that its ``--help`` is
complete. Nothing is imported here: whoever runs another command pays for
this table alone.
"""

COMMANDS = {
    "compare": "compare results and speed with ONNX Runtime or another model",
    "doctor": "say what keeps a process from being fast, and what to do",
    "bench-compare": "say whether one measurement of bench is slower than another",
    "bench-plot": "show what bench has measured, in the terminal or as a picture",
    "top": "show what a running process does, each second anew",
    "explain": "say why runs are slow or memory grows, and what can be done",
    "record": "run a model over shapes, and record what happens over time",
    "report": "make a page of what was recorded, or of two runs side by side",
}
"""The summary of each. ``NAME.py``, with ``_`` for ``-``, has ``add_arguments(parser)``,
``work(arguments)`` with the exit code as its result, ``ARGUMENTS`` for the line of usage, and the
texts ``DESCRIPTION`` and ``EPILOG`` of its ``--help``."""

NEEDS = {
    "compare": "pip install 'latchkey[compare]'",
    "bench-plot": "for pictures, pip install 'latchkey[plot]'",
    "report": "pip install 'latchkey[report]'",
}
"""What some of them need besides this package."""
