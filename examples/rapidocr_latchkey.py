#!/usr/bin/env python3
"""Runs RapidOCR, an application that knows nothing of Latchkey, on ONNX Runtime with and without
Latchkey's provider, and shows the text, the time, and what the provider claimed.

The application is the PyPI package rapidocr-onnxruntime 1.4.4, as it is. It opens three models of
dynamic shape with onnxruntime.InferenceSession and a list of providers of its own, which has no
room for another. So while it opens them, it finds in that place a function that asks for the
provider too.

The page is drawn with Pillow's own font, or given with --image.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import numpy
    import onnxruntime
    from PIL import Image, ImageDraw, ImageFont
    from rapidocr_onnxruntime import RapidOCR
    from rapidocr_onnxruntime.utils import infer_engine

    import latchkey.ort
except ImportError as error:
    sys.exit(f"rapidocr_latchkey: {error}: tools/setup --development and tools/install_python put "
             "all that it needs into .venv, whose python runs it then; elsewhere pip install "
             "rapidocr-onnxruntime==1.4.4 does, besides latchkey")

LINES = ("Every lock has a key.", "Latchkey 0.1 asks by key, builds once", "Open 7 days, 24 hours.",
         "The quick brown fox jumps")


@contextlib.contextmanager
def sessions_on_latchkey(**options: str) -> Iterator[list[onnxruntime.InferenceSession]]:
    """Sessions that RapidOCR opens inside ask the provider first; they are in the list that this
    gives. `options`: of the provider."""
    opened: list[onnxruntime.InferenceSession] = []
    plain = infer_engine.InferenceSession

    # In place of RapidOCR's list: what the provider leaves goes to the CPU provider all the same.
    def open_session(*args, sess_options, providers, **kwargs):
        latchkey.ort.append(sess_options, **options)
        opened.append(plain(*args, sess_options=sess_options, **kwargs))
        return opened[-1]

    infer_engine.InferenceSession = open_session
    try:
        yield opened
    finally:
        infer_engine.InferenceSession = plain


def draw(lines: tuple[str, ...]) -> Image.Image:
    font = ImageFont.load_default(32)
    page = Image.new("RGB", (40 + int(max(font.getlength(line) for line in lines)),
                             24 + 56 * len(lines)), "white")
    pen = ImageDraw.Draw(page)
    for i, line in enumerate(lines):
        pen.text((20, 20 + 56 * i), line, fill="black", font=font)
    return page


def read(ocr, page: Image.Image) -> list[str]:
    """The lines of a page, from top to bottom."""
    found, _ = ocr(numpy.asarray(page)[:, :, ::-1])  # it expects blue first
    return [text for _, text, _ in found or []]


def measure(ocr, page: Image.Image, rounds: int) -> tuple[list[str], list[float]]:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        text = read(ocr, page)
        times.append(time.perf_counter() - start)
    return text, times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--image", type=Path, help="a picture of your own")
    parser.add_argument("--rounds", type=int, default=5, help="times to read it (default: 5)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    args = parser.parse_args()
    try:
        page = Image.open(args.image).convert("RGB") if args.image else draw(LINES)
    except OSError as error:
        sys.exit(f"rapidocr_latchkey: {error}")

    applications = {"CPUExecutionProvider": RapidOCR()}
    provider = latchkey.ort.get_ep_name()
    with sessions_on_latchkey(run_statistics="on") as sessions:
        applications[provider] = RapidOCR()
    result = {}
    for name, ocr in applications.items():
        text, times = measure(ocr, page, max(2, args.rounds))
        result[name] = {"text": text, "first": times[0], "best": min(times[1:])}
    found = [latchkey.ort.stats(session) for session in sessions]
    found = [{"model": Path(one["model"]).name, **one["claims"]} for one in found]
    if args.json:
        json.dump({"providers": result, "claims": found}, sys.stdout, indent=2)
        print()
        return
    print("\n".join(result[provider]["text"]))
    same = result[provider]["text"] == result["CPUExecutionProvider"]["text"]
    print(f"\nthe CPU provider reads {'the same' if same else 'something else'}\n")
    for name, one in result.items():
        print(f"{name:<26} first page {one['first']:.3f} s, best of the others {one['best']:.3f} s")
    print()
    for one in found:
        left = ", ".join(f"{each['count']} {each['operator']} ({each['reason']})"
                         for each in one["left"])
        print(f"{one['model']}: {one['claimed']} of {one['nodes']} nodes in {one['subgraphs']} "
              f"subgraphs; left: {left or 'none'}")


if __name__ == "__main__":
    main()
