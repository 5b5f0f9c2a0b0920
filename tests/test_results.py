"""Tests of the scores in the results (scores.py, wellformed.py, moses.py, align.py, lexicon.py), of the corpora, and of
weights/evaluation/results.py."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import sys
from pathlib import Path

import numpy
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from weights.alignment import align, aligner, lexicon  # noqa: E402
from weights.corpora import data  # noqa: E402
from weights.evaluation import compute, moses, results, scores, tables, wellformed  # noqa: E402
from weights.training import broad, mixture  # noqa: E402


# ---- scores ----

def test_exact_match_counts_words_not_spaces():
    assert scores.exact_match(["a ( b )", "a  b ", "a c", "ab"], ["a ( b )", "a b", "a b", "a b"]) == 50.0


@pytest.mark.parametrize("text, wanted", [
    ("a b c d a b c d", True), ("a b c d e a b c", False), ("a a a a", False), ("a a a a a", True), ("", False),
    ("x a b c d y a b c d", True),
])
def test_repeats(text, wanted):
    assert scores.repeats(text) == wanted


def test_unknown_rate():
    assert scores.unknown_rate([["▁a", "<unk>"], [], ["<unk>", "b"]]) == 50.0
    assert scores.unknown_rate([[]]) == 0.0


def test_tokenised_bleu_takes_words_as_they_stand():
    # 13a would split "#8" in two; the precisions of the words between spaces are 4/5 3/4 2/3 1/2
    assert scores.tokenised_bleu(["a b c #8 x"], ["a b c #8 e"]) == pytest.approx(100 * 0.2 ** 0.25)
    assert scores.bleu(["a b c #8 x"], ["a b c #8 e"]) != pytest.approx(100 * 0.2 ** 0.25)


def test_by_length():
    sources = ["a", "a b", "a b c", "a b c d", ""]
    assert scores.by_length(sources, [1, 3]) == {"1-1": [0], "2-3": [1, 2], "4-": [3]}


def test_aer_by_hand():
    # A = {00, 11, 12}, S = {00, 22}, P = S and {11}: |A & S| = 1, |A & P| = 2, |A| + |S| = 5
    assert scores.aer([{(0, 0), (1, 1), (1, 2)}], [{(0, 0), (2, 2)}], [{(1, 1)}]) == pytest.approx(100 * (1 - 3 / 5))
    # sums over sentences, not a mean of rates: a second, perfect sentence with one link
    assert (scores.aer([{(0, 0), (1, 1), (1, 2)}, {(0, 0)}], [{(0, 0), (2, 2)}, {(0, 0)}], [{(1, 1)}, set()])
            == pytest.approx(100 * (1 - 5 / 7)))
    assert scores.aer([set()], [{(0, 0)}], [set()]) == 100.0


# ---- well-formed outputs ----

@pytest.mark.parametrize("language, good, bad", [
    ("logical_form", "answer ( A , ( state ( A ) , next_to ( A , B ) , const ( B , stateid ( ohio ) ) ) )",
     "answer ( A , ( state ( A )"),
    ("logical_form", "s0", ""),
    ("logical_form", "( lambda $0 e ( and ( state:t $0 ) ( loc:t $0 s0 ) ) )", "( lambda $0 e ( ) )"),
    ("logical_form", "( a ) ( b )", ") a ("),
    ("sql", 'SELECT A.B FROM C AS A WHERE A.D = "san francisco" AND ( A.E > 3 OR NOT A.F IN ( SELECT G.H FROM G ) ) ;',
     "SELECT FROM C AS A ;"),
    ("sql", "SELECT COUNT( DISTINCT A.B ) , MAX( A.C ) FROM A GROUP BY A.B ORDER BY AVG ( A.C ) DESC LIMIT 1 ;",
     "SELECT A.B FROM A WHERE ;"),
    ("sql", "SELECT A.B / A.C FROM A , B", 'SELECT A.B FROM A WHERE A.C = "x ;'),
    ("sql", "SELECT * FROM A", "SELECT A.B FROM A ; A"),
    ("regex", r"\ b ( [ <LOW> ] ) & ( <M0> ) \ b", r"\ ( [ <LOW> ] )"),
    ("regex", "( ( . ) | ( [ <NUM> ] ) ) { 3 , }", "( ( . ) | ) { 3 , }"),
    ("regex", "~ ( . * [ <VOW> ] . * ) + { 2 }", "( . * { a }"),
    ("regex", "( <M0> ) . * ( . ) . *", "( <M0> ) } *"),
    ("regex", "[ A-Z ]", "[ ( ]"),
])
def test_well_formed(language, good, bad):
    assert wellformed.CHECKS[language](good)
    assert not wellformed.CHECKS[language](bad)


# ---- Moses's tokenisation: lines of Multi30k and of its authors' tokenised files (which have &quot; and &apos;) ----

@pytest.mark.parametrize("language, text, wanted", [
    ("en", "A woman on a boat named \"El Corazon\" drops black weights into the water.",
     "a woman on a boat named \" el corazon \" drops black weights into the water ."),
    ("en", "One man holds another man's head down and prepares to punch him in the face.",
     "one man holds another man 's head down and prepares to punch him in the face ."),
    ("en", "A light-skinned man, high-five", "a light-skinned man , high-five"),
    ("de", "Ein Mann läuft an einem Schild vorbei, auf dem E.S.E. Electronics steht.",
     "ein mann läuft an einem schild vorbei , auf dem e.s.e. electronics steht ."),
    ("de", "Eine Frau hält einen großen Scheck für \"Kids' Food Basket\".",
     "eine frau hält einen großen scheck für \" kids ' food basket \" ."),
    ("de", "Ein kleiner Junge spielt bei McDonald's GameCube.", "ein kleiner junge spielt bei mcdonald ' s gamecube ."),
    ("de", "Zwei Mädchen (eine in Blau und die andere in Pink) liefern sich ein Rennen auf Rollschuhen.",
     "zwei mädchen ( eine in blau und die andere in pink ) liefern sich ein rennen auf rollschuhen ."),
    ("de", "Ein Schild, auf dem steht: „Welcome“ – 1,5 km ...",
     "ein schild , auf dem steht : \" welcome \" - 1,5 km ..."),
    ("fr", "L'homme n'est pas là", "l' homme n' est pas là"),
])
def test_moses(language, text, wanted):
    assert moses.lower_normalise_tokenise(text, language) == wanted


# ---- corpora ----

def _gzip(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))


def test_corpus_of_columns(tmp_path):
    _gzip(tmp_path / "multi30k/val.en.gz", ["A Dog.", "Cats"])
    _gzip(tmp_path / "multi30k/val.de.gz", ["Ein Hund.", "Katzen"])
    corpus = data.CORPORA["multi30k-en-de"]
    assert corpus.read(tmp_path, "valid") == [("a dog .", "ein hund ."), ("cats", "katzen")]
    assert corpus.read(tmp_path, "valid", flip=True)[1] == ("katzen", "cats")
    _gzip(tmp_path / "multi30k/val.de.gz", ["Ein Hund."])
    with pytest.raises(ValueError):
        corpus.read(tmp_path, "valid")


def test_corpus_holds_out_its_validation(tmp_path):
    lines = [f"question {i}\tanswer {i}" for i in range(600)]
    _gzip(tmp_path / "geoquery/train.tsv.gz", lines)
    _gzip(tmp_path / "geoquery/test.tsv.gz", lines[:3])
    train, valid, test = (data.CORPORA["geoquery"].read(tmp_path, split) for split in ("train", "valid", "test"))
    assert len(valid) == 60 and len(train) == 540 and len(test) == 3
    assert sorted(train + valid) == sorted(tuple(line.split("\t")) for line in lines)


# ---- alignments ----

def test_short_pairs_and_two_as_one():
    pairs = [("a", "b"), ("c d", "e"), ("f", "g h i"), ("j", "k"), ("l", "m")]
    assert data.short(pairs, 2) == [("a", "b"), ("c d", "e"), ("j", "k"), ("l", "m")] and data.short(pairs, 0) == pairs
    assert results.joined(pairs, 2) == [("a c d", "b e"), ("j l", "k m")]


def test_read_gold(tmp_path):
    path = tmp_path / "dev.tsv.gz"
    _gzip(path, ["a b\tx y z\t0-0 1p2 1-1"])
    spans = [(0, 1), (2, 3)], [(0, 1), (2, 3), (4, 5)]
    assert align.read_gold(path) == [align.Gold("a b", "x y z", {(0, 0), (1, 1)}, {(1, 2)}, *spans)]
    assert align.read_gold(path, flip=True) == [align.Gold("x y z", "a b", {(0, 0), (1, 1)}, {(2, 1)}, *spans[::-1])]


def test_read_gold_with_sentences(tmp_path):
    path = tmp_path / "gold.tsv"
    path.write_text("It's é .\tC' est É .\t0-0 0-1 1-2 2-3\tIt's é.\tC'est É.\n")
    [gold] = align.read_gold(path)
    assert (gold.source, gold.target) == ("It's é.", "C'est É.")
    assert gold.source_words == [(0, 4), (5, 6), (6, 7)] and gold.target_words == [(0, 2), (2, 5), (6, 7), (7, 8)]


def test_everyday_gold_is_whole():
    gold = align.read_gold(Path("weights/gold/en-fr-everyday.tsv"))
    assert len(gold) == 100 and sum(len(g.sure) for g in gold) == 818 and sum(len(g.possible) for g in gold) == 239
    for g in gold:
        assert (all(i < len(g.source_words) and j < len(g.target_words) for i, j in g.sure | g.possible)
                and not g.sure & g.possible)
        assert all(text[b:e].strip() == text[b:e]
                   for text, spans in ((g.source, g.source_words), (g.target, g.target_words)) for b, e in spans)


@pytest.mark.parametrize("pair,sure,possible", [("en-de", 250, 40), ("en-fr", 232, 73)])
def test_gold_of_constructions_is_whole(pair, sure, possible):
    path = Path(f"weights/gold/{pair}-constructions.tsv")
    gold = align.read_gold(path)
    assert len(gold) == 30 and sum(len(g.sure) for g in gold) == sure and sum(len(g.possible) for g in gold) == possible
    for g in gold:
        links = g.sure | g.possible
        assert not g.sure & g.possible
        assert ({i for i, _ in links} == set(range(len(g.source_words))) and {j for _, j in links}
                == set(range(len(g.target_words))))
    for source, target, _, *texts, kind in (line.split("\t") for line in path.read_text().splitlines()):
        assert [source.replace(" ", ""), target.replace(" ", "")] == [text.replace(" ", "") for text in texts]
        assert kind in ("phrasal", "perfect", "compound", "negation", "because", "question", "contraction", "reflexive",
                        "modal", "future")


def test_membership():
    # un|do| |¿|it: the empty piece belongs to the word after it
    assert align.membership([(0, 2), (2, 4), (5, 5), (5, 6), (7, 9)], [(0, 4), (5, 6), (7, 9)]).tolist() == [
        [1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]]
    # a piece that spans two words
    assert align.membership([(0, 4), (4, 5)], [(0, 2), (2, 5)]).tolist() == [[1, 0], [1, 1]]


SEEN = align.Seen([(0, 1), (2, 3), (3, 4)], [(0, 1), (1, 2), (3, 4)],
                  numpy.array([[.5, .2, .1, .2], [.1, .4, .3, .2], [.0, .1, .2, .7], [.1, .1, .1, .7]]))
PAIR = align.Gold("a bb", "xx y", set(), set(), [(0, 1), (2, 4)], [(0, 2), (3, 4)])


def test_word_matrix():
    # sums over the pieces of b, means over those of xx; the last column is </s>
    assert align.word_matrix(SEEN, PAIR, 0) == pytest.approx(numpy.array([[.3, .5, .2], [.0, .3, .7]]))
    assert align.word_matrix(SEEN, PAIR, 1) == pytest.approx(numpy.array([[.05, .5, .45], [.1, .2, .7]]))


def test_what_lies_on_the_end():
    assert (align.at_end([align.Seen([(0, 1)], [(0, 1), (1, 2)], numpy.array([[.9, .1], [.3, .7], [0, 1]]))])
            == pytest.approx((40, 50)))


def test_a_piece_of_two_words_is_shared():
    seen = align.Seen([(0, 4)], [(0, 2), (3, 4)], numpy.array([[.8, .2], [.4, .6], [0, 1]]))
    assert align.word_matrix(seen, PAIR, 0) == pytest.approx(numpy.array([[.4, .4, .2], [.2, .2, .6]]))


def test_offsets_of_the_daemon_are_bytes():
    offsets = [{"start": 0, "end": 2}, {"start": 2, "end": 3}, {"start": 4, "end": 8}, {"start": 8, "end": 8}]
    assert align.spans_of(offsets, "éa 😀", 3) == [(0, 1), (1, 2), (3, 4)]


def test_links_of_a_head():
    words = numpy.array([[.3, .2, .5], [.2, .4, .4]])
    assert align.HEAD["head"](words) == {(1, 1)} and align.HEAD["head, best word"](words) == {(0, 0), (1, 1)}


def test_several_links_of_a_head():
    # only the third row has a best word above the threshold; the columns have, and the first row is the best of two
    words = numpy.array([[.4, 0, 0, .3, .3], [.1, .1, .4, 0, .4], [.1, .6, .1, .1, .1]])
    assert align.HEAD["head, several"](words) == {(0, 0), (3, 0), (2, 1), (1, 2)}
    words = numpy.array([[.4, .35, 0, .25], [.1, .1, .4, .4], [.1, .6, .1, .2]])
    back = numpy.array([[.4, .1, 0, .5], [.4, .1, .5, 0], [0, .2, .1, .7]])
    assert align.TWO_HEADS["both heads, geometric mean, several"](words, back) == {(0, 0), (1, 2)}


def test_ways_from_attention_to_links():
    forward = numpy.array([[.3, .5, .2], [.0, .3, .7]])  # target words 0, 1 by source words 0, 1, </s>
    backward = numpy.array([[.8, .1, .1], [.2, .8, .0]])  # source words by target words, </s>
    assert align.best_with_end(forward) == {(1, 0)}
    assert align.ONE_WAY["best word"][1](forward) == {(1, 0), (1, 1)}
    assert align.best_both_ways(numpy.array([[.3, .5], [.0, .3]])) == {(1, 0)}
    assert align.TWO_WAYS["both models, mean, best both ways"][1](forward, backward) == {(0, 0), (1, 1)}
    assert align.geometric_mean(forward, backward) == pytest.approx(numpy.sqrt([[3 / 8 * 8 / 9, 5 / 8 * .2], [0, .8]]))
    # every step looks at source word 0 most; after balancing the second step looks at word 1 most
    assert align.balanced(numpy.array([[.9, .1], [.6, .4]])).argmax(axis=1).tolist() == [0, 1]
    assert align.balanced(numpy.array([[.9, .1], [.6, .4]])).sum(axis=0) == pytest.approx([1, 1], abs=.02)


def test_diagonal_prior():
    prior = lexicon.diagonal_prior(4, 2)
    assert prior.sum(axis=1) == pytest.approx(numpy.ones(4))
    assert prior.argmax(axis=1).tolist() == [0, 0, 1, 1]
    # distances of the centres: |1/8 - 1/4| and |1/8 - 3/4|
    assert prior[0, 0] / prior[0, 1] == pytest.approx(numpy.exp(4 * (5 / 8 - 1 / 8)))


def _crossed_pairs() -> list[lexicon.Pair]:
    """Word i is translated as i + 10, in random order."""
    values = random.Random(1)
    pairs = []
    for _ in range(400):
        source = values.sample(range(10), values.randint(2, 6))
        pairs.append((source, [word + 10 for word in values.sample(source, len(source))]))
    return pairs


def test_the_aligner_as_a_guide_finds_crossed_words():
    pairs = _crossed_pairs()
    aligned = lexicon.Aligned(pairs)
    matrices = [aligned.of(*pair) for pair in pairs]
    right = [source[row.argmax()] + 10 == word for (source, target), matrix in zip(pairs, matrices)
             for word, row in zip(target, matrix) if row.any()]
    assert len(right) > 1300 and sum(right) > 0.99 * len(right)
    assert all(total in (0, pytest.approx(1)) for matrix in matrices for total in matrix.sum(axis=1))
    assert aligned.of([0, 1], [99]).sum() == 0  # not among the pairs


def test_lexical_finds_crossed_words():
    """The lexicon must outweigh the diagonal."""
    lexical = lexicon.Lexical(_crossed_pairs())
    links = lexical.of([1, 2, 3, 4], [14, 13, 12, 11])
    assert links.argmax(axis=1).tolist() == [3, 2, 1, 0] and links.sum(axis=1) == pytest.approx(numpy.ones(4))
    assert lexical.forward.posterior([1, 2], [12, 11]).sum(axis=1).max() <= 1  # the rest belongs to the null word
    assert lexical.of([1, 2], [99, 98]).sum() == 0  # unseen words have no link


def test_the_aligner_links_the_gold_sets_own_words():
    # the aligner splits "can't" and "j'aime" as links.words does; in the gold set "can't" is one word and "j'" is
    # separate
    gold = align.Gold("I can't", "j' aime pas", set(), set(), [(0, 1), (2, 7)], [(0, 2), (3, 7), (8, 11)])
    assert results.aligned(gold, "0-0 1-1 2-2\t1-1 0-2", "forward") == {(0, 0), (1, 1), (1, 2)}
    assert results.aligned(gold, "0-0 1-1 2-2\t1-1 0-2", "intersection") == {(1, 1)}


def test_rows_of_the_aligner_and_quoted_ones(tmp_path, monkeypatch):
    (tmp_path / "gold").mkdir()
    _gzip(tmp_path / "gold/dev.tsv.gz", ["a b\tx y\t0-0 1-1", "b a\tx y\t0-0 1-1"])
    monkeypatch.setattr(results.mixture, "table",
                        lambda pair: [results.mixture.Source(pair, name, name, "", 1.0, "", "")
                                      for name in ("one", "two")])
    monkeypatch.setattr(results.mixture, "texts", lambda root, source: [(source.name, str(i)) for i in range(4)])
    learned_from: list = []
    monkeypatch.setattr(aligner, "align", lambda pairs, symmetry, program: learned_from.extend(pairs) or iter(
        ["0-0 1-1\t0-0 1-0", "0-1\t0-1"] + ["\t"] * (len(pairs) - 2)))
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"gold": ["gold"], "ways": [],
                                "rows": [{"name": "own", "aligner": "gibbs", "pair": "en-fr", "sources": ["two"],
                                          "most": 3},
                                         {"name": "theirs", "quoted": {"forward": {"gold": 7.0}}}]}))
    table = tables.Table(path)
    options = results.Options(tmp_path, tmp_path, Path("build/alignd"), until=0.0)
    for row in table.rows:
        results.make(table, row, options)
    assert learned_from == [("a b", "x y"), ("b a", "x y"), ("two", "0"), ("two", "1"), ("two", "2")]
    own = table.finished["own"]["figures"]
    # 2 of 2 and 0 of 1 links are right; there are 4 sure links.
    assert own["forward"] == {"gold": pytest.approx(100 * (1 - 4 / 7))}
    assert own["intersection"] == {"gold": pytest.approx(100 * (1 - 2 / 6))}  # 1 of 1, 0 of 1
    assert table.finished["theirs"]["figures"] == {"forward": {"gold": 7.0}}


# ---- tables ----

DEFINITION = {
    "title": "T", "text": "About.", "sentence": "", "scores": ["exact match %"],
    "searches": {"greedy": {"strategy": "greedy"}}, "by_length": [1],
    "recipe": {"format": 1, "name": "toy", "source": "en", "target": "fr",
               "encoder": {"cell": "gru", "embedding": 8, "hidden": 6}, "attention": {"score": "general"},
               "decoder": {"style": "luong", "cell": "gru", "embedding": 8, "hidden": 12, "initial_projection": True,
                           "readout_size": 8},
               "output": {"tied": True},
               "training": {"seed": 3, "corpus": "tsv", "vocabulary": 16, "epochs": 2, "patience": 2,
                            "batch_tokens": 300, "learning_rate": 0.01,
                            "warmup": 5, "dropout": 0.0, "label_smoothing": 0.0, "clip": 1.0}},
    "rows": [{"name": "gru", "set": {}}, {"name": "lstm", "set": {"encoder.cell": "lstm", "decoder.cell": "lstm"}},
             {"name": "again", "of": "gru", "request": {"beam_size": 2}},
             {"name": "strange", "set": {"decoder.style": "strange"}}],
}


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A folder with one table, a toy corpus, and a daemon that knows every translation."""
    (tmp_path / "results").mkdir()
    (tmp_path / "results/t.json").write_text(json.dumps(DEFINITION))
    lines = [f"{a} {b}\t{b} {a}" for a in "abcdef" for b in "ghijkl"]
    for split in ("train", "valid", "test"):
        _gzip(tmp_path / f"{split}.tsv.gz", lines)
    monkeypatch.setattr(results, "HERE", tmp_path)
    monkeypatch.setattr(results, "TABLES", tmp_path / "results")

    @contextlib.contextmanager
    def daemon(alignd, folder, variant):
        assert (folder / "model.safetensors").exists()
        yield "http://nowhere"

    monkeypatch.setattr(compute, "daemon", daemon)
    monkeypatch.setattr(results, "decode", lambda url, name, sources, fields: (
        [" ".join(reversed(s.split())) if "strategy" in fields else "" for s in sources], [s.split() for s in sources]))
    return tmp_path


