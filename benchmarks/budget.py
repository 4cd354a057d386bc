"""Does resident memory stay within the limit that a context is given, and what does that cost?

Requests of random sizes, each process with one limit, on one thread or on eight that call at the
same time. Weights do not count (weights_apart). Growth is the most resident memory after the first
100 requests, beyond that before the first. Outputs must have the bits that a session without a
limit gives. Requests that were refused are counted, and have no output.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import zlib

import numpy

import common
import graphs
from ocr_models import DETECTION, RECOGNITION

QUESTION = __doc__.splitlines()[0]
MIB = 2**20
LIMITS_MIB = (128, 256, None)
THREADS = (1, 8)
SIZES = 200  # that are drawn from
FIRST = 100  # requests before memory is looked at
TARGET = 1.05  # growth of the limit


def sizes(name):
    rng = random.Random(5)
    if name == "recognizer":
        return [(1, 3, 48, width) for width in rng.sample(range(32, 640), SIZES)]
    if name == "detector":
        side = range(64, 513, 32)
        every = [(1, 3, height, width) for height in side for width in side]
        return rng.sample(every, SIZES)
    return [(1, length, 256) for length in rng.sample(range(4, 400), SIZES)]


def resident():
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Requests:
    """`count` requests of random sizes, which threads take one by one."""

    def __init__(self, session, shapes, count, digests):
        self.session, self.shapes, self.digests = session, shapes, digests
        rng = random.Random(9)
        self.order = [rng.randrange(len(shapes)) for _ in range(count)]
        self.name = session.inputs[0].name
        self.data = numpy.random.default_rng(3).random(max(map(numpy.prod, shapes)), "f4")
        self.lock = threading.Lock()
        self.next = self.refused = self.wrong = self.most = 0

    def run(self, index):
        shape = self.shapes[index]
        x = self.data[:numpy.prod(shape)].reshape(shape)
        digest = 0
        for array in self.session.run({self.name: x}).values():
            digest = zlib.crc32(array, digest)  # no copy, which would count as growth
        return digest

    def take(self):
        with self.lock:
            self.next += 1
            return self.next - 1

    def work(self):
        import latchkey

        while (number := self.take()) < len(self.order):
            index = self.order[number]
            try:
                digest = self.run(index)
            except latchkey.OutOfMemoryError:
                with self.lock:
                    self.refused += 1
                continue
            with self.lock:
                self.wrong += self.digests[index] != digest
                if number >= FIRST:
                    self.most = max(self.most, resident())


def process(name, model, limit, threads, count):
    """What this process prints: one line of JSON."""
    import latchkey

    def session_of(limit):
        context = latchkey.Context(threads=2 if threads == 1 else 1, weights_apart=True,
                                   memory_bytes=latchkey.UNLIMITED if limit is None else limit)
        return latchkey.Session(model, context=context)
    shapes = sizes(name)
    with session_of(None) as session:
        plain = Requests(session, shapes, 0, [])
        digests = [plain.run(index) for index in range(len(shapes))]
        session.clear()
    session = session_of(limit)
    requests = Requests(session, shapes, count, digests)
    begun = threading.Barrier(threads + 1)
    workers = [threading.Thread(target=lambda: (begun.wait(), begun.wait(), requests.work()))
               for _ in range(threads)]
    for worker in workers:
        worker.start()
    begun.wait()
    before, start = resident(), time.monotonic()  # the threads are the host's own
    begun.wait()
    for worker in workers:
        worker.join()
    seconds = time.monotonic() - start
    stats = session.context.stats()["memory"]
    print(json.dumps({"growth": requests.most - before, "peak": stats["peak_bytes"],
                      "refused": requests.refused, "wrong": requests.wrong,
                      "per_s": (count - requests.refused) / seconds}))


def ask(name, model, limit, threads, count):
    words = [sys.executable, __file__, name, model, limit or 0, threads, count]
    done = subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main():
    chosen = common.options(QUESTION)
    count = common.by_extent(chosen, 150, 1000, 10000)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        models = {"recognizer": RECOGNITION, "detector": DETECTION,
                  "encoder": graphs.encoder(f"{folder}/encoder.onnx")}
        for name, model in models.items():
            for threads in THREADS:
                for limit in LIMITS_MIB:
                    found = ask(name, model, limit and limit * MIB, threads, count)
                    results.append({"model": name, "threads": threads, "limit_mib": limit, **found})
    if chosen.json:
        print(json.dumps({"target": TARGET, "requests": count, "runs": results}))
        return
    rows = []
    for r in results:
        free = next(o for o in results if o["limit_mib"] is None and o["model"] == r["model"]
                    and o["threads"] == r["threads"])
        met = r["wrong"] == 0 and (r["limit_mib"] is None
                                   or r["growth"] <= TARGET * r["limit_mib"] * MIB)
        rows.append([f"{r['model']}, {r['threads']} threads",
                     "none" if r["limit_mib"] is None else f"{r['limit_mib']} MiB",
                     common.mib(r["growth"]), common.mib(r["peak"]), r["refused"], r["wrong"],
                     f"{r['per_s'] / free['per_s']:.2f}", "met" if met else "MISSED"])
    common.table([f"{count} requests", "limit", "RSS growth", "held at most", "refused", "wrong",
                  "rate / no limit", "target"], rows)
    print(f"  target: growth of {TARGET} of the limit, no wrong output", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 6:
        name, model, limit, threads, count = sys.argv[1:]
        process(name, model, int(limit) or None, int(threads), int(count))
    else:
        main()
