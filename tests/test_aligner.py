"""Tests of weights/alignment/aligner.py: word segmentation, links between words and pieces, and the command. Tests of
the program itself: tests/weights/test_gibbs.c."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from weights.alignment import aligner  # noqa: E402
from weights.model.tokenizer import SentencePiece  # noqa: E402

ROOT = Path(__file__).parent.parent
ENGLISH = ["red", "car", "house", "old", "green", "boat", "small", "tree", "river", "street", "town", "window"]
FRENCH = ["rouge", "voiture", "maison", "vieux", "vert", "bateau", "petit", "arbre", "fleuve", "rue", "ville",
          "fenêtre"]


@pytest.fixture(scope="session", autouse=True)
def program():
    subprocess.run(["make", "-s", "build/gibbs"], cwd=ROOT, check=True)


def _pairs(count: int) -> list[tuple[str, str]]:
    """Pairs of two words, in reverse order in French."""
    values = random.Random(1)
    pairs = []
    for _ in range(count):
        a, b = values.sample(range(len(ENGLISH)), 2)
        pairs.append((f"The {ENGLISH[a]} {ENGLISH[b]}.", f"l'{FRENCH[b]} {FRENCH[a]}."))
    return pairs


def _run(*arguments: str, text: str = "") -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "weights.alignment.aligner", "--quiet", *arguments], cwd=ROOT,
                          input=text, capture_output=True, text=True)


def test_words():
    assert aligner.words("L’eau, Haven't 3.5 «x»") == ["l'", "eau", ",", "haven'", "t", "3", ".", "5", "«", "x", "»"]
    assert aligner.words("'tis d''or a_b") == ["'tis", "d'", "'or", "a_b"]
    assert aligner.words("  ") == []


def test_swapped_words_are_linked():
    pairs = _pairs(300)
    lines = list(aligner.align(pairs))
    assert len(lines) == 300
    # "the" is linked to "l'", and the full stops to each other
    assert sum(set(line.split()) >= {"0-0", "1-2", "2-1", "3-3"} for line in lines) > 290
    assert sum(len(line.split()) == 4 for line in lines) > 290


def test_both_runs_and_their_intersection():
    pairs = _pairs(100)
    both, mutual = list(aligner.align(pairs, "both")), list(aligner.align(pairs, "intersection"))
    for line, links in zip(both, mutual, strict=True):
        forward, backward = (set(run.split()) for run in line.split("\t"))
        assert forward & backward == set(links.split())


def test_pairs_that_cannot_be_aligned_have_no_link_and_keep_their_line():
    pairs = [("", "rien"), ("a", "b"), ("x " * 201, "b"), (" ", " ")]
    lines = list(aligner.align(pairs, "union"))
    assert [bool(line) for line in lines] == [False, True, False, False]


def test_a_missing_program_is_named():
    with pytest.raises(aligner.AlignerError, match="nowhere is not there: run make"):
        list(aligner.align([("a", "b")], program=Path("nowhere")))


def test_links_of_pieces_are_those_of_their_words():
    sides = (SentencePiece(ROOT / "weights" / "en-fr" / "joint.spm", {}),) * 2
    pair = ("The gyroscope's here.", "Le gyroscope est l'ici.")
    found = aligner.links_of_pieces("0-0 1-1 3-4", pair, sides)
    source, target = ([token for token in side.tokens(text)] for side, text in zip(sides, pair))
    spans = {"0-0": ((0, 3), (0, 2)), "1-1": ((4, 14), (3, 12)), "3-4": ((16, 20), (19, 22))}

    def within(token, span):
        return token.begin < span[1] and token.end > span[0] and token.piece != "▁"

    expected = {(i, j) for a, b in spans.values() for i, s in enumerate(source) for j, t in enumerate(target)
                if within(s, a) and within(t, b)}
    assert set(found) == expected and len(expected) > 3


def test_command(tmp_path):
    pairs = _pairs(200)
    path, corpus = tmp_path / "new.tsv", tmp_path / "corpus.tsv.gz"
    path.write_text("".join(f"{s}\t{t}\tmore\n" for s, t in pairs[:3]))
    corpus.write_bytes(gzip.compress("".join(f"{s}\t{t}\n" for s, t in pairs).encode()))
    done = _run(str(path), "--with", str(corpus), "--symmetry", "intersection")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["0-0 1-2 2-1 3-3"] * 3
    assert _run("-", "--with", str(corpus), "--symmetry", "intersection", text=path.read_text()).stdout == done.stdout
    pieces = _run(str(path), "--with", str(corpus), "--pieces", "weights/en-fr")
    assert len(pieces.stdout.splitlines()) == 3 and pieces.stdout != done.stdout


@pytest.mark.parametrize("arguments,text,message", [
    (["-"], "no tab\n", "-, line 1: source TAB target is expected"), (["absent.tsv"], "", "absent.tsv"),
    (["-", "--samplers", "17"], "a\tb\n", "--samplers: a whole number from 1 to 16"),
    (["-", "--program", "nowhere"], "a\tb\n", "run make")])
def test_what_is_wrong_is_said(arguments, text, message):
    done = _run(*arguments, text=text)
    assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr


def test_the_program_refuses_strange_options():
    for arguments, message in (["--samplers", "0"], "1 to 16"), (["--symmetry", "diagonal"],
                                                                 "diagonal is unknown"), (["file"], "standard input"):
        done = subprocess.run([str(aligner.PROGRAM), *arguments], input="", capture_output=True, text=True)
        assert done.returncode == 1 and message in done.stderr
    assert "Usage" in subprocess.run([str(aligner.PROGRAM), "--help"], capture_output=True, text=True).stdout