def _run(place: Path, monkeypatch, *flags: str) -> dict:
    monkeypatch.setattr(sys, "argv", ["results", "--data", str(place), "--work", str(place / "work"), *flags])
    results.main()
    path = place / "results/t.rows.json"
    return json.loads(path.read_text()) if path.exists() else {}


def test_results_are_made_once_and_written(place, monkeypatch, capsys):
    rows = _run(place, monkeypatch)
    assert rows.keys() == {"gru", "lstm", "again"}
    assert (rows["gru"]["figures"] == {"greedy": {"exact match %": 100.0, "1-1 words": 0.0, "2- words": 100.0}}
            and rows["gru"]["epochs"] == 2)
    assert "table t, strange: skipped: decoder.style: must be one of" in capsys.readouterr().out
    assert len(list((place / "work").iterdir())) == 2  # "again" decodes with the model of "gru"
    text = (place / "RESULTS.md").read_text()
    assert "| gru | greedy | 100.0 | 0.0 | 100.0 |" in text and "| strange | not run yet |" in text and "Seed 3" in text
    assert str(place) not in text
    monkeypatch.setattr(results, "trained", None)  # any training would fail
    assert _run(place, monkeypatch) == rows


def test_results_make_a_changed_row_again(place, monkeypatch):
    before = _run(place, monkeypatch)
    changed = json.loads(json.dumps(DEFINITION))
    changed["rows"][1]["set"]["training.seed"] = 4
    (place / "results/t.json").write_text(json.dumps(changed))
    table = tables.Table(place / "results/t.json")
    assert [table.is_finished(row) for row in table.rows] == [True, False, True, False]
    after = _run(place, monkeypatch)
    assert after["gru"] == before["gru"] and after["lstm"]["digest"] != before["lstm"]["digest"]


