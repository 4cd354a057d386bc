"""Plots and tables of what benchmarks have measured: docs/operator_times.json, which
`benchmarks/run --json operators` makes, and docs/measured.json, which measured.py makes.

They stand in blocks of pages, which write_numbers.py writes in the repository and figures.py in the
site.
Plots take the colours of the page that they stand in. What is slower than its peer has another
colour and another mark than what is faster.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402  (after the choice of the backend)

# A block begins with a mark and ends with another. One that was not written yet has no end: then
# it is the mark alone.
BLOCK = re.compile(r"^<!-- (plot|table): ([a-z_]+) -->\n"
                   r"(?:(?:(?!<!-- (?:plot|table|picture): ).*\n)*?<!-- end -->\n)?", re.MULTILINE)

INK = "#010203"  # stands for the colour of the page's text
FASTER, SLOWER = "#3d8fc4", "#d9772b"  # can be told apart by colour-blind readers, too
SHADES = ("#1b4f72", FASTER, "#a9cfe8", SLOWER)

STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "latchkey", "font.family": "sans-serif",
    "font.size": 9, "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK,
    "xtick.color": INK, "ytick.color": INK, "figure.facecolor": "none", "axes.facecolor": "none",
    "savefig.transparent": True, "axes.spines.top": False, "axes.spines.right": False,
}


def svg_of(chart: Any) -> str:
    stream = io.StringIO()
    chart.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None})
    pyplot.close(chart)
    svg = stream.getvalue()
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\n?", "", svg, flags=re.DOTALL)
    return svg.replace(INK, "currentColor")


def bar_axes(count: int) -> tuple[Any, Any]:
    chart, axes = pyplot.subplots(figsize=(7, 0.9 + 0.24 * count))
    axes.tick_params(axis="y", length=0)
    axes.margins(y=0.5 / max(count, 1))
    return chart, axes


def colour(ratio: float) -> str:
    return FASTER if ratio <= 1 else SLOWER


def ratio_plot(rows: list[tuple[str, float, float]], ends: tuple[str, str], peer: str) -> str:
    """For each row a line from one ratio to another, with a mark at each end; less is better."""
    with pyplot.rc_context(STYLE):
        chart, axes = bar_axes(len(rows))
        names = [name for name, _, _ in rows]
        for place, (_, first, second) in enumerate(rows):
            axes.plot([first, second], [place, place], color=INK, linewidth=0.8, alpha=0.5)
            for value, filled in ((first, True), (second, False)):
                axes.plot([value], [place], "o" if value <= 1 else "s", markersize=5,
                          markerfacecolor=colour(value) if filled else "none",
                          markeredgecolor=colour(value))
        axes.axvline(1, color=INK, linewidth=0.8)
        axes.set_yticks(range(len(rows)), names)
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel(f"time relative to {peer}; filled: {ends[0]}, open: {ends[1]}; "
                        "squares are slower")
        return svg_of(chart)


def bars_plot(rows: dict[str, list[float]], series: list[str], peer: str) -> str:
    """For each row a bar for each of the series; less is better."""
    with pyplot.rc_context(STYLE):
        chart, axes = bar_axes(len(rows) * len(series) // 2)
        height = 0.8 / len(series)
        for number, name in enumerate(series):
            axes.barh([place + height * (number - (len(series) - 1) / 2)
                       for place in range(len(rows))],
                      [values[number] for values in rows.values()], height=height, label=name,
                      color=SHADES[number])
        axes.axvline(1, color=INK, linewidth=0.8)
        axes.set_yticks(range(len(rows)), list(rows))
        axes.invert_yaxis()
        axes.set_xlabel(f"time relative to {peer}")
        axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(series))
        return svg_of(chart)


def cost_plot(rows: list[tuple[str, float]], unit: str) -> str:
    with pyplot.rc_context(STYLE):
        chart, axes = bar_axes(len(rows))
        axes.barh([name for name, _ in rows], [value for _, value in rows], color=FASTER,
                  height=0.6)
        for place, (_, value) in enumerate(rows):
            axes.text(value * 1.1, place, f"{value:g}", va="center")
        axes.set_xscale("log")
        axes.set_xlim(left=1)
        axes.invert_yaxis()
        axes.set_xlabel(f"{unit}, logarithmic")
        return svg_of(chart)


def read(root: Path, name: str) -> Any:
    return json.loads((root / "docs" / name).read_text())


def operators(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = read(root, "operator_times.json")["operators"]
    return found


def plot(name: str, root: Path) -> tuple[str, str, str]:
    """SVG, a text for who cannot see it, and a caption."""
    if name == "operators":
        times = operators(root)
        rows = [(row["operator"].removeprefix("com.microsoft."), row["ratio"],
                 row["worst"]["ratio"]) for row in times["operators"]]
        rows.sort(key=lambda row: row[1])
        faster = sum(ratio <= 1 for _, ratio, _ in rows)
        peer = f"ONNX Runtime {times['onnxruntime']}"
        return (ratio_plot(rows, ("median of the nodes", "the worst node"), peer),
                f"{len(rows)} operators beside {peer}: the median is below 1 for {faster} of them. "
                "The tables on this page have the numbers.",
                f"Each operator of whole models alone, on one thread, beside {peer}. Machine: "
                f"{times['machine']}; benchmarks/run operators.")
    measured = read(root, "measured.json")
    about, one = measured["about"], measured["plots"][name]
    caption = (f"{one['what']}. {about['machine']}, {about['processors']} processors; "
               f"benchmarks/run {' '.join(one['benchmarks'])}; {one.get('day', about['day'])}.")
    rows_of = one["rows"].items()
    alt = one["what"] + ": " + "; ".join(
        f"{row} {', '.join(f'{value:g}' for value in values)}" for row, values in rows_of)
    if len(one["series"]) == 1:
        return cost_plot([(row, values[0]) for row, values in rows_of], one["series"][0]), \
            alt, caption
    if len(one["series"]) > 2:
        return bars_plot(one["rows"], one["series"], one["peer"]), alt, caption
    first, second = one["series"]
    return (ratio_plot([(row, *values) for row, values in rows_of], (first, second),
                       one["peer"]), alt, caption)


def numbers(name: str, root: Path) -> str:
    """What a plot of measured.json shows, as Markdown."""
    one = read(root, "measured.json")["plots"][name]
    return "\n".join([f"| | {' | '.join(one['series'])} |", "|---" * (1 + len(one["series"])) + "|",
                      *(f"| {row} | {' | '.join(f'{value:.2f}' for value in values)} |"
                        for row, values in one["rows"].items())])


def summary(root: Path) -> list[str]:
    """Whole models at a glance: one size, new sizes and memory, beside both peers."""
    measured = read(root, "measured.json")
    about = measured["about"]
    fixed, new = (measured["plots"][name]["rows"] for name in ("models", "sizes"))
    growth_of = {row["model"]: row for row in measured["growth"]}
    days = {measured["plots"][name].get("day", about["day"]) for name in ("models", "sizes")}
    lines = ["| model | one size: one thread | two threads | new sizes: beside ONNX Runtime "
             "| beside OpenVINO | memory: Latchkey | ONNX Runtime | OpenVINO |",
             "|---" * 8 + "|"]
    for model in dict.fromkeys([*fixed, *new]):
        cells = [f"{value:.2f}" if value else ""
                 for of in (fixed, new) for value in of.get(model, (None, None))]
        grown = growth_of.get(model)
        cells += [f"{grown[engine]:+.0f} MiB" if grown else ""
                  for engine in ("latchkey", "onnxruntime", "openvino")]
        lines.append(f"| {model} | {' | '.join(cells)} |")
    return [*lines, "",
            "Time relative to that of the peers; less is better. One size: relative to the faster "
            f"of ONNX Runtime {about['onnxruntime']} (CPU provider) and OpenVINO "
            f"{about['openvino']}. New sizes: requests of 400 sizes that were never seen before, "
            "one thread. Memory: by how much resident memory grew over these. "
            f"{about['machine']}, {about['processors']} processors; `benchmarks/run models sizes`; "
            f"{' and '.join(sorted(days))}."]


def growth(root: Path) -> list[str]:
    measured = read(root, "measured.json")
    about, rows = measured["about"], measured["growth"]
    return [f"| model | first time / second time | Latchkey | ONNX Runtime {about['onnxruntime']} "
            f"| OpenVINO {about['openvino']} |", "|---|---|---|---|---|",
            *(f"| {row['model']} | {row['second']:.2f} | {row['latchkey']:.1f} MiB | "
              f"{row['onnxruntime']:.1f} MiB | {row['openvino']:.1f} MiB |" for row in rows)]


NAMES = {"paddle": "Paddle", "paddle, no limit": "Paddle, its cache without a limit"}


def beside_paddle(root: Path) -> list[str]:
    measured = read(root, "measured.json")
    about, found = measured["about"], measured["random_sizes"]
    return ["| model | engine | p50 | memory grew by |", "|---|---|---|---|",
            *(f"| {row['model']} | {NAMES.get(row['engine'], 'Latchkey, ' + row['engine'])} | "
              f"{row['p50_ms']:.2f} ms | {row['growth']:.0f} MiB |" for row in found["rows"]), "",
            f"One thread. {about['machine']}, {about['processors']} processors; `benchmarks/run "
            f"beside_paddle`; {found.get('day', about['day'])}."]


TABLES = {"growth": growth, "summary": summary, "paddle": beside_paddle}


def table(name: str, root: Path) -> str:
    """Markdown."""
    if name in TABLES:
        return "\n".join(TABLES[name](root))
    if name != "misses":
        raise KeyError(name)
    times = operators(root)
    late = sorted((row for row in times["operators"] if row["worst"]["ratio"] > 1),
                  key=lambda row: -row["worst"]["ratio"])
    lines = [f"The target is that no node takes more than {times['target']:g} times ONNX Runtime's "
             f"time. {sum(row['worst']['ratio'] > times['target'] for row in late)} of "
             f"{len(times['operators'])} operators have a node that misses it, "
             f"{sum(row['ratio'] > 1 for row in times['operators'])} a median above 1. All that "
             "are slower anywhere:", "",
             "| operator | median | worst | missed | model | shapes |", "|---|---|---|---|---|---|"]
    lines += [f"| {row['operator']} | {row['ratio']:.2f} | {row['worst']['ratio']:.2f} | "
              f"{'yes' if row['worst']['ratio'] > times['target'] else ''} | "
              f"{row['worst']['model']} | {row['worst']['shapes']} |" for row in late]
    return "\n".join(lines)
