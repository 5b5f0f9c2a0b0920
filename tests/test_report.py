"""The evaluation of general models: the first things, and the table of the report."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from weights.evaluation import first_things, general_card, report  # noqa: E402
from weights.corpora import translated  # noqa: E402
from weights.model import folder  # noqa: E402
from weights.training import mixture  # noqa: E402


ROOT = Path(__file__).parent.parent


def judge(line: str, translation: str) -> bool:
    return first_things.acceptable(first_things.parse(line), translation)


@pytest.mark.parametrize(("line", "good", "bad"), [
    ("greeting\tHello\t= bonjour | salut", ["Bonjour !", "salut.", "SALUT"], ["Bonjour à tous", "Hello", ""]),
    ("numbers\tI have 25 books.\t~ 25 | vingt-cinq ; ~ livres ; ! euro", ["J'ai 25 livres.", "J’ai vingt-cinq livres"],
     ["J'ai des livres.", "25 livres, 3 euros"]),
    ("names\tTom is here.\t~ Tom", ["Tom est ici."], ["tom est ici."]),
    ("upper case\tSTOP NOW\t= ARRÊTEZ", ["ARRÊTEZ !"], ["Arrêtez !"]),
    ("greeting\tHi, how are you?\t= ça va", ["Ça va ?", "Ça va\u202f?"], ["ça  ira"]),
    ("everyday\tIt is late.\t~ tard", ["Il est tard."], ["tard, il est tard et il est tard, il est tard", "tard \u2047",
                                                         "Il est tard, et nous rentrons tous."]),
])
def test_criteria(line: str, good: list[str], bad: list[str]) -> None:
    assert all(judge(line, translation) for translation in good)
    assert not any(judge(line, translation) for translation in bad)


def test_a_wrong_line_is_refused() -> None:
    with pytest.raises(ValueError, match="criteria"):
        first_things.parse("greeting\tHello\tbonjour")


@pytest.mark.parametrize("path", sorted(first_things.FILES.glob("*.tsv")), ids=lambda path: path.stem)
def test_there_are_a_hundred_of_every_kind(path: Path) -> None:
    things = first_things.read(path.stem)
    assert len(things) == 100 and len({thing.text for thing in things}) == 100
    assert {"greeting", "no full stop", "lower case", "upper case", "names", "numbers", "dates", "addresses",
            "two sentences", "paragraph"} <= {t.group for t in things}


@pytest.mark.parametrize("path", sorted(first_things.FILES.glob("*.tsv")), ids=lambda path: path.stem)
def test_no_first_thing_but_the_shortest_is_trained_on(path: Path) -> None:
    """Greetings and single words may be in the phrases; the other first things must not."""
    flip = path.stem.endswith("-en")
    pair = "-".join(path.stem.split("-")[::-1]) if flip else path.stem
    seen = {source for source, _ in mixture.phrases(pair, flip).pairs}
    assert not [thing.text for thing in first_things.read(path.stem) if thing.text in seen and thing.group in
                ("names", "numbers", "dates", "addresses", "everyday", "two sentences", "paragraph", "upper case")]


def test_the_table_has_every_figure() -> None:
    of = {"BLEU": 20.04, "chrF": 50.0, "length": 1.0, "repeats": 3, "sentences": 1000}
    text = report.table({"Flores dev": of, "broad: law": of, "broad: ui": of | {"BLEU": 30.0},
                         "first things": {"acceptable": 90, "sentences": 100},
                         "alignment: Alibi": {"best word": 25.0, "head": 12.0, "sentences": 5}})
    assert "| Flores dev | 1,000 | 20.0 | 50.0 | 1.00 | 3 |" in text and "| broad, mean over domains | | 25.0 |" in text
    assert "first things (weights/first): 90" in text
    assert ("| links | Alibi |" in text and "| attention, best word | 25.0 |" in text
            and "| head (`alignment`) | 12.0 |" in text and "both" not in text)


def test_every_source_of_the_table_says_what_it_is() -> None:
    for pair in ("en-fr", "en-de"):
        rows = mixture.table(pair)
        assert len(rows) > 20 and len({row.name for row in rows}) == len(rows)
        assert all((row.weight > 0 or row.name == translated.NAME) and row.path and row.domain and row.licence
                   and row.attribution for row in rows)


def test_the_card_says_what_a_model_is_and_whose_text_it_learned_from(tmp_path: Path) -> None:
    from weights.training import broad
    from weights.model.network import Model
    config, _ = broad.load_recipe(ROOT / "weights/recipes/en-fr-broad.json")
    for part, key in (("encoder", "hidden"), ("decoder", "hidden")):
        config[part][key] = 8
    folder.write(tmp_path, Model(config, 300, 300), "int8",
                 {"epoch": "1200", "tokens": "3500000", "core_seconds": "7200",
                                                            "began": "fr-en (90 steps, 70 target tokens)"})
    things = [general_card.Example(f"typed {i}", "a|b", i % 2 == 0) for i in range(40)]
    general_card.write(tmp_path, "| Flores dev | 20.0 |", "COMMAND", things, False)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert ("# English to French" in text and "| Flores dev | 20.0 |" in text
            and "3,500,000 target tokens, 2.0 hours" in text)
    assert ("core, from the weights of fr-en (90 steps, 70 target tokens)." in text
            and "--out RUN --from weights/fr-en\n" in text)
    assert text.count("| typed ") == 32 and "a\\|b" in text  # fifteen examples in each table, and two headers
    assert (all(f"| {row.licence} | {row.attribution} |" in text for row in mixture.table("en-fr") if row.weight > 0)
            and translated.NAME not in text)
    assert "shopware" not in text and "from whose weights" not in text  # fr-en has the same texts
    assert ("| tatoeba | everyday | 2 |" in text
            and "| tatoeba | everyday | 4 |" in general_card.sources("en-fr", {"tatoeba": 4}))
    assert general_card.duration({"gpu_seconds": "590", "tokens": "1"}) == "10 minutes of a GPU that four models shared"
    assert general_card.runs("en-fr", {"began": "fr-en (9 steps, 8 target tokens)"}) == general_card.ON_A_CORE
    assert "Then a core went on" in general_card.runs("en-fr", {"began": "en-fr (9 steps, 8 target tokens)"})
    assert general_card.earlier_sources("", ["en", "fr"]) == ""
    assert "texts of [en-de](../en-de/README.md), from" in general_card.earlier_sources(
        "en-de (90 steps, 70 target tokens)", ["en", "fr"])
