"""Are sizes that recur as fast as one size that is fixed, by the engine `auto`?

Each model gets eight sizes. One process runs them in turns, as often as it takes until each has
come again; for each size another process runs it alone. On one thread, from C, in turns of short
blocks. A run of the first process comes after another size, so that it finds in the caches what
that has left there; what this takes by itself shows in the same ratio of the engine `native`, whose
plans are the same however often a size comes.
"""

import contextlib
import json
import tempfile

import common
import sizes

QUESTION = __doc__.splitlines()[0]
ENGINES = ("auto", "native")
SIZES = 8
RECURRING = 10  # runs after which a size has come again
AT_MOST = 1.00  # the ratio of auto, divided by that of native
NOISE = 0.02


def start(stack, model, shapes, engine):
    """One worker for all sizes, and one for each, after their first runs."""
    def worker():
        return stack.enter_context(common.latchkey(model, 1, LATCHKEY_ENGINE=engine))
    of_all, of_one = worker(), {shape: worker() for shape in shapes}
    for _ in range(RECURRING):
        sizes.ask(of_all, shapes)
    for shape, alone in of_one.items():
        alone.ask("time", RECURRING, shape)
    return of_all, of_one


def measure(model, shapes, engine, blocks):
    """Milliseconds of a pass over all sizes, recurring and fixed, and their ratio."""
    with contextlib.ExitStack() as stack:
        of_all, of_one = start(stack, model, shapes, engine)

        def passed(kind, _):
            if kind == "recurring":
                return [sum(sizes.ask(of_all, shapes))]
            return [sum(common.median(of_one[shape].ask("time", 3, shape)["ns"])
                        for shape in shapes)]
        return common.figures(common.alternate(("recurring", "fixed"), blocks, passed))


def measure_case(model, shapes, blocks):
    found = {engine: measure(model, shapes, engine, blocks) for engine in ENGINES}
    ratio = {engine: one["ratio"]["fixed"] for engine, one in found.items()}
    return {"p50_ms": {engine: one["p50_ms"] for engine, one in found.items()}, "ratio": ratio,
            "beside_native": ratio["auto"] / ratio["native"]}


def verdict(result):
    if result["beside_native"] <= AT_MOST:
        return "met"
    return "met, within noise" if result["beside_native"] <= AT_MOST + NOISE else "MISSED"


def main():
    chosen = common.options(QUESTION)
    blocks = common.by_extent(chosen, 5, 21, 81)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name, model, shapes in sizes.cases(folder, common.by_extent(chosen, 40, 400, 400)):
            found = measure_case(model, shapes[:SIZES], blocks)
            if verdict(found) == "MISSED":  # in new processes, for longer
                found = measure_case(model, shapes[:SIZES], 4 * blocks)
            results.append({"model": name, **found})
    if chosen.json:
        print(json.dumps({"machine": common.machine(), "at_most": AT_MOST, "noise": NOISE,
                          "models": results}))
        return
    common.table(["ms, all sizes", *(f"{engine}, {kind}" for engine in ENGINES
                                     for kind in ("recurring", "fixed")),
                  "auto", "native", "auto / native", "target"],
                 [[r["model"], *(f"{r['p50_ms'][engine][kind]:.2f}" for engine in ENGINES
                                 for kind in ("recurring", "fixed")),
                   *(f"{r['ratio'][engine]:.3f}" for engine in ENGINES),
                   f"{r['beside_native']:.3f}", verdict(r)] for r in results])


if __name__ == "__main__":
    main()
