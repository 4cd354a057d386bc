"""Does opening a model, with its first run, take time in proportion to what the model has?

Models of many things of one kind (nodes, stages, names, calls, branches, bodies that read a list),
each with a few and with four times as many, in processes of their own. Figures are seconds of
processors, the least of some turns, less those of a model of one node. Work in proportion gives 4,
sorting a little more, and a loop over all in a loop over all 16.
"""

import json
import os
import pathlib
import tempfile

import common
import numpy

os.environ["LATCHKEY_COMMAND"] = str(common.BUILD / "latchkey")
import hostile_models as make  # noqa: E402, tests/models
from bounded_command import run_bounded  # noqa: E402

QUESTION = __doc__.splitlines()[0]
MOST = 6.0  # of four times as many
KINDS = {
    "nodes": (make.many_nodes, 15000),
    "stages": (make.many_stages, 4000),
    "calls of one name": (make.calls_of_one_name, 10000),
    "branches of one name": (make.branches_of_one_name, 3000),
    "calls in calls": (lambda count: make.calls_of_calls(make.node("Relu", ["a"], ["b"]),
                                                         calls=count), 5000),
    "names that differ at their ends": (lambda count: make.long_names(count, 10000), 500),
    "elements of an attribute": (make.numbers_of_an_attribute, 100000),
    "bodies that read a list": (lambda count: make.bodies_that_read_a_list(count, 100000), 100),
}


def seconds(made, folder, turns):
    (folder / "model.onnx").write_bytes(made.SerializeToString())
    runs = [run_bounded("run", folder / "model.onnx", "-i", f"x={folder / 'x.npy'}", "-o",
                        folder / "out") for _ in range(turns)]
    for run in runs:
        assert run.code in (0, 1), run.said  # it runs, or is refused once it was read
    return min(run.seconds for run in runs)


def main():
    chosen = common.options(QUESTION)
    turns = common.by_extent(chosen, 1, 3, 9)
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        numpy.save(folder / "x.npy", numpy.ones(4, numpy.float32))
        idle = seconds(make.model([make.node("Relu", ["x"])]), folder, turns)
        for kind, (made, few) in KINDS.items():
            found = [seconds(made(count), folder, turns) - idle for count in (few, 4 * few)]
            results.append({"kind": kind, "few": few, "seconds": found,
                            "ratio": found[1] / max(found[0], 1e-3)})
    if chosen.json:
        print(json.dumps({"target": MOST, "kinds": results}))
        return
    common.table(["seconds of processors", "few", "seconds", "4 times as many", "ratio", ""],
                 [[r["kind"], r["few"], *(f"{one:.3f}" for one in r["seconds"]),
                   f"{r['ratio']:.1f}", "met" if r["ratio"] <= MOST else "MISSED"]
                  for r in results])


if __name__ == "__main__":
    main()
