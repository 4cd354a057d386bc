#!/usr/bin/env python3
"""Makes docs/measured.json, which the performance page draws its plots from, of what the benchmarks
have printed.

    benchmarks/run --json cache_lookup sizes models layers products rows moves resize \\
        whole_models beside_paddle instruction_sets > measured
    tools/docs/measured.py measured > docs/measured.json

Run it on a machine that does nothing else. Where a part is measured anew by itself and put in by
hand, it has a `day` of its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HITS = {  # of cache_lookup: what the page calls it
    "shapes unchanged": "comparison that says that nothing has changed",
    "convolution, per-thread cache": "name key of a convolution, per-thread cache",
    "convolution, shared cache": "the same, shared cache",
    "convolution, shared cache, 2 threads": "the same, two threads",
    "one lock around one table": "one lock around one table",
    "string key and five look-ups": "string key and five look-ups",
    "oneDNN's cache: softmax": "oneDNN's cache, softmax",
    "oneDNN's cache: matmul": "oneDNN's cache, product",
    "oneDNN's cache: convolution": "oneDNN's cache, convolution",
}


def two_threads(found: list[dict[str, Any]], ratio: Any) -> dict[str, list[float]]:
    """By model, with one thread and with two."""
    rows: dict[str, list[float]] = {}
    for result in sorted(found, key=lambda result: int(result["threads"])):
        rows.setdefault(result["model"], []).append(ratio(result))
    return {model: values for model, values in rows.items() if len(values) == 2}


def hits(results: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    times = results["cache_lookup"]["nanoseconds"]
    return {"what": "Finding what was built", "benchmarks": ["cache_lookup"],
            "peer": f"oneDNN {about['onednn']}", "series": ["ns"],
            "rows": {name: [times[of]["median"]] for of, name in HITS.items()}}


def sizes(results: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    return {"what": "Requests of 400 sizes that were never seen before, one thread: time relative "
                    "to the others' for the same",
            "benchmarks": ["sizes"], "peer": "the others",
            "series": [f"ONNX Runtime {about['onnxruntime']}", f"OpenVINO {about['openvino']}"],
            "rows": {one["model"]: [one["ratio"]["onnxruntime"], one["ratio"]["openvino"]]
                     for one in results["sizes"]["models"]}}


def models(results: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    return {"what": "Whole models of one size, from Python: time relative to the faster of the "
                    "two peers",
            "benchmarks": ["models"],
            "peer": f"ONNX Runtime {about['onnxruntime']} or OpenVINO {about['openvino']}, the "
                    "faster",
            "series": ["one thread", "two threads"],
            "rows": two_threads(results["models"]["models"],
                                lambda result: max(result["ratio"].values()))}


def whole_models(results: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    return {"what": "Models as exporters write them, one thread: time relative to ONNX Runtime's "
                    "CPU provider",
            "benchmarks": ["whole_models"], "peer": f"ONNX Runtime {about['onnxruntime']}",
            "series": ["our executor", "our provider in ONNX Runtime"],
            "rows": {one["model"]: [one["ratio"]["latchkey"], one["ratio"]["provider"]]
                     for one in results["whole_models"]["models"]
                     if one["threads"] == 1 and "latchkey" in one["ratio"]}}


def layers(results: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    found = [{"model": name.split(", ")[0], "threads": name.split()[-1], **one}
             for name, one in results["layers"].items()]
    return {"what": "Convolutions and products of whole models: time relative to oneDNN's "
                    "primitives, each made for its one layer",
            "benchmarks": ["layers"], "peer": f"oneDNN {about['onednn']}",
            "series": ["one thread", "two threads"],
            "rows": two_threads(found, lambda one: one["ms"] / one["primitives_ms"])}


def kernels(results: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    benchmarks = ["products", "rows", "moves", "resize"]
    return {"what": "Kernels that serve every size: time relative to oneDNN's primitives, each "
                    "made for its one size",
            "benchmarks": benchmarks, "peer": f"oneDNN {about['onednn']}",
            "series": ["median", "worst"],
            "rows": {name: [group["median"], group["most"]]
                     for benchmark in benchmarks for name, group in results[benchmark].items()}}


def paddle(results: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    return {"what": "Whole models of one size by the engine onednn: time relative to Paddle's",
            "benchmarks": ["beside_paddle"], "peer": "Paddle with oneDNN",
            "series": ["one thread", "two threads"],
            "rows": two_threads(results["beside_paddle"]["fixed"],
                                lambda result: result["ratio"])}


SETS = {"amx": "all", "avx512_core": "AVX-512 alone", "avx2": "AVX2", "sse2": "SSE2"}


def instruction_sets(results: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    """Times of all that the processor has."""
    return {"what": "Whole models with lesser instruction sets, one thread: time relative to that "
                    "with all that the processor has",
            "benchmarks": ["instruction_sets"], "peer": "all instructions",
            "series": [*list(SETS.values())[1:], f"ONNX Runtime {about['onnxruntime']}"],
            "rows": {one["model"]: [1 / one["ratio"][name]
                                    for name in [*list(SETS)[1:], "onnxruntime"]]
                     for one in results["instruction_sets"]["models"]}}


PLOTS = {"hits": hits, "sizes": sizes, "models": models, "whole_models": whole_models,
         "layers": layers, "kernels": kernels, "paddle": paddle,
         "instruction_sets": instruction_sets}


def growth(results: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"model": one["model"], "second": round(one["second"], 3),
             **{engine: round(one["growth"][engine] / 2**20, 1)
                for engine in ("latchkey", "onnxruntime", "openvino")}}
            for one in results["sizes"]["models"]]


def random_sizes(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Beside Paddle: a row for each model and engine."""
    return [{"model": model, "engine": engine, "p50_ms": round(found["p50_ms"], 2),
             "growth": round(found["growth"] / 2**20, 1)}
            for model, engines in results["beside_paddle"]["random"].items()
            for engine, found in engines.items()]


def measured(results: dict[str, Any]) -> dict[str, Any]:
    """What the page needs of it."""
    about = results["about"]
    made = {name: plot(results, about) for name, plot in PLOTS.items()}
    for plot in made.values():
        plot["rows"] = {name: [round(value, 3) for value in values]
                        for name, values in plot["rows"].items()}
    return {"about": about, "plots": made, "growth": growth(results),
            "random_sizes": {"rows": random_sizes(results)}}


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    print(json.dumps(measured(json.loads(Path(sys.argv[1]).read_text())), indent=1))


if __name__ == "__main__":
    main()
