"""Does memory stay where it is told to, over random shapes, half a budget and many sessions?

One process for each part. `start` is taken after a few shapes and a clear, so that code of oneDNN
that the system pages in once is in it.
"""

import json
import random

import common
from ocr_models import RECOGNITION

QUESTION = __doc__.splitlines()[0]
UNLIMITED = 2**64 - 2  # LK_UNLIMITED


def shapes(widths):
    return ",".join(f"1x3x48x{width}" for width in widths)


def warm(worker):
    worker.ask("shapes", 3, shapes([33, 100, 319]))
    worker.ask("clear")
    return worker.ask("stats")


def random_widths(count):
    """Two passes over `count` requests of random widths, with room for all of them."""
    rng = random.Random(7)
    widths = [rng.randint(32, 320) for _ in range(count)]
    with common.latchkey(RECOGNITION, 1) as worker:
        worker.ask("capacity", UNLIMITED)
        start = warm(worker)
        passes = []
        for _ in range(2):
            before = worker.ask("stats")
            times = worker.ask("shapes", count, shapes(widths))["ns"]
            after = worker.ask("stats")
            passes.append({"p50_ms": common.median(times) / 1e6, "rss": after["rss"],
                           "builds": after["builds"] - before["builds"], "bytes": after["bytes"],
                           "growth": after["rss"] / before["rss"] - 1})
        worker.ask("clear")
        return {"requests": count, "widths": len(set(widths)), "start": start["rss"],
                "passes": passes, "end": worker.ask("stats")["rss"]}


def half_budget(count):
    """`count` widths forwards and backwards with half of the bytes that they need."""
    widths = random.Random(3).sample(range(32, 321), count)
    with common.latchkey(RECOGNITION, 1) as worker:
        start = warm(worker)
        worker.ask("capacity", UNLIMITED)
        worker.ask("shapes", count, shapes(widths))
        need = worker.ask("stats")["bytes"]
        worker.ask("capacity", need // 2)
        answer = worker.ask("shapes", 2 * count, shapes(widths + widths[::-1]))
        worker.ask("clear")
        end = worker.ask("stats")
        return {"widths": count, "need": need, "budget": need // 2,
                "worst_bytes": answer["worst_bytes"], "start": start["rss"], "end": end["rss"],
                "packed_growth": end["packed_bytes"] - start["packed_bytes"]}


def more_sessions(count):
    """What each further session of one model adds to the first."""
    with common.latchkey(RECOGNITION, 1) as worker:
        worker.ask("time", 1, "1x3x48x320")
        worker.ask("again")  # the second: what is paged in only once is in it
        first = worker.ask("stats")
        for _ in range(count):
            worker.ask("again")
        opened = worker.ask("stats")
        return {"each": (opened["rss"] - first["rss"]) / count, "weights": first["constants"],
                "packed": opened["packed"] - first["packed"]}


def come_and_go(quick):
    """How ONNX Runtime's process grows by sessions that come and go, and by registrations."""
    counts = {"sessions": 50 if quick else 500, "registrations": 20 if quick else 200}
    with common.host("provider") as worker:
        return [{"what": what, "count": count, "growth": worker.ask(what, count)["growth"] - 1}
                for what, count in counts.items()]


def main():
    chosen = common.options(QUESTION)
    recur = random_widths(common.by_extent(chosen, 40, 400, 2000))
    evict = half_budget(common.by_extent(chosen, 10, 50, 200))
    again = more_sessions(4)
    gone = come_and_go(chosen.quick)
    if chosen.json:
        print(json.dumps({"random_widths": recur, "half_budget": evict, "more_sessions": again,
                          "come_and_go": gone}))
        return
    title = f"{recur['requests']} requests, {recur['widths']} widths"
    common.table([title, "p50 ms", "builds", "cache bytes", "RSS after", "RSS growth", "target"],
                 [[name, f"{p['p50_ms']:.2f}", p["builds"], common.mib(p["bytes"]),
                   common.mib(p["rss"]), f"{100 * p['growth']:.2f} %",
                   "" if name == "first pass" else
                   "met" if p["builds"] == 0 and p["growth"] < 0.01 else
                   "MISSED (0 builds, < 1 %)"]
                  for name, p in zip(("first pass", "second pass"), recur["passes"])])
    print(f"  RSS at the start {common.mib(recur['start'])}, "
          f"after clear {common.mib(recur['end'])}")
    back = (evict["end"] - evict["packed_growth"]) / evict["start"] - 1
    held = evict["worst_bytes"] <= evict["budget"]
    common.table([f"{evict['widths']} widths, half their bytes", "budget", "most bytes",
                  "RSS start", "RSS after clear", "beside weights", "target"],
                 [["", common.mib(evict["budget"]), common.mib(evict["worst_bytes"]),
                   common.mib(evict["start"]), common.mib(evict["end"]), f"{100 * back:+.1f} %",
                   "met" if held and back <= 0.1 else "MISSED (within budget, +10 %)"]])
    part = again["each"] / again["weights"]
    common.table(["a further session", "RSS", "of its weights", "packed anew", "target"],
                 [["", common.mib(again["each"]), f"{100 * part:.1f} %", again["packed"],
                   "met" if part < 0.1 and again["packed"] == 0 else "MISSED (< 10 %, 0)"]])
    common.table(["the provider in ONNX Runtime", "RSS at the end / in the middle", "target"],
                 [[f"{g['count']} {g['what']}", f"{100 * g['growth']:+.2f} %",
                   "met" if g["growth"] < 0.01 else "MISSED (< 1 %)"] for g in gone])


if __name__ == "__main__":
    main()
