"""Pictures and plots of the site, put where a page has `<!-- picture: NAME -->`, or a block that
begins with `<!-- plot: NAME -->` or `<!-- table: NAME -->`.

Pictures are drawn by graphviz from the code: the includes between folders as the sources have them,
and those of pictures.toml, whose functions and calls must be in the code. They stand in the page as
SVG that takes the page's colours.
"""

from __future__ import annotations

import functools
import html
import re
import subprocess
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import plots

PICTURE = re.compile(r"^<!-- (picture): ([a-z_]+) -->$", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
# The floors of the house as pages speak of them; a file is of the longest that it lies in.
FLOORS = ("include/latchkey", "base", "base/team", "keys", "keys/cache", "keys/weights",
          "ops/kernel", "ops/plan", "ops", "ops/engine/native", "plugin", "plugin/serve",
          "plugin/table", "executor_glue/graph",
          "executor_glue/passes", "executor_glue/run", "executor_glue/flow", "executor_glue/onnx",
          "executor_glue/session", "executor_glue/ort", "executor_glue/cli")


# ---- SVG -----------------------------------------------------------------------------------------


def figure(svg: str, alt: str, caption: str) -> str:
    """A figure for a page. `svg` begins with its element."""
    text = html.escape(alt, quote=True)
    svg = re.sub(r"<svg ", f'<svg role="img" aria-label="{text}" ', svg, count=1)
    # Blank lines would end the block of HTML.
    svg = re.sub(r"\n\s*\n+", "\n", svg)
    return (f'```{{raw}} html\n<figure class="picture">\n{svg}\n'
            f"<figcaption>{html.escape(caption)}</figcaption>\n</figure>\n```\n")


def drawn(dot: str) -> str:
    """What graphviz makes of a graph, in the colours of the page."""
    try:
        done = subprocess.run(["dot", "-Tsvg"], input=dot, capture_output=True, text=True,
                              check=False)
    except FileNotFoundError:
        raise RuntimeError("failed to draw: graphviz is missing; tools/setup --development "
                           "installs it") from None
    if done.returncode != 0:
        raise RuntimeError(f"failed to draw: {done.stderr.strip()}")
    svg = done.stdout[done.stdout.index("<svg"):]
    svg = re.sub(r"<!--.*?-->\n?", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<title>.*?</title>\n?", "", svg, flags=re.DOTALL)
    svg = re.sub(r' id="[^"]*"', "", svg)
    return svg.replace('"black"', '"currentColor"').replace('"white"', '"none"')


HEAD = """digraph {
  rankdir=%s; bgcolor="transparent"; pad=0.1; nodesep=0.25; ranksep=0.3;
  node [shape=box, style=rounded, fontname="sans-serif", fontsize=11, margin="0.12,0.06"];
  edge [fontname="sans-serif", fontsize=9, arrowsize=0.6];
"""


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


# ---- pictures ------------------------------------------------------------------------------------


def floor_of(path: str) -> str | None:
    found = [floor for floor in FLOORS if path.startswith(floor + "/")]
    return max(found, key=len) if found else None


def includes(root: Path) -> Counter[tuple[str, str]]:
    """How many files of a floor include a header of another, by both floors."""
    edges: Counter[tuple[str, str]] = Counter()
    for top in sorted({floor.split("/")[0] for floor in FLOORS}):
        for path in sorted((root / top).rglob("*.[ch]")):
            name = str(path.relative_to(root))
            floor = floor_of(name)
            targets = {floor_of(f"include/{target}" if target.startswith("latchkey/") else target)
                       for target in INCLUDE.findall(path.read_text())}
            edges.update((floor, other) for other in targets
                         if floor is not None and other is not None and other != floor)
    return edges


def without_ways_round(edges: Counter[tuple[str, str]]) -> list[tuple[str, str]]:
    """The edges that no chain of others stands for, so that the picture can be read."""
    below: dict[str, set[str]] = {}
    for upper, lower in edges:
        below.setdefault(upper, set()).add(lower)

    @functools.cache
    def reach(floor: str) -> frozenset[str]:
        return frozenset(below.get(floor, set())).union(*map(reach, below.get(floor, set())))

    return sorted((upper, lower) for upper, lower in edges
                  if not any(lower in reach(other) for other in below[upper] - {lower}))


def house(root: Path) -> str:
    edges = includes(root)
    lines = [HEAD % "TB"]
    for upper, lower in without_ways_round(edges):
        label = quoted(str(edges[upper, lower]))
        lines.append(f"  {quoted(upper)} -> {quoted(lower)} [label={label}];")
    total = sum(edges.values())
    return figure(drawn("\n".join(lines) + "\n}\n"),
                  "The folders of the product, each above those that it includes: the command, "
                  "sessions and the provider at the top, then the executor; the contract between "
                  "them and the plugin, operators, keys; base at the bottom.",
                  f"Who includes whom, as the sources are: {total} includes between "
                  f"{len({floor for edge in edges for floor in edge})} folders, all of them "
                  "downwards. A number: how many files do. An arrow is left out where a chain of "
                  "others leads to the same folder.")


def body_of(root: Path, file: str, function: str) -> str:
    """The text of a function's body; a function begins and ends in the first column."""
    path = root / file
    text = path.read_text() if path.is_file() else ""
    match = re.search(rf"^[a-z][^;{{}}\n]*\b{function}\((?:[^;{{}}])*\{{\n.*?^\}}", text,
                      re.MULTILINE | re.DOTALL)
    if match is None:
        raise ValueError(f"failed to draw: {file} has no function {function}, which a picture of "
                         "tools/docs/pictures.toml shows")
    return match[0]


def call_graph(root: Path, spec: dict[str, Any]) -> str:
    lines = [HEAD % spec["rankdir"]]
    bodies = {name: body_of(root, file, function)
              for name, (file, function, _) in spec["nodes"].items()}
    for name, (_, function, label) in spec["nodes"].items():
        lines.append(f"  {quoted(name)} [label=<<b>{html.escape(function)}</b><br/>"
                     f"<font point-size=\"9\">{html.escape(label)}</font>>];")
    for upper, lower in spec["edges"]["calls"]:
        function = spec["nodes"][lower][1]
        if not re.search(rf"\b{function}\b", bodies[upper]):
            raise ValueError(f"failed to draw: {spec['nodes'][upper][1]} does not call {function}, "
                             "as a picture of tools/docs/pictures.toml shows it")
        lines.append(f"  {quoted(upper)} -> {quoted(lower)};")
    for upper, lower, way in spec["edges"]["through"]:
        first = way.split(", ")[0]
        if not re.search(rf"\b{first}\(", bodies[upper]):
            raise ValueError(f"failed to draw: {spec['nodes'][upper][1]} does not call {first}, "
                             "as a picture of tools/docs/pictures.toml shows it")
        label = quoted(f" {way}")
        lines.append(f"  {quoted(upper)} -> {quoted(lower)} [style=dashed, label={label}];")
    return figure(drawn("\n".join(lines) + "\n}\n"), spec["alt"], spec["caption"])


def state_machine(root: Path, spec: dict[str, Any]) -> str:
    lines = [HEAD % spec["rankdir"]]
    for name, label in spec["states"].items():
        lines.append(f"  {quoted(name)} [label={quoted(label)}];")
    for before, after, file, function, when in spec["changes"]["rows"]:
        body_of(root, file, function)
        label = quoted(f" {when} \n {function}")
        lines.append(f"  {quoted(before)} -> {quoted(after)} [label={label}];")
    return figure(drawn("\n".join(lines) + "\n}\n"), spec["alt"], spec["caption"])


def picture(name: str, root: Path) -> str:
    if name == "house":
        return house(root)
    specs = tomllib.loads((root / "tools/docs/pictures.toml").read_text())
    if name not in specs:
        raise ValueError(f"there is no picture {name}: house, {', '.join(specs)}")
    spec = specs[name]
    return call_graph(root, spec) if "nodes" in spec else state_machine(root, spec)


def put_in(text: str, page: str, root: Path) -> str:
    """The page with its pictures, plots and tables."""

    def made(mark: re.Match[str]) -> str:
        try:
            if mark[1] == "picture":
                return picture(mark[2], root)
            if mark[1] == "plot":
                return figure(*plots.plot(mark[2], root))
            return plots.table(mark[2], root)
        except KeyError as error:
            raise ValueError(f"failed to make {mark[1]} {mark[2]} of {page}: {error}") from None
        except ValueError as error:
            raise ValueError(f"{page}: {error}") from None

    return plots.BLOCK.sub(lambda mark: made(mark) + "\n", PICTURE.sub(made, text))
