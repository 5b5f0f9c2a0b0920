"""weights/corpora/exchanged.py: other names, in both sides alike, and nothing else."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from weights.corpora.exchanged import exchange, with_other  # noqa: E402

PAIRS = [("what rivers are in utah ?", "answer ( A , ( river ( A ) , const ( B , stateid ( utah ) ) ) )"),
         ("how big is ohio ?", "answer ( A , ( size ( B , A ) , const ( B , stateid ( ohio ) ) ) )"),
         ("which state is the smallest ?", "answer ( A , smallest ( A , state ( A ) ) )")]


def test_each_pair_is_there_once_as_it_is_and_a_pair_without_names_only_so() -> None:
    made = exchange(PAIRS)
    assert made[:3] == PAIRS and len(set(made)) == len(made) > 6
    assert sum(question.startswith("which") for question, _ in made) == 1


def test_names_are_exchanged_on_both_sides() -> None:
    for question, form in exchange(PAIRS)[3:]:
        name = form.split("stateid ( ")[1].split()[0]
        assert f" {name} " in f" {question} "
        assert (with_other(question, name, "utah") in [question for question, _ in PAIRS]
                or with_other(question, name, "ohio") in [question for question, _ in PAIRS])


def test_only_whole_words() -> None:
    assert with_other("new york and york", "york", "lima") == "new lima and lima"
    assert with_other("yorkshire", "york", "lima") == "yorkshire"
