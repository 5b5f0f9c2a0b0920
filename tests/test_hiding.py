"""Placeholders in the training stream: what is hidden on both sides, where placeholders are inserted, that each is one
<unk> and guided; the schedule of a planned run; the steps after a run."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from weights.evaluation import first_things  # noqa: E402
from weights.model import folder  # noqa: E402
from weights.training import broad, finish, hiding, mixture, noise, slots  # noqa: E402
from weights.model.tokenizer import UNK  # noqa: E402

ROOT = Path(__file__).parent.parent
H = hiding.HIDDEN


@pytest.mark.parametrize(("source", "target", "hidden"), [
    ("Write to a.b@c.org now.", "Écrivez à a.b@c.org.", (f"Write to {H} now.", f"Écrivez à {H}.")),
    ("See https://a.org/b?c=d.", "Voir https://a.org/b?c=d.", (f"See {H}.", f"Voir {H}.")),
    ("%d of {count} files", "%d fichiers sur {count}", (f"{H} of {H} files", f"{H} fichiers sur {H}")),
    ("Flight AF-1234 leaves.", "Le vol AF-1234 part.", (f"Flight {H} leaves.", f"Le vol {H} part.")),
    ("Call 06 12 34 56 78.", "Appelez le 06 12 34 56 78.", (f"Call {H}.", f"Appelez le {H}.")),
    ("Nice 👍🏽, room A4 in C++!", "Super 👍🏽, salle A4 en C++ !",
     (f"Nice {H}, room {H} in {H}!", f"Super {H}, salle {H} en {H} !")),
    ("ISBN 978-3-16-148410-0, see [1] and /usr/bin/ls", "ISBN 978-3-16-148410-0, voir [1] et /usr/bin/ls",
     (f"ISBN {H}, see {H} and {H}", f"ISBN {H}, voir {H} et {H}")),
    ("Run main() with FOO_BAR or --help", "Lancez main() avec FOO_BAR ou --help",
     (f"Run {H} with {H} or {H}", f"Lancez {H} avec {H} ou {H}")),
    ("In 1999 he was 25.", "En 1999 il avait 25 ans.", ("In 1999 he was 25.", "En 1999 il avait 25 ans.")),
    ("It's 1st at 10h30 or 5km.", "C'est 1er à 10h30, 5km.", ("It's 1st at 10h30 or 5km.", "C'est 1er à 10h30, 5km.")),
    ("See www.a.org.", "Voir notre site.", ("See www.a.org.", "Voir notre site.")),  # only on one side
    ("I have 25 books, 5% off.", "J'ai 25 livres, 5 % de moins.",
     ("I have 25 books, 5% off.", "J'ai 25 livres, 5 % de moins."))])
def test_what_the_server_always_hides(source: str, target: str, hidden: tuple[str, str]) -> None:
    one = hiding.always(noise.example(source, target, []))
    assert (one.source, one.target) == hidden


def test_an_amount_is_hidden_as_a_whole() -> None:
    for source, target in (("It costs $1,250.50 today.", "Cela coûte 1 250,50 $ today."),
                           ("It costs €5 today.", "Cela coûte 5 € today.")):
        one = hiding.amounts(noise.example(source, target, []))
        assert (one.source, one.target) == (f"It costs {H} today.", f"Cela coûte {H} today.")
    two = noise.example("€5 or €6", "5 € ou 6 €", [])
    assert hiding.amounts(two) == two


def test_what_is_put_in_stands_beside_a_word_and_its_translation() -> None:
    one = noise.example("The dog barks.", "Le chien aboie.", [(0, 0), (1, 1), (2, 2), (3, 3)])
    seen = {(made.source, made.target) for made in (hiding.added(one, random.Random(seed), H) for seed in range(200))
            if f"{H} {H}" not in made.source}
    assert (seen == {(f"{H} The dog barks.", f"{H} Le chien aboie."), (f"The dog barks. {H}", f"Le chien aboie. {H}"),
                     (f"The {H} dog barks.", f"Le {H} chien aboie."),
                     (f"The dog {H} barks.", f"Le chien {H} aboie."), (f"The dog barks {H}.", f"Le chien aboie {H}.")})
    made = hiding.added(one, random.Random(3), H)
    assert [made.source[slice(*span)] for span in made.source_words] == ["The", "dog", "barks", "."]


def test_hidden_text_is_one_unknown_token_and_is_guided() -> None:
    _, side, _ = folder.read(ROOT / "weights/en-fr")
    made = mixture.encode(noise.example(f"The dog {H} barks.", f"Le chien {H} aboie.", [(0, 0), (1, 1)]), side, 2)
    assert made.source.count(UNK) == made.target.count(UNK) == 1
    assert (made.source.index(UNK), made.target.index(UNK)) in made.links
    assert [i for i in made.source if i != UNK][:-1] == side.encode("The dog barks.")


def test_each_kind_comes_about_as_often_as_it_should() -> None:
    one = noise.example("Tom met John.", "Tom a vu John.", [(0, 0), (1, 2), (2, 3), (3, 4)])
    made = [hiding.hide(one, random.Random(seed)) for seed in range(4000)]
    hidden = sum(H in example.source for example in made)
    assert hidden == sum(H in example.target for example in made) and 0.06 < hidden / 4000 < 0.14
    symbols = sum(any(c in example.source for c in hiding.COMMON) for example in made)
    assert 0.01 < symbols / 4000 < 0.06
    assert all(character in broad.REQUIRED for character in hiding.COMMON) and set("€£¥₹‘’“”«»") <= set(broad.REQUIRED)


def test_a_planned_run_ends_with_a_small_rate() -> None:
    training = broad.DEFAULTS | {"tokens": 1000}
    assert [broad.planned_fall(tokens, training) for tokens in (0, 750, 875, 1000, 1200)] == [1, 1, 0.5, 0, 0]
    assert broad.planned_fall(10**12, broad.DEFAULTS) == 1
    for path in sorted((ROOT / "weights/recipes").glob("*-broad.json")):
        _, training = broad.load_recipe(path)
        assert training["tokens"] >= 100_000_000 and training["hiding"]
        assert "multi30k" not in {row.name for row in mixture.table(training["pair"])}


@pytest.mark.parametrize("language", ("fr", "de"))
def test_slots_of_one_family_speak_of_one_thing(language: str) -> None:
    for seed in range(50):
        source, target = slots.fill(("{food} and {the_food} cost {price}", "{some_food}, {the_food}: {price}"),
                                    ["en", language], random.Random(seed))
        word = source.split(" and ")[0].lower()
        assert source.split(" and ")[1].startswith(f"the {word} cost") and source[0].isupper()
        first, second = target.split(": ")[0].split(", ")
        assert first.split(" ")[-1].split("'")[-1] == second.split(" ")[-1].split("'")[-1]
    assert not re.search(r"[{}]", source + target)


def test_french_and_german_articles() -> None:
    flour, oil, eggs = (next(item for item in slots.FAMILY["food"] if item["food"]["en"] == name)
                        for name in ("flour", "oil", "eggs"))
    assert [item["some_food"]["fr"] for item in (flour, oil, eggs)] == ["de la farine", "de l'huile", "des œufs"]
    assert [item["of_food"]["fr"] for item in (flour, oil, eggs)] == ["de farine", "d'huile", "d'œufs"]
    umbrella = next(item for item in slots.FAMILY["item"] if item["item"]["en"] == "umbrella")
    assert (umbrella["an_item"] == {"en": "an umbrella", "fr": "un parapluie", "de": "einen Regenschirm"}
            and umbrella["this_item"]["de"] == "der Regenschirm")


@pytest.mark.parametrize("path", sorted(first_things.SECOND.glob("*.tsv")), ids=lambda path: path.stem)
def test_no_phrase_is_much_like_one_of_the_second_fifty(path: Path) -> None:
    things = first_things.read(path.stem, first_things.SECOND)
    assert len(things) == len({thing.text for thing in things}) == 50
    assert not {thing.text for thing in things} & {thing.text for thing in first_things.read(path.stem)}
    flip = path.stem.endswith("-en")
    pair = "-".join(path.stem.split("-")[::-1]) if flip else path.stem
    typed = [set(re.findall(r"\w+", thing.text.lower())) for thing in things]
    for source, _ in mixture.phrases(pair, flip).pairs:
        words = set(re.findall(r"\w+", re.sub(r"\{\w+\}", "", source).lower()))
        assert not [text for text in typed if words == text or len(text) > 2
                    and len(words & text) >= 0.75 * len(words | text)], source


def test_the_steps_after_a_run_are_those_of_the_card(tmp_path: Path) -> None:
    todo = finish.steps(tmp_path / "run", tmp_path / "fr-en", tmp_path / "data", tmp_path / "text", "en-fr", True,
                        tmp_path / "en-fr", tmp_path / "alignd")
    assert ([step.name for step in todo] == ["export", "unknown", "head", "text", "shortlist", "opaque", "quality",
                                             "report"])
    assert ([step.name for step in todo if "--flip" in step.arguments]
            == ["unknown", "head", "shortlist", "opaque", "quality", "report"])
    assert todo[-1].arguments[-2:] == ["--compute", "int8"] and "--reverse" in todo[-1].arguments
    with pytest.raises(SystemExit, match="--from wrong goes on"):
        finish.run_step(finish.Step("wrong", ["weights.no_such_module"]))
