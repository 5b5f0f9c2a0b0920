#!/usr/bin/env python3
"""Checks the width of lines: python3 tests/widths.py, from any folder. It prints file:line of each that is too wide,
and then exits with status 1.

C has 100 columns, Python and JavaScript have 120, documents have 140. Exceptions:
- C between `clang-format off` and `on`,
- strings of several lines except docstrings: CSS, HTML and the text of documents are laid out for their readers,
- lines that begin with a string, which cannot be split,
- tables, code and link targets in documents.
"""
from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import Callable, Iterator

ROOT = Path(__file__).resolve().parent.parent
LINK_TARGET = re.compile(r"\]\([^()]*\)")
TEMPLATE = re.compile(r"`(?:\\.|[^`\\])*`", re.S)


def python(text: str) -> Iterator[tuple[int, str]]:
    """Yields (number, line) for the lines to check."""
    strings, before = set(), tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        docstring = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        if token.type == tokenize.STRING and not docstring and token.start[0] < token.end[0]:
            strings |= set(range(token.start[0], token.end[0] + 1))
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type
    yield from ((i, line) for i, line in enumerate(text.split("\n"), 1) if i not in strings)


def javascript(text: str) -> Iterator[tuple[int, str]]:
    inside = set()
    for template in TEMPLATE.finditer(text):
        if "\n" in template[0]:
            first = text.count("\n", 0, template.start()) + 1
            inside |= set(range(first, first + template[0].count("\n") + 1))
    for number, line in enumerate(text.split("\n"), 1):
        if number not in inside and not re.match(r"""\s*(?:\w+: ?)?["'`]""", line):
            yield number, line


def c(text: str) -> Iterator[tuple[int, str]]:
    counts = True
    for number, line in enumerate(text.split("\n"), 1):
        if "clang-format o" in line:
            counts = "clang-format on" in line
        elif counts:
            yield number, line


def document(text: str) -> Iterator[tuple[int, str]]:
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    ") and not line.lstrip().startswith("|"):
            yield number, LINK_TARGET.sub("]", line)


KINDS: dict[str, tuple[int, Callable[[str], Iterator[tuple[int, str]]]]] = {
    ".c": (100, c), ".h": (100, c), ".cc": (100, c), ".py": (120, python),
    ".js": (120, javascript), ".mjs": (120, javascript), ".jsx": (120, javascript), ".md": (140, document),
}


def main() -> int:
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True, check=True).stdout.splitlines()
    wrong = 0
    for path in (path for path in listed if Path(path).suffix in KINDS and (ROOT / path).is_file()):
        limit, lines = KINDS[Path(path).suffix]
        for number, line in lines((ROOT / path).read_text(encoding="utf-8")):
            if len(line) > limit:
                print(f"{path}:{number}: {len(line)} columns, and {limit} are allowed")
                wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
