"""What the site consists of, and how its sources come together.

docs/ is written to be read in the repository, where links lead to files. The site has the same
pages, and pages that are made. `stage` writes all of them, as Markdown for MyST, into one folder
that Sphinx reads. A link to a file of the repository becomes a link to the page that has it: a page
of docs/, the reference of a header, or a page that shows the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import c_reference

# The menu: captions and what stands below them, by the names that pages have on the site.
MENU = {
    "Start": ["start", "start/python", "start/onnxruntime", "start/c_session", "start/c_executor",
              "start/command"],
    "Use": ["questions", "python", "onnxruntime", "c_host", "languages", "command", "engines",
            "onednn", "threads", "memory", "statistics", "trace", "report", "processors",
            "containers", "moving", "hugging_face", "reliability", "security"],
    "Understand": ["how_it_works", "performance", "compare", "decisions/index", "design/index"],
    "Look up": ["reference/c/index", "reference/python", "reference/options",
                "reference/environment", "operators", "glossary", "changelog"],
    "Change it": ["conventions", "add_an_operator", "examples"],
}

# Pages of the repository that have another name on the site than their path below docs/.
RENAMED = {
    "docs/README.md": "index",
    "docs/decisions/README.md": "decisions/index",
    "docs/design/README.md": "design/index",
    "docs/environment.md": "reference/environment",
    "SECURITY.md": "security",
    "CHANGELOG.md": "changelog",
    "examples/README.md": "examples",
}

LINK = re.compile(r"\[([^\[\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^(`{3,}).*?^\2[ \t]*$)", re.MULTILINE | re.DOTALL)
LANGUAGES = {".c": "c", ".h": "c", ".cc": "cpp", ".py": "python", ".json": "json", ".toml": "toml",
             ".cmake": "cmake", ".inc": "c", ".sh": "bash"}


class Site:
    """The sources of the site, in `folder`. Only what has changed is written, so that Sphinx reads
    only that again."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self.written: set[Path] = set()
        self.names = {str(path.relative_to(root)): self.default_name(path.relative_to(root))
                      for path in sorted((root / "docs").rglob("*.md"))}
        self.names |= RENAMED
        self.names |= {f"include/latchkey/{path.name}": f"reference/c/{path.stem}"
                       for path in c_reference.headers_of(root / "include")}
        self.to_stage: list[str] = []  # files that a page links to, and that have no page yet

    @staticmethod
    def default_name(path: Path) -> str:
        return str(path.relative_to("docs").with_suffix(""))

    def write(self, name: str, text: str) -> None:
        """A source of the site, by its name with suffix."""
        path = self.folder / name
        self.written.add(path)
        if path.is_file() and path.read_text() == text:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def remove_others(self) -> None:
        """What an earlier build has written and this one has not."""
        for path in self.folder.rglob("*"):
            if path.is_file() and path not in self.written:
                path.unlink()

    def page_of(self, file: str) -> str:
        """The name of the page that has a file of the repository; makes one for it."""
        if file not in self.names:
            self.names[file] = "source/" + file.replace("README.md", "readme").removesuffix(".md")
            self.to_stage.append(file)
        return self.names[file]

    def link(self, target: str, file: str, name: str) -> str:
        """A link that stands in `file`, as it must stand in the page `name`."""
        if "://" in target or target.startswith(("#", "mailto:")):
            return target
        path, _, anchor = target.partition("#")
        found = os.path.normpath(self.root / Path(file).parent / path)
        relative = os.path.relpath(found, self.root)
        if relative.startswith("..") or not os.path.exists(found):
            raise ValueError(f"failed to stage {file}: it links to {target}, which does not exist")
        if os.path.isdir(found):
            relative = os.path.join(relative, "README.md")
            if not (self.root / relative).is_file():
                raise ValueError(f"failed to stage {file}: the folder {target} has no README.md")
        if relative.endswith(".png"):
            return self.picture(relative, name)
        page = os.path.relpath(self.page_of(relative) + ".md", Path(name).parent)
        return f"{page}#{anchor}" if anchor else page

    def picture(self, file: str, name: str) -> str:
        """The link of the page `name` to a picture of the repository, which gets a copy."""
        copy = self.folder / file
        self.written.add(copy)
        data = (self.root / file).read_bytes()
        if not (copy.is_file() and copy.read_bytes() == data):
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(data)
        return os.path.relpath(copy, (self.folder / name).parent)

    def relinked(self, text: str, file: str, name: str) -> str:
        """The text of a page with its links, but not those in blocks of code."""
        parts = FENCE.split(text)
        # split gives prose, the block, and the marks of its fence by turns
        return "".join(LINK.sub(lambda m: self.link_of(m[1], m[2], file, name), part)
                       if i % 3 == 0 else part for i, part in enumerate(parts) if i % 3 != 2)

    def link_of(self, text: str, target: str, file: str, name: str) -> str:
        """A link as Markdown. One that is called by the name of a page gets the page's title."""
        link = self.link(target, file, name)
        is_page = text.endswith(".md") and target.partition("#")[0].endswith(text)
        return f"[{'' if is_page else text}]({link})"

    def show_file(self, file: str, name: str) -> None:
        """A page that shows a file."""
        text = (self.root / file).read_text()
        if file.endswith(".md"):
            self.write(name + ".md", "---\norphan: true\n---\n" + self.relinked(text, file, name))
            return
        language = LANGUAGES.get(Path(file).suffix)
        if language is None:
            first = text.split("\n", 1)[0]
            language = "bash" if "bash" in first else "python" if "python" in first else "text"
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        self.write(name + ".md", f"---\norphan: true\n---\n# {file}\n\n"
                                 f"{fence}{{code-block}} {language}\n{text}\n{fence}\n")

    def menu(self) -> str:
        """The menu as hidden tables of contents, for the start page."""
        return "\n".join(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(names) +
                         "\n```\n" for caption, names in MENU.items())

    def submenu(self, name: str) -> str:
        """The other pages of a folder, below its index."""
        folder = name.removesuffix("index")
        others = sorted(other.removeprefix(folder) for other in self.names.values()
                        if other.startswith(folder) and other != name)
        return "```{toctree}\n:hidden:\n\n" + "\n".join(others) + "\n```\n"

    def stage(self, rewrite: Callable[[str, str], str]) -> None:
        """All pages of the repository. `rewrite` gets the text and the name of each, and puts in
        what is made."""
        pages = [file for file in self.names if file.endswith(".md")]
        for file in pages:
            name = self.names[file]
            text = rewrite(self.relinked((self.root / file).read_text(), file, name), name)
            if name == "index":
                text += "\n" + self.menu()
            elif name.endswith("/index"):
                text += "\n" + self.submenu(name)
            self.write(name + ".md", text)
        while self.to_stage:
            file = self.to_stage.pop()
            self.show_file(file, self.names[file])