def test_a_row_has_the_gold_sets_of_its_languages_and_a_test_set(place):
    table = tables.Table(place / "results/t.json")
    row, own = table.rows[0], table.recipe(table.rows[0])["training"]["corpus"]
    pair = "{source}-{target}".format(**table.recipe(row))
    table.definition["gold"] = [f"gold-{pair}", "gold-xx-yy"]
    assert table.gold(row) == [f"gold-{pair}"]
    digest = table.digest(row)
    table.definition["gold"].pop()
    assert table.digest(row) == digest  # gold sets of other languages do not change the row's figures
    table.definition["gold"].append(f"more-{pair}")
    assert table.digest(row) != digest
    assert table.test(row) == own
    table.definition["test"] = "all rows'"
    assert [table.test(row), table.test(row | {"test": "its own"})] == ["all rows'", "its own"]


def test_rows_by_their_names_beside_those_of_another_process(place, monkeypatch):
    other = tables.Table(place / "results/t.json")
    assert _run(place, monkeypatch, "--row", "ls", "--row", "x").keys() == {"lstm"}
    other.record(other.rows[0], {"figures": {}})
    assert tables.Table(place / "results/t.json").finished.keys() == {"lstm", other.rows[0]["name"]}
    assert _run(place, monkeypatch, "--table", "s").keys() == {"lstm", other.rows[0]["name"]}


