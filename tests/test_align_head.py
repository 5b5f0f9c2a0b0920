"""Tests of weights/alignment/align_head.py: its examples, that it trains only the head, and that the other bytes of a
folder stay the same."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from weights.alignment import align, align_head, links  # noqa: E402
from weights.golden import cases as golden_cases, values as golden  # noqa: E402
from weights.model import config, folder, safetensors, search, tokenizer, vocabulary  # noqa: E402
from weights.alignment.align_head import Example, Linked, Options  # noqa: E402

import torch  # noqa: E402

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests" / "golden"
WORDS = {"Tom": "Tom", "ladder": "here", "mine": "mien", "this": "ce", "He": "Il"}


def _pairs(count: int) -> list[Linked]:
    """Pairs of three words whose order the translation reverses."""
    values = random.Random(3)
    pairs = []
    for _ in range(count):
        source = values.sample(list(WORDS), 3)
        pairs.append(Linked(" ".join(source), " ".join(WORDS[word] for word in reversed(source)),
                            [(0, 2), (1, 1), (2, 0)]))
    return pairs


# ---- examples ----

def test_joined_pairs_keep_their_links():
    pairs = [Linked("l'eau.", "the water.", [(1, 1)]), Linked("Oui !", "Yes!", [(0, 0), (1, 1)])]
    assert align_head.joined(pairs) == Linked("l'eau. Oui !", "the water. Yes!", [(1, 1), (3, 3), (4, 4)])


def test_varied_pairs_have_the_words_of_the_pairs():
    pairs, values = [Linked("L'eau, 'Tom'.", "The water!", [(0, 0), (1, 1)])] * 3, random.Random(1)
    seen = [align_head.varied(pairs, 0, values) for _ in range(200)]
    counts = {(len(links.words(pair.source)), len(links.words(pair.target))) for pair in seen}
    assert counts == {(5, 3), (10, 6), (15, 9)}
    assert {pair.source for pair in seen} >= {"L'eau, 'Tom'.", "L' eau , 'Tom' .", "l'eau, 'tom'.", "L’eau, ’Tom’."}


def test_guide():
    batch = [Example([5, 6, 2], [7, 8, 9], [(0, 1), (1, 1), (1, 0)]), Example([5, 2], [7], [])]
    guide, weights = align_head.guide_of(batch, 3, True, 0.0)
    assert guide[0].tolist() == [[0, 1, 0], [.5, .5, 0], [0, 0, 0], [0, 0, 1]] and weights[0].tolist() == [1, 1, 0, 1]
    assert guide[1].tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]] and weights[1].tolist() == [0, 1, 0, 0]
    guide, weights = align_head.guide_of(batch, 3, True, 0.25)
    assert (guide[0, 2].tolist() == [0, 0, 1] and weights[0].tolist() == [1, 1, .25, 1] and weights[1].tolist()
            == [.25, 1, 0, 0])
    # The source has no </s> for the target's </s> to look at.
    guide, weights = align_head.guide_of([Example([5, 6], [7], [(1, 0)])], 2, False, 0.25)
    assert guide.tolist() == [[[0, 1], [0, 0]]] and weights.tolist() == [[1, 0]]


# ---- training ----

def test_training_finds_words_in_the_other_order_and_changes_nothing_else():
    model, sides = align_head.with_head(GOLDEN / "luong-general-gru", 16)
    before = {name: tensor.clone() for name, tensor in model.named_tensors().items()}
    pairs = _pairs(400)
    align_head.train(model, sides, pairs, Options(size=16, epochs=30))
    after = model.named_tensors()
    assert all(torch.equal(tensor, after[name]) != name.startswith("alignment.") for name, tensor in before.items())
    gold = [align.Gold(p.source, p.target, set(p.links), set(), links.words(p.source), links.words(p.target))
            for p in pairs[:50]]
    found = [align.more_than_end(align.word_matrix(align.seen_by_head(model, sides, (p.source, p.target)), g, 0))
             for p, g in zip(pairs, gold)]
    assert align.rate(gold, found) < 25  # 67 for random links


@pytest.mark.parametrize("case", ["conditional-additive-lstm", "bahdanau-general-lstm", "convolutional-dot-gru",
                                  "luong-no-eos", "luong-feeding-gru",
                                  "copy-words", "output-characters", "embedding-shared", "storage-int8",
                                  "luong-local-p-lstm"])
def test_every_kind_of_model_can_have_one(case, tmp_path):
    model, sides = align_head.with_head(GOLDEN / case, 8)
    align_head.train(model, sides, _pairs(6), Options(size=8))
    align_head.write(GOLDEN / case, tmp_path / "made", model)
    read, *sides = folder.read(tmp_path / "made")
    seen = align.seen_by_head(read, tuple(sides), ("Tom is here.", "Le mien."))
    assert (seen.rows.sum(axis=1) == pytest.approx([1] * len(seen.rows), abs=1e-5)
            and len(seen.rows) == len(seen.target) + 1)


def test_special_tokens_anywhere(tmp_path):
    """As in converted models: PyTorch cannot search with them, but they can have a head."""
    shutil.copytree(GOLDEN / "luong-general-gru", tmp_path / "model")
    config_path = tmp_path / "model/config.json"
    written = json.loads(config_path.read_text())
    for side in ("source", "target"):
        unknown, begin, end, *others = tokenizer.load(GOLDEN / "luong-general-gru",
                                                      folder.read_config(GOLDEN / "luong-general-gru")["tokenizer"])[
                                                          side == "target"].pieces
        (tmp_path / f"model/{side}.vocab").write_text("".join(f"{piece}\n" for piece in (end, unknown, begin, *others)))
    config_path.write_text(json.dumps(written
                                      | {"tokenizer": {"pieces": "source.vocab", "target_pieces": "target.vocab"}}))
    with pytest.raises(vocabulary.VocabularyError, match="PyTorch needs <unk>"):
        folder.read(tmp_path / "model")
    model, sides = align_head.with_head(tmp_path / "model", 8)
    assert align_head.encode(_pairs(1)[0], sides, True).source[-1] == 0 == sides[1].special[-1]
    assert align_head.train(model, sides, _pairs(6), Options(size=8)) > 0
    align_head.write(tmp_path / "model", tmp_path / "model", model)
    assert "alignment.query.weight" in safetensors.read(tmp_path / "model/model.safetensors")[0]


def test_a_decoder_without_attention_cannot():
    with pytest.raises(config.ConfigError, match="alignment.size: needs a decoder with attention"):
        align_head.with_head(GOLDEN / "fixed-gru", 8)


@pytest.mark.parametrize("section,message", [({"size": -1}, "alignment.size: must be between 0"),
                                             (None, "alignment: must be an object"),
                                             ({"size": 4, "more": 1}, "alignment.more: unknown key"),
                                             (4, "alignment: must be an object")])
def test_wrong_sections(section, message):
    base = folder.read_config(GOLDEN / "luong-general-gru")
    with pytest.raises(config.ConfigError, match=message):
        config.validate(base | {"alignment": section})


def test_golden_values_of_a_head(tmp_path):
    case = golden.Case("head", golden_cases._encoder("gru"), golden_cases.GENERAL,
                       golden_cases._decoder("luong", "gru", **golden_cases.LAST_PROJECTED, **golden_cases.ATTENTIONAL),
                       tied=True, seed=137, alignment={"size": 5})
    golden.write_case(case, tmp_path / "head", ROOT / "tests" / "data")
    for sentence in json.loads((tmp_path / "head" / "golden.json").read_text())["sentences"]:
        rows, tokens = sentence["soft_alignment"], len(sentence["source"])
        assert len(rows) == len(sentence["forced"]["tokens"]) + 1 and {len(row) for row in rows} == {tokens}
        assert [sum(row) for row in rows] == pytest.approx([1] * len(rows), abs=1e-5)
        assert {len(key) for key in sentence["alignment_keys"]} == {5} and len(sentence["alignment_keys"]) == tokens


# ---- folders ----

@pytest.mark.parametrize("case", ["storage-int8", "storage-float16", "storage-bfloat16", "luong-general-gru"])
def test_a_folder_keeps_its_other_bytes(case, tmp_path):
    old, _ = safetensors.read(GOLDEN / case / "model.safetensors")
    shutil.copytree(GOLDEN / case, tmp_path / "model")
    for size in 8, 4:  # the second head replaces the first
        model, _ = align_head.with_head(tmp_path / "model", size)
        align_head.write(tmp_path / "model", tmp_path / "model", model)
        new, _ = safetensors.read(tmp_path / "model" / "model.safetensors")
        added = {name for name in new if name.startswith("alignment.")}
        assert (new.keys() - added == old.keys()
                and all((old[name] == new[name]).all() and old[name].dtype == new[name].dtype for name in old))
        assert new["alignment.key.weight"].shape[0] == size and new["alignment.key.weight"].dtype == model_dtype(old)
    assert json.loads((tmp_path / "model" / "config.json").read_text())["alignment"] == {"size": 4}


def model_dtype(tensors):
    return next(tensor.dtype for tensor in tensors.values() if tensor.ndim == 2)


def test_what_it_says_is_the_same_with_a_head(tmp_path):
    model, _ = align_head.with_head(GOLDEN / "luong-general-gru", 8)
    align_head.write(GOLDEN / "luong-general-gru", tmp_path / "made", model)
    found = []
    for path in GOLDEN / "luong-general-gru", tmp_path / "made":
        read, source, _ = folder.read(path)
        found.append(search.beam(read, [source.encode("Place the ladder here, Tom.") + [2]], 5, 1.0)[0])
    assert found[0] == found[1]


def test_without_a_head_config_json_says_nothing_of_it():
    assert '"alignment"' not in config.text_of(folder.read_config(GOLDEN / "luong-general-gru"))
    assert '"attention": null' in config.text_of(folder.read_config(GOLDEN / "fixed-gru"))


def test_command(tmp_path):
    pairs = _pairs(40)
    (tmp_path / "corpus.tsv").write_text("".join(f"{p.target}\t{p.source}\n" for p in pairs))
    (tmp_path / "links").write_text("2-0 1-1 0-2\n" * 40)
    command = [sys.executable, "-m", "weights.alignment.align_head", str(GOLDEN / "luong-general-gru"), "--data",
               str(tmp_path / "corpus.tsv"), "--links",
               str(tmp_path / "links"), "--flip", "--size", "8", "--out", str(tmp_path / "made")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "a head of" in done.stdout, done.stderr
    assert folder.read_config(tmp_path / "made")["alignment"] == {"size": 8}
    (tmp_path / "links").write_text("0-0\n")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "1 lines for 40 pairs" in done.stderr


def test_links_of_both_runs_are_symmetrised_and_flipped():
    assert align_head.linked(("a b", "x y"), "0-0 1-1\t0-0", False) == Linked("a b", "x y", [(0, 0), (1, 1)])
    assert align_head.linked(("a b", "x y"), "0-0 1-1\t0-0", False, "intersection") == Linked("a b", "x y", [(0, 0)])
    assert align_head.linked(("a b", "x y"), "0-1", True) == Linked("x y", "a b", [(1, 0)])
