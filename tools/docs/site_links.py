"""Follows the links of the site that was built, and counts clicks from its start page."""

from __future__ import annotations

import tomllib
import urllib.error
import urllib.parse
import urllib.request
from collections import deque
from html.parser import HTMLParser
from pathlib import Path

SECONDS = 20  # for an answer from the web


class Page(HTMLParser):
    """Links, what they may lead to, and what the page loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.words: list[str] = []
        self.feed(text)

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value is not None}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(values.get("href", ""))
        elif tag in ("script", "img", "iframe", "source") and "src" in values:
            self.loads.append(values["src"])


def is_of_web(link: str) -> bool:
    return bool(urllib.parse.urlsplit(link).scheme) or link.startswith("//")


def read(folder: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text()) for path in sorted(folder.rglob("*.html"))}


def target(page: Path, link: str) -> tuple[Path, str]:
    """The file and the anchor that a link within the site leads to."""
    parts = urllib.parse.urlsplit(link)
    path = urllib.parse.unquote(parts.path)
    return ((page.parent / path).resolve() if path else page.resolve(),
            urllib.parse.unquote(parts.fragment))


def clicks(pages: dict[Path, Page], start: Path) -> dict[Path, int]:
    """How many clicks each page is from the start page."""
    found = {start: 0}
    waiting = deque([start])
    while waiting:
        page = waiting.popleft()
        for link in pages[page].links:
            other, _ = (page, "") if is_of_web(link) else target(page, link)
            if other in pages and other not in found:
                found[other] = found[page] + 1
                waiting.append(other)
    return found


def link_faults(pages: dict[Path, Page], folder: Path) -> list[str]:
    faults = []
    for page, content in pages.items():
        name = page.relative_to(folder)
        for link in content.links + content.loads:
            if is_of_web(link):
                continue
            other, anchor = target(page, link)
            if not other.is_file():
                faults.append(f"{name} links to {link}, which does not exist")
            elif anchor and other in pages and anchor not in pages[other].anchors:
                faults.append(f"{name} links to {link}, which has no such anchor")
        faults += [f"{name} loads {load} from the web" for load in content.loads if is_of_web(load)]
    return faults


def question_faults(pages: dict[Path, Page], folder: Path, questions: Path) -> list[str]:
    """Questions whose answer is not there, or more clicks away than the list allows."""
    listed = tomllib.loads(questions.read_text())
    near = clicks(pages, (folder / "index.html").resolve())
    faults = []
    for question in listed["questions"]:
        page, _, anchor = question["answer"].partition("#")
        path = (folder / f"{page}.html").resolve()
        if path not in pages or anchor and anchor not in pages[path].anchors:
            faults.append(f"'{question['ask']}': there is no {question['answer']}")
        elif near.get(path, listed["clicks"] + 1) > listed["clicks"]:
            faults.append(f"'{question['ask']}': {page} is more than {listed['clicks']} clicks "
                          "away")
        elif question["says"] not in pages[path].text:
            faults.append(f"'{question['ask']}': {page} does not say '{question['says']}'")
    return faults


def faults(folder: Path, questions: Path) -> list[str]:
    """What is wrong with the links of a site, in sentences."""
    pages = {path.resolve(): page for path, page in read(folder).items()}
    folder = folder.resolve()
    return link_faults(pages, folder) + question_faults(pages, folder, questions)


def external_faults(folder: Path) -> list[str]:
    """Links to the web that do not answer. Asks each once."""
    found = {link.partition("#")[0]: path for path, page in read(folder).items()
             for link in page.links if is_of_web(link) and link.startswith("http")}
    faults = []
    for link, path in sorted(found.items()):
        request = urllib.request.Request(link, headers={"User-Agent": "latchkey-docs"})
        try:
            urllib.request.urlopen(request, timeout=SECONDS).close()
        except (urllib.error.URLError, TimeoutError) as error:
            faults.append(f"{path.relative_to(folder)} links to {link}: {error}")
    return faults
