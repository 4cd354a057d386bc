"""What the benchmarks in Python share: paths, child processes, options, and how numbers are shown."""

import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("LATCHKEY_BUILD", ROOT / "build"))


def recognition_model():
    # found, not imported: the package itself needs more than its models
    folder = pathlib.Path(importlib.util.find_spec("rapidocr_onnxruntime").origin).parent / "models"
    return folder / "ch_PP-OCRv4_rec_infer.onnx"


def options(question):
    """Parses --json and --quick, and prints the question that the program answers."""
    parser = argparse.ArgumentParser(description=question)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="fewer repeats: a look, no figures")
    chosen = parser.parse_args()
    if not chosen.json:
        print(question, flush=True)
    return chosen


class Worker:
    """A child process that takes commands by line and answers each with a line of JSON."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(word) for word in command], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.process.args[0]} ended with {self.process.wait()} at {words}")
        return json.loads(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def latchkey(model, threads):
    return Worker(BUILD / "benchmarks/worker", model, threads)


def peer(engine, model, threads):
    return Worker(sys.executable, pathlib.Path(__file__).with_name("peer.py"), engine, model, threads)


def settle():
    """Waits until threads that spin after their last run have gone to sleep."""
    time.sleep(0.03)


def median(values):
    return statistics.median(values)


def mib(count):
    return f"{count / 2**20:.1f} MiB"


def table(header, rows):
    cells = [header] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for row in cells:
        print("  " + "  ".join(cell.ljust(w) if i == 0 else cell.rjust(w)
                               for i, (cell, w) in enumerate(zip(row, widths))), flush=True)
