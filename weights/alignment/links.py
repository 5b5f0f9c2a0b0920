"""Word alignments from files: words, links, symmetrisation, and links between pieces.

A links file has one line for each pair of its corpus: the links of the forward run, TAB, the links of the backward run.
A link is `i-j`: word i of the first language, word j of the second, both counted from 0. A word, in lower-cased text,
is a run of letters, digits, underscores and apostrophes, cut after an apostrophe that follows a letter or digit
(`l'eau` is `l'`, `eau`); every other character except white space is a word of its own.
"""

from __future__ import annotations

import re

Span = tuple[int, int]   # characters begin..end-1 of a text
Links = list[tuple[int, int]]  # (source word or token, target word or token)

WORD = re.compile(r"[^\w\s'’]|[\w'’]+")
CUT = re.compile(r"(?<=[^\W_])['’]")
NEIGHBOURS = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]


def words(text: str) -> list[Span]:
    """The spans of the words in the text."""
    spans: list[Span] = []
    for run in WORD.finditer(text):
        begin, end = run.span()
        if "'" in run[0] or "’" in run[0]:
            for cut in CUT.finditer(run[0]):
                if run.start() + cut.end() < end:
                    spans.append((begin, run.start() + cut.end()))
                    begin = run.start() + cut.end()
        spans.append((begin, end))
    return spans


def parse(field: str) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in (link.split("-") for link in field.split())}


def grow_diag_final_and(forward: set[tuple[int, int]], backward: set[tuple[int, int]]) -> Links:
    """Koehn et al. 2005: the links of both runs; then links of either run that adjoin an accepted link, also
    diagonally, and include a word without links; then links of either run between two words without links."""
    links, union = forward & backward, forward | backward
    sources, targets = {i for i, _ in links}, {j for _, j in links}
    grown = bool(union - links)
    while grown:
        grown = False
        for i, j in sorted(links):
            for di, dj in NEIGHBOURS:
                near = (i + di, j + dj)
                if near in union and near not in links and (near[0] not in sources or near[1] not in targets):
                    links.add(near)
                    sources.add(near[0])
                    targets.add(near[1])
                    grown = True
    for run in (forward, backward):
        for i, j in sorted(run):
            if i not in sources and j not in targets:
                links.add((i, j))
                sources.add(i)
                targets.add(j)
    return sorted(links)


def owners(text: str, spans: list[Span]) -> list[int]:
    """The index of the word to which each character belongs; -1 if none."""
    found = [-1] * len(text)
    for word, (begin, end) in enumerate(spans):
        found[begin:end] = [word] * (end - begin)
    return found


def between_pieces(links: Links, source: list[set[int]], target: list[set[int]]) -> Links:
    """source, target: for each piece the words with which it shares characters. A link between words becomes a link
    between all their pieces."""
    pieces: dict[int, list[int]] = {}
    for p, of in enumerate(source):
        for word in of:
            pieces.setdefault(word, []).append(p)
    linked: dict[int, list[int]] = {}
    for i, j in links:
        linked.setdefault(j, []).append(i)
    return [(p, q) for q, of in enumerate(target)
            for p in sorted({p for j in of for i in linked.get(j, ()) for p in pieces.get(i, ())})]
