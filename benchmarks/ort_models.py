"""How long do whole models take on the provider, beside our executor, ONNX Runtime and OpenVINO?

Each engine has a process of its own, and they take turns, see models.py. All are driven from
Python, with the same inputs, and their outputs are compared first. What ONNX Runtime costs around
the provider shows beside our own executor, where this runs the model. `static`: a model whose
file says the shape. `first`: requests of random shapes, most of them never seen before; `again`:
the same requests once more, with room in the cache for all that they need, or not. The growth of
resident memory is over what there was before: after five runs of one shape, after one run of the
first, or after the first pass.
"""

import contextlib
import json
import pathlib
import random
import tempfile

import common
import graphs
import light_models
from ocr_models import ANGLE, DETECTION, RECOGNITION

QUESTION = __doc__.splitlines()[0]
PEERS = ("provider", "onnxruntime", "openvino")
ENGINES = ("provider", "latchkey", *PEERS[1:])
TARGET = 1.03  # of our own executor, with one shape
REQUESTS_IN_BLOCK = 10


def cases(folder):
    """Name, model, shape, what draws a shape, and who runs it. Detection wants multiples of 32. Our
    own executor knows operators of one step only, so the encoder comes spelled out as well."""
    def side(rng):
        return 32 * rng.randint(4, 16)

    def sequences(rng):
        return f"{rng.randint(1, 2)}x{rng.randint(8, 256)}x256"

    return [
        ("PP-OCRv4 detection", DETECTION, "1x3x320x320",
         lambda rng: f"1x3x{side(rng)}x{side(rng)}", ENGINES),
        ("PP-OCR angle", ANGLE, "1x3x48x192",
         lambda rng: f"{rng.randint(1, 6)}x3x48x{rng.randint(48, 192)}", ENGINES),
        ("PP-OCRv4 recognition", RECOGNITION, "1x3x48x320",
         lambda rng: f"1x3x48x{rng.randint(32, 640)}", ENGINES),
        ("light_resnet50", light_models.save("resnet50", folder), "1x3x224x224",
         lambda rng: f"{rng.randint(1, 4)}x3x224x224", ENGINES),
        ("encoder", graphs.encoder(folder / "encoder.onnx"), "1x128x256", sequences, PEERS),
        ("encoder, spelled out", graphs.encoder(folder / "spelled.onnx", spelled=True),
         "1x128x256", sequences, ENGINES),
    ]


@contextlib.contextmanager
def peers(engines, model, threads):
    with contextlib.ExitStack() as stack:
        yield {engine: stack.enter_context(common.peer(engine, model, threads))
               for engine in engines}


def resident(workers):
    return {engine: worker.ask("stats")["rss"] for engine, worker in workers.items()}


def growth(before, after):
    return {engine: after[engine] / before[engine] - 1 for engine in before}


def static(engines, model, shape, threads, blocks, seconds):
    with peers(engines, model, threads) as workers:
        for worker in workers.values():
            worker.ask("time", 5, shape)
        before = resident(workers)
        found = common.compare(workers, shape, blocks, seconds)
        return {"way": "static", **found, "growth": growth(before, resident(workers)),
                "claims": workers["provider"].ask("stats")["claims"]}


def moving(engines, model, shapes, threads):
    """The rows of the two passes."""
    blocks = [shapes[at:at + REQUESTS_IN_BLOCK] for at in range(0, len(shapes), REQUESTS_IN_BLOCK)]
    with peers(engines, model, threads) as workers:
        def ask(engine, block):
            wanted = blocks[block]
            return workers[engine].ask("shapes", len(wanted), ",".join(wanted))["ns"]

        claims = workers["provider"].ask("stats")["claims"]
        for worker in workers.values():
            worker.ask("shapes", 1, shapes[0])
        opened = resident(workers)
        first = common.figures(common.alternate(engines, len(blocks), ask))
        warm = resident(workers)
        again = common.figures(common.alternate(engines, len(blocks), ask))
        return [{"way": "first", **first, "growth": growth(opened, warm), "claims": claims},
                {"way": "again", **again, "growth": growth(warm, resident(workers)),
                 "claims": claims}]


def verdict(row):
    if row["way"] != "static" or "latchkey" not in row["ratio"]:
        return ""
    return "met" if row["ratio"]["latchkey"] <= TARGET else f"MISSED (<= {TARGET})"


def show(title, engines, rows):
    def percents(row):
        return " / ".join(f"{100 * row['growth'][e]:.1f}" for e in engines)

    common.table([title, "threads", *(f"{e} p50 (p99)" for e in engines),
                  *(f"/ {e}" for e in engines[1:]), "target", "RSS growth %", "claimed"],
                 [[row["way"], row["threads"],
                   *(f"{row['p50_ms'][e]:.2f} ({row['p99_ms'][e]:.2f})" for e in engines),
                   *(f"{row['ratio'][e]:.3f}" for e in engines[1:]), verdict(row),
                   percents(row), f"{row['claims']['claimed']} of {row['claims']['nodes']}"]
                  for row in rows])


def main():
    chosen = common.options(QUESTION)
    blocks, seconds = common.by_extent(chosen, (2, 0.05), (7, 0.15), (41, 0.4))
    requests = common.by_extent(chosen, 10, 30, 300)
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for name, model, shape, draw, engines in cases(folder):
            rng = random.Random(7)
            shapes = [draw(rng) for _ in range(requests)]
            fixed = graphs.save_fixed(model, shape, folder / "fixed.onnx")
            rows = []
            common.check_outputs(engines, fixed, shape, folder)
            for threads in common.thread_counts():
                for row in (static(engines, fixed, shape, threads, blocks, seconds),
                            *moving(engines, model, shapes, threads)):
                    rows.append({"model": name, "threads": threads, **row})
            if not chosen.json:
                show(f"{name}, ms; {shape}; {requests} requests, {len(set(shapes))} shapes",
                     engines, rows)
            results += rows
    if chosen.json:
        print(json.dumps({"target": TARGET, "requests": requests, "models": results}))


if __name__ == "__main__":
    main()
