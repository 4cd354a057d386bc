"""The changes of one token that may be made to a C file.

Pygments cuts the text into tokens: comments, strings and preprocessor lines are left alone. What a
token does is told by its neighbours, without parsing; what that gets wrong does not compile, and
does not count.
"""

import dataclasses
import re

from pygments.lexers.c_cpp import CLexer
from pygments.token import Comment, Keyword, Literal, Name, Number, Text

OPERATORS = sorted(
    ["<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=",
     "-=", "*=", "/=", "%=", "&=", "|=", "^="], key=len, reverse=True)
# kind: {token: what may stand in its place}
SWAPS = {
    "comparison": {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
                   "==": ("!=",), "!=": ("==",)},
    "boolean": {"&&": ("||",), "||": ("&&",), "!": ("",)},
    "arithmetic": {"+": ("-",), "-": ("+",), "*": ("+",), "/": ("*",), "%": ("/",), "+=": ("-=",),
                   "-=": ("+=",), "++": ("--",), "--": ("++",), "<<": (">>",), ">>": ("<<",),
                   "&": ("|",), "|": ("&",)},
    "return": {"true": ("false",), "false": ("true",), "break": ("continue",),
               "continue": ("break",)},
}
KINDS = (*SWAPS, "constant", "call")
BINARY_ONLY = {"<", ">", "+", "-", "*", "&", "|"}
WHOLE = re.compile(r"(0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)([uUlL]*)$")
# What looks like a call and is none, or is there for its side effect on the compiler alone.
NO_CALL = {"if", "while", "for", "switch", "return", "sizeof", "assert", "static_assert",
           "_Static_assert", "va_end", "__builtin_prefetch", "__builtin_unreachable"}


@dataclasses.dataclass(frozen=True, order=True)
class Mutant:
    path: str
    line: int
    start: int  # offsets in the file
    end: int
    before: str
    after: str
    kind: str
    block: tuple[int, int]  # lines of the outermost braces around it

    def name(self) -> str:
        return f"{self.path}:{self.start}:{self.before}:{self.after}"


@dataclasses.dataclass
class Token:
    start: int
    text: str
    type: object
    line: int

    @property
    def end(self):
        return self.start + len(self.text)


def tokens_of(text: str) -> list[Token]:
    """Those of the language, without blanks, comments and the preprocessor's."""
    out, previous = [], None
    for start, kind, value in CLexer(stripnl=False, ensurenl=False).get_tokens_unprocessed(text):
        if kind in Comment or not value.strip():
            previous = None
            continue
        if kind in Text or kind in Literal.String:
            out.append(Token(start, value, kind, 0))
            previous = None
            continue
        # Operators come in single characters.
        if previous and previous.end == start and any(
                one.startswith(previous.text + value) for one in OPERATORS):
            previous.text += value
            continue
        previous = Token(start, value, kind, 0)
        out.append(previous)
    line, at = 1, 0
    for token in out:
        line += text.count("\n", at, token.start)
        at = token.start
        token.line = line
    return out


def blocks_of(tokens: list[Token]) -> list[tuple[int, int] | None]:
    """For each token, the lines of the outermost braces around it."""
    out, depth, first = [], 0, 0
    for index, token in enumerate(tokens):
        out.append(None)
        if token.text == "{":
            if depth == 0:
                first = index
            depth += 1
        elif token.text == "}" and depth:
            depth -= 1
            if depth == 0:
                out[first:] = [(tokens[first].line, token.line)] * (len(out) - first)
    return out


def is_binary(text: str, token: Token, before: Token) -> bool:
    """Whether an operator has a left side: clang-format sets blanks around those that have, and
    none after the others."""
    is_value = (before.text in (")", "]") or before.type in Name or before.type in Number
                or before.type in Literal.String)
    return is_value and text[token.start - 1].isspace() == text[token.end].isspace()


def end_of_call(tokens: list[Token], at: int) -> int:
    """Of `name(...);` that begins at `at`: the index of the ")"; 0 if it is something else."""
    if at + 1 >= len(tokens) or tokens[at + 1].text != "(" or tokens[at].text in NO_CALL:
        return 0
    depth = 0
    for index in range(at + 1, len(tokens)):
        depth += (tokens[index].text == "(") - (tokens[index].text == ")")
        if depth == 0:
            after = tokens[index + 1].text if index + 1 < len(tokens) else ""
            return index if after == ";" else 0
    return 0


def changes_at(text, tokens, at):
    """(kind, end, after) of each change that begins with a token."""
    token, before = tokens[at], tokens[at - 1]
    for kind, swaps in SWAPS.items():
        if token.text in swaps and not (token.text in BINARY_ONLY
                                            and not is_binary(text, token, before)):
            for after in swaps[token.text]:
                yield kind, token.end, after
    number = WHOLE.match(token.text) if token.type in Number else None
    if number:
        value = int(number[1], 0)
        for other in (value + 1, value - 1):
            if other >= 0:
                yield "constant", token.end, f"{other}{number[2]}"
    if before.text == "return" and token.text.startswith("LK_") and tokens[at + 1].text == ";":
        yield "return", token.end, "LK_INTERNAL" if token.text == "LK_OK" else "LK_OK"
    starts = before.text in (";", "{", "}", ")", "else", ":")
    if starts and (token.type in Name or token.type in Keyword):
        end = end_of_call(tokens, at)
        # After a ")" it is a body of `if` or `for`, unless that closes a cast.
        if end:
            yield "call", tokens[end].end, "(void)0"


def mutants_of(path: str, text: str) -> list[Mutant]:
    """All of them, in the order of the file."""
    tokens = tokens_of(text)
    blocks = blocks_of(tokens)
    out = []
    for at in range(1, len(tokens) - 1):
        # Outside of braces there are declarations, whose changes are errors or nothing. What a
        # .inc holds is inside of something.
        if blocks[at] is None and not path.endswith(".inc"):
            continue
        token = tokens[at]
        for kind, end, after in changes_at(text, tokens, at):
            out.append(Mutant(path, token.line, token.start, end, text[token.start:end], after,
                              kind, blocks[at] or (token.line, token.line)))
    return out


def applied(mutant: Mutant, text: str) -> str:
    return text[:mutant.start] + mutant.after + text[mutant.end:]


def line_of(text: str, number: int) -> str:
    return text.splitlines()[number - 1].strip()
