"""Every operator of ONNX is a row, is run by the executor itself, or is listed as missing."""

import onnx
import pytest

from cli_harness import latchkey

# Operators with bodies, which stages run (executor_glue/flow/).
OF_THE_EXECUTOR = {
    "If", "Loop", "Scan",
    "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt",
    "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
    "SequenceMap", "SplitToSequence",
}


def names(*arguments):
    listed = latchkey("ops", "--json", *arguments).json()
    return [row["operator"] for row in listed if row.get("domain", "ai.onnx") == "ai.onnx"]


def test_what_is_no_row_is_listed_as_missing():
    every = {schema.name for schema in onnx.defs.get_all_schemas_with_history()
             if schema.domain == ""}
    assert sorted(every - set(names()) - OF_THE_EXECUTOR) == names("--missing")


def test_rows_say_what_they_are():
    for row in latchkey("ops", "--json").json():
        assert 1 <= row["min_opset"] <= row["max_opset"]
        assert row["summary"] != ""


def test_reasons_are_short():
    for row in latchkey("ops", "--missing", "--json").json():
        assert 0 < len(row["reason"]) <= 60, row


@pytest.mark.parametrize("arguments", [(), ("--missing",)])
def test_tables_have_a_line_for_each(arguments):
    lines = latchkey("ops", *arguments).ok().out.splitlines()
    assert lines[0].startswith("operator")
    rows = latchkey("ops", "--json", *arguments).json()
    assert [line.split()[0] for line in lines[1:]] == [row["operator"] for row in rows]


def test_types_are_of_letters():
    for row in latchkey("ops", "--json").json():
        letters = set((row["inputs"] or "") + (row["outputs"] or ""))
        assert set(row["types"]) <= letters, row