def test_results_stop_and_go_on(place, monkeypatch, capsys):
    with pytest.raises(SystemExit, match="time is up"):
        _run(place, monkeypatch, "--budget", "0")
    assert _run(place, monkeypatch, "--budget", "1000").keys() == {"gru", "lstm", "again"}
    with pytest.raises(SystemExit, match="--data"):
        _run(place / "nowhere", monkeypatch)


def test_results_end_with_the_budget_in_the_middle_of_a_row(place, monkeypatch, capsys):
    table = tables.Table(place / "results/t.json")
    options = results.Options(place, place / "work", Path("alignd"), until=0.0)
    assert results.make(table, table.rows[0], options) == "time is up" and not table.finished
    assert list((place / "work").glob("*/checkpoint.pt"))


@pytest.mark.parametrize("table", tables.read(results.TABLES), ids=lambda table: table.name)
def test_definitions_are_sound(table):
    assert len({row["name"] for row in table.rows}) == len(table.rows)
    assert set(table.definition.get("scores", [])) <= results.SCORES.keys()
    assert (set(table.definition.get("ways", [])) <= align.ONE_WAY.keys() | align.TWO_WAYS.keys() | align.HEAD.keys()
            | align.TWO_HEADS.keys())
    for row in table.rows:
        if "recipe" in table.definition:
            training = table.recipe(row)["training"]
            assert (training["corpus"] in data.CORPORA if "pair" not in training else training.keys()
                    <= broad.DEFAULTS.keys())
            assert set(training.get("sources", [])) <= {source.name
                                                        for source in mixture.table(training.get("pair", ""))}
            reason = tables.refusal(table, row)
            assert reason is None or ":" in reason
            assert not (reason or "").startswith("tokenizer.")
