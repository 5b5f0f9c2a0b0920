#!/usr/bin/env python3
"""Checks that the documents name only what exists: python3 tests/readme_links.py, from any folder.
Exit status 1 names each wrong line.

Input: every Markdown file of the checkout except CHANGELOG.md, which names files that no longer exist. It checks
- relative links [text](path#heading): the file or folder, and the heading,
- names of source files and folders in `code`, * allowed (`search_*.c`): the path of some file or folder must end with
  them,
- modules of weights/ (weights.evaluation.report): the file or the package,
- `make TARGET`, in code and in indented blocks: Makefile or tests/Makefile has the target.
"""
from __future__ import annotations

import os
import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = {"build", "node_modules", "__pycache__"}  # created by tools, not part of the checkout
HISTORY = {"CHANGELOG.md"}
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(([^()\s]+)\)")
SPAN = re.compile(r"(`+)(.+?)\1")
SOURCE = re.compile(
    r"(?:\.\./)*((?:[\w*.-]+/)*[\w*-][\w*.-]*\.(?:c|cc|h|def|py|mjs|js|sh|md|yaml|yml|sbatch|webp)|(?:[\w*.-]+/)+)")
MODULE = re.compile(r"\bweights((?:\.[a-z_]{3,})+)\b(?!\.\w)")
MAKE = re.compile(r"(?:^|&& |; |\$ )make (?:[A-Z_]+=\S+ )*([a-z][\w-]*)")
TARGETS = re.compile(r"^([a-z][\w -]*):(?!=)|^\.PHONY:(.*)", re.M)
# Created by commands or other programs.
FOREIGN = {"README.original.md", "RELEASE_NOTES.md", "vocab.yml", "decoder.yml"}


def files() -> list[str]:
    """Paths from the root, with a leading / so that a name matches as a whole; those of folders end with /."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in OUTSIDE and not (name.startswith(".") and name != ".ci")]
        found += ["/" + str(Path(folder, name).relative_to(ROOT)) for name in names]
        found += ["/" + str(Path(folder, name).relative_to(ROOT)) + "/" for name in folders]
    return found


def slug(heading: str) -> str:
    """The anchor of a heading as GitHub makes it, for headings that occur once."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path: Path) -> set[str]:
    return {slug(match[1]) for _, line in prose(path) if (match := re.match(r"#+ (.*)", line))}


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Lines outside fenced blocks, numbered from 1."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def targets() -> set[str]:
    text = "".join((ROOT / path).read_text(encoding="utf-8")
                   for path in ("Makefile", "tests/Makefile")).replace("\\\n", " ")
    return {name for line in TARGETS.findall(text) for name in " ".join(line).split()}


def broken_link(document: Path, target: str) -> str | None:
    if re.match(r"[a-z]+:", target):
        return None
    name, _, anchor = target.partition("#")
    path = document if not name else document.parent / name
    if not path.exists():
        return f"no file {target}"
    if anchor and path.suffix == ".md" and anchor not in anchors(path):
        return f"no heading for {target}"
    return None


def wrong(document: Path, known: list[str], made: set[str]) -> Iterator[tuple[int, str]]:
    """Yields (line number, fault) for each name in a document that matches nothing."""
    for number, line in prose(document):
        for target in LINK.findall(SPAN.sub(lambda span: span[0] if "](" not in span[2] else "", line)):
            if message := broken_link(document, target):
                yield number, message
        for _, span in SPAN.findall(line):
            name = SOURCE.fullmatch(span)
            if name and name[1] not in FOREIGN and not any(fnmatchcase(path, "*/" + name[1]) for path in known):
                yield number, f"no file {span}"
            yield from ((number, f"no target {target}") for target in MAKE.findall(span) if target not in made)
        if line.startswith("    "):
            yield from ((number, f"no target {target}") for target in MAKE.findall(line.strip()) if target not in made)
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
        for module in MODULE.findall(line):
            path = ROOT / "weights" / module[1:].replace(".", "/")
            if (not path.is_dir() and not path.with_suffix(".py").exists()
                and not (path.parent.with_suffix(".py")).exists()):
                yield number, f"no module weights{module}"


def check() -> int:
    """The number of wrong names, each printed with its document and line."""
    known, made, count = files(), targets(), 0
    for path in sorted(path for path in known if path.endswith(".md") and path[1:] not in HISTORY):
        for number, message in wrong(ROOT / path[1:], known, made):
            print(f"{path[1:]}:{number}: {message}")
            count += 1
    return count


if __name__ == "__main__":
    sys.exit(1 if check() else 0)
