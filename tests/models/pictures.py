"""Pictures of text, drawn from a seed: what the OCR models are made for."""

import random

import numpy
from PIL import Image, ImageDraw, ImageFont

WORDS = ("lock", "key", "Every", "cache", "oneDNN", "runtime", "2026", "Open", "7", "days", "shape",
         "row", "table", "primitive", "Latchkey", "width", "of", "the", "a", "under", "No. 42",
         "thread", "plan", "frame", "weights", "budget", "quick", "brown", "fox", "jumps")


def draw_lines(width, height, lines, font_size):
    """Black on white, one line under the other; an image."""
    image = Image.new("RGB", (width, height), "white")
    pen = ImageDraw.Draw(image)
    for i, line in enumerate(lines):
        font = ImageFont.load_default(font_size)
        pen.text((8, i * height // len(lines) + 4), line, "black", font)
    return image


def draw_page(seed, least=128, most=256):
    """A page of one to three lines of words, of a size of its own."""
    choice = random.Random(seed)
    height, width = choice.randint(least, most), choice.randint(least * 2, most * 2)
    count = choice.randint(1, 3)
    font_size = min(height // (2 * count), 36)
    lines = []
    for _ in range(count):
        words = [choice.choice(WORDS)]
        while True:
            word = choice.choice(WORDS)
            longer = " ".join([*words, word])
            if ImageFont.load_default(font_size).getlength(longer) > width - 16:
                break
            words.append(word)
        lines.append(" ".join(words))
    return draw_lines(width, height, lines, font_size), lines


def picture(height, width, *lines):
    """Lines of text as a tensor, in a size that fits."""
    return to_tensor(draw_lines(width, height, lines, max(10, height // (2 * len(lines)))))


def to_tensor(image):
    """1 x 3 x height x width between -1 and 1."""
    pixels = numpy.asarray(image, numpy.float32) / 127.5 - 1
    return numpy.ascontiguousarray(pixels.transpose(2, 0, 1)[None])
