#!/usr/bin/env python3
"""Reads three lines of text from a picture, twice, and shows what the cache did.

The picture is drawn with Pillow's own font, or given with --image. It is cut into lines, each of
another width, and each line goes through the recognition model of PP-OCRv4 (in the PyPI package
rapidocr-onnxruntime). The first round builds run plans for every width that it has
not seen; the second builds nothing. With --engine onednn, plans hold primitives of
oneDNN, which are found by key too.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from pathlib import Path

import numpy
from PIL import Image, ImageDraw, ImageFont

import latchkey

LINES = ("Every lock has a key.", "Latchkey 0.1 asks by key, builds once", "Open 7 days, 24 hours.")
HEIGHT = 48  # of a line, as the model was trained
KINDS = {"name": "plans of nodes", "value": "primitives", "run": "run plans"}


def find_model() -> Path:
    """The recognition model, without importing the package, which would need OpenCV."""
    spec = importlib.util.find_spec("rapidocr_onnxruntime")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("read_text: no package rapidocr-onnxruntime: run tools/setup, or give --model")
    return Path(spec.submodule_search_locations[0], "models", "ch_PP-OCRv4_rec_infer.onnx")


def draw(lines: tuple[str, ...]) -> Image.Image:
    """A white picture with the lines, each in a size of its own."""
    fonts = [ImageFont.load_default(size) for size in (40, 32, 36)]
    boxes = [font.getbbox(line) for font, line in zip(fonts, lines)]
    gap = 24
    width = int(max(box[2] for box in boxes)) + 2 * gap
    height = int(sum(box[3] for box in boxes)) + gap * (len(lines) + 1)
    picture = Image.new("RGB", (width, height), "white")
    pen = ImageDraw.Draw(picture)
    y = gap
    for font, box, line in zip(fonts, boxes, lines):
        pen.text((gap, y), line, fill="black", font=font)
        y += int(box[3]) + gap
    return picture


def runs(marked: numpy.ndarray, least_gap: int) -> list[tuple[int, int]]:
    """Where `marked` is set: (first, past the last), joined over gaps smaller than `least_gap`."""
    found: list[tuple[int, int]] = []
    for i in numpy.flatnonzero(marked):
        if found and i - found[-1][1] < least_gap:
            found[-1] = (found[-1][0], int(i) + 1)
        else:
            found.append((int(i), int(i) + 1))
    return found


def cut(picture: Image.Image) -> list[Image.Image]:
    """The lines of text in a picture, by the rows and columns that differ from its background."""
    grey = numpy.asarray(picture.convert("L"), dtype=numpy.int16)
    ink = numpy.abs(grey - int(numpy.median(grey))) > 64
    lines = []
    for top, bottom in runs(ink.any(axis=1), least_gap=6):
        columns = numpy.flatnonzero(ink[top:bottom].any(axis=0))
        margin = max(2, (bottom - top) // 6)
        lines.append(picture.crop((
            max(0, int(columns[0]) - margin), max(0, top - margin),
            min(picture.width, int(columns[-1]) + 1 + margin),
            min(picture.height, bottom + margin))))
    return lines


def to_tensor(line: Image.Image) -> numpy.ndarray:
    """1x3xHEIGHTxW, blue first, from -1 to 1: what the model was trained on."""
    width = max(HEIGHT // 2, round(line.width * HEIGHT / line.height))
    pixels = numpy.asarray(line.resize((width, HEIGHT), Image.Resampling.BILINEAR), numpy.float32)
    blue_first = pixels[:, :, ::-1].transpose(2, 0, 1)
    return numpy.ascontiguousarray(blue_first / 127.5 - 1, numpy.float32)[None]


def decode(scores: numpy.ndarray, characters: list[str]) -> tuple[str, float]:
    """Greedy CTC: the best class of each step, repeats joined, blanks (class 0) left out."""
    best = scores.argmax(axis=1)
    kept = (best != 0) & (best != numpy.concatenate(([0], best[:-1])))
    text = "".join(characters[i - 1] for i in best[kept])
    return text, float(scores.max(axis=1)[kept].mean()) if kept.any() else 0.0


def read(session: latchkey.Session, lines: list[Image.Image], characters: list[str]) -> list[dict]:
    name, results = session.inputs[0].name, []
    for line in lines:
        tensor = to_tensor(line)
        start = time.perf_counter()
        (scores,) = session.run({name: tensor}).values()
        spent = time.perf_counter() - start
        text, confidence = decode(scores[0], characters)
        results.append({"text": text, "confidence": confidence, "width": tensor.shape[3],
                        "milliseconds": spent * 1e3})
    return results


def table(session: latchkey.Session, before: dict | None) -> dict:
    """What the cache did since `before`."""
    now = session.stats()["cache"]
    fields = ("hits", "misses", "builds", "evictions")
    return {kind: {**{field: now[kind][field] - (before[kind][field] if before else 0)
                      for field in fields},
                   "entries": now[kind]["entries"], "bytes": now[kind]["bytes"]} for kind in KINDS}


def show(number: int, round_: dict) -> None:
    print(f"\nround {number}")
    for line in round_["lines"]:
        print(f"  {line['text']:<40} confidence {line['confidence']:.3f}   "
              f"width {line['width']:4}   {line['milliseconds']:7.1f} ms")
    print(f"\n  {'cache':<16} {'hits':>7} {'misses':>7} {'builds':>7} {'evicted':>8} "
          f"{'entries':>8} {'KiB':>9}")
    for kind, row in round_["cache"].items():
        print(f"  {KINDS[kind]:<16} {row['hits']:7} {row['misses']:7} {row['builds']:7} "
              f"{row['evictions']:8} {row['entries']:8} {row['bytes'] / 1024:9.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a PP-OCR recognition model (ONNX)")
    parser.add_argument("--image", type=Path, help="a picture of your own, lines of dark on light")
    parser.add_argument("--save", type=Path, metavar="FILE", help="save the drawn picture")
    parser.add_argument("--engine", default="native",
                        help="who computes: native (the default), onednn or auto")
    parser.add_argument("--rounds", type=int, default=2, help="times to read it (default: 2)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    args = parser.parse_args()

    try:
        picture = Image.open(args.image).convert("RGB") if args.image else draw(LINES)
        if args.save:
            picture.save(args.save)
        session = latchkey.Session(args.model or find_model(), engine=args.engine)
    except (OSError, ValueError, latchkey.Error) as error:
        sys.exit(f"read_text: {error}")
    if "character" not in session.metadata:
        sys.exit("read_text: the model's metadata has no dictionary, 'character' is needed")
    characters = session.metadata["character"].splitlines() + [" "]
    lines = cut(picture)
    if not args.json:
        print(f"latchkey {latchkey.version()}, engine {args.engine}: "
              f"{len(lines)} lines in {picture.width}x{picture.height}")

    rounds, before = [], None
    for number in range(1, args.rounds + 1):
        results = read(session, lines, characters)
        rounds.append({"lines": results, "cache": table(session, before)})
        before = session.stats()["cache"]
        if not args.json:
            show(number, rounds[-1])
    if args.json:
        json.dump({"version": latchkey.version(), "rounds": rounds}, sys.stdout, indent=2)
        print()


if __name__ == "__main__":
    main()
