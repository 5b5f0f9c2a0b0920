"""Tests of weights/: configuration, container, scores, batches, training, export, search.
Run: /usr/bin/python3 -m pytest -q tests"""

from __future__ import annotations

import copy
import gzip
import itertools
import json
import math
import random
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy
import pytest

TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS.parent))

from weights.corpora import data  # noqa: E402
from weights.evaluation import card, evaluate, scores  # noqa: E402
from weights.model import capitals, config, copies, encoders, folder  # noqa: E402
from weights.model import safetensors, sampling, search, tokenizer  # noqa: E402
from weights.training import export, methods, train  # noqa: E402
from weights.model.network import Model  # noqa: E402
from weights.training.spelling import Spelling  # noqa: E402
from weights.model.tokenizer import EOS  # noqa: E402

import torch  # noqa: E402 (after weights, which sets its threads)

WRONG = json.loads((TESTS / "data" / "wrong_configs.json").read_text(encoding="utf-8"))
GOLDEN = sorted(path.parent for path in (TESTS / "golden").glob("*/golden.json"))


# ---- configuration: the cases of tests/model/weights/test_config.c ----

def _edited(case: dict) -> dict:
    edited = copy.deepcopy(WRONG["base"])
    for path, value in case.get("set", {}).items():
        *sections, key = path.split(".")
        section = edited
        for name in sections:
            section = section[name]
        section[key] = value
    if "remove" in case:
        *sections, key = case["remove"].split(".")
        section = edited
        for name in sections:
            section = section[name]
        del section[key]
    return edited


def test_config_base_is_valid_and_untouched():
    base = copy.deepcopy(WRONG["base"])
    filled = config.validate(base)
    assert base == WRONG["base"]
    assert filled["limits"] == {"max_source_tokens": 100, "max_target_ratio": 3.0, "doubt": -1.37}
    assert config.validate(filled) == filled


@pytest.mark.parametrize("case", WRONG["wrong"], ids=lambda case: case["message"][:60])
def test_config_wrong(case):
    with pytest.raises(config.ConfigError) as error:
        config.validate(_edited(case))
    assert str(error.value).startswith(case["message"])


@pytest.mark.parametrize("rule", config.RULES, ids=lambda rule: rule[1][:80])
def test_every_rule_has_a_wrong_configuration(rule, monkeypatch):
    """Without the rule, some configuration of the list is refused with another message, or accepted."""
    def messages() -> list[str]:
        return [_refusal(case) for case in WRONG["wrong"]]
    before = messages()
    monkeypatch.setattr(config, "RULES", [other for other in config.RULES if other is not rule])
    assert messages() != before


def _refusal(case: dict) -> str:
    try:
        config.validate(_edited(case))
    except config.ConfigError as error:
        return str(error)
    return ""


# ---- the container ----

def _tensors() -> dict[str, numpy.ndarray]:
    values = numpy.random.default_rng(1)
    return {"bytes": values.integers(-127, 128, (3, 5)).astype(numpy.int8),
            "halves": values.standard_normal((7,)).astype(numpy.float16),
            "floats": values.standard_normal((2, 3)).astype(numpy.float32), "scalar": numpy.float32(2.5).reshape(()),
            "empty": numpy.zeros((0, 4), numpy.float32),
            "brain": safetensors.to_bfloat16(values.standard_normal((3, 2)).astype(numpy.float32))}


def test_safetensors_round_trip(tmp_path):
    path = tmp_path / "t.safetensors"
    safetensors.write(path, _tensors(), {"seed": "1"})
    tensors, metadata = safetensors.read(path)
    assert metadata == {"seed": "1"}
    assert tensors.keys() == _tensors().keys()
    for name, tensor in _tensors().items():
        assert tensors[name].dtype == tensor.dtype and tensors[name].shape == tensor.shape
        assert numpy.array_equal(tensors[name], tensor)


def test_safetensors_layout(tmp_path):
    path = tmp_path / "t.safetensors"
    safetensors.write(path, _tensors())
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + length])
    assert (8 + length) % 64 == 0
    end = 0
    for entry in sorted(header.values(), key=lambda e: e["data_offsets"]):
        assert entry["data_offsets"][0] == end
        assert end % safetensors.DTYPES[entry["dtype"]].itemsize == 0
        end = entry["data_offsets"][1]
    assert 8 + length + end == len(content)


@pytest.mark.parametrize("spoil, message", [
    (lambda c: c[:5], "shorter"),
    (lambda c: (1 << 40).to_bytes(8, "little") + c[8:], "does not fit"),
    (lambda c: c[:8] + b"[" + c[9:], "header"),
    (lambda c: c[:-1], "past the end"),
    (lambda c: c + b"x", "after the last"),
    (lambda c: c.replace(b'"F32"', b'"F99"'), "unknown dtype"),
    (lambda c: c.replace(b'"shape":[2,3]', b'"shape":[2,4]'), "floats"),
    (lambda c: c.replace(b'"halves"', b'"floats"'), "duplicate"),
])
def test_safetensors_corrupt(tmp_path, spoil, message):
    path = tmp_path / "t.safetensors"
    safetensors.write(path, _tensors())
    spoiled = spoil(path.read_bytes())
    assert spoiled != path.read_bytes()
    path.write_bytes(spoiled)
    with pytest.raises(safetensors.FormatError, match=message):
        safetensors.read(path)


def test_bfloat16_rounds_as_pytorch():
    values = numpy.random.default_rng(2).standard_normal(10000).astype(numpy.float32)
    values[:4] = [0.0, -0.0, 1.00390625, 1.01171875]  # the last two are halfway cases, rounded to even
    wanted = torch.from_numpy(values).bfloat16().float().numpy()
    assert numpy.array_equal(safetensors.from_bfloat16(safetensors.to_bfloat16(values)), wanted)


def test_int8_is_within_half_a_step():
    matrix = numpy.random.default_rng(3).standard_normal((4, 9)).astype(numpy.float32)
    matrix[2] = 0
    stored = folder.store({"m": matrix, "v": matrix[0]}, "int8")
    assert stored["m"].dtype == numpy.int8 and stored["m.scale"].shape == (4,) and stored["v"].dtype == numpy.float32
    assert numpy.all(numpy.abs(folder.expand(stored)["m"] - matrix) <= stored["m.scale"][:, None] * 0.5001)
    assert numpy.all(numpy.abs(stored["m"]).max(axis=1) == [127, 127, 0, 127])


# ---- scores: values of sacreBLEU's own tests ----

REFERENCE = "producţia de zahăr brut se exprimă în zahăr alb;"
HYPOTHESIS = "Producția de zahăr primă va fi exprimată în ceea ce privește zahărul alb;"
RISK = (" risk assessment must be made of those who are qualified and expertise in the sector - "
        "these are the scientists .",
        "risk assessment has to be undertaken by those who are qualified and expert in that area - "
        "that is the scientists .")
RELATION = (" Die    Beziehung zwischen  Obama und Netanjahu ist nicht gerade  freundlich. ",
            "Das Verhältnis zwischen Obama und Netanyahu ist nicht gerade freundschaftlich.")


@pytest.mark.parametrize("hypotheses, references, wanted", [
    ([HYPOTHESIS], [REFERENCE], 8.493),
    (["this is a test"], ["this is a test"], 100.0),
    (["this is a cat"], ["okay thanks"], 0.0),
    (["", "", ""], ["a", "b", "c"], 0.0),
    # 4/5, 3/4, 2/3, 1/2 and no brevity penalty: (4/5 3/4 2/3 1/2)^(1/4)
    (["a b c d x"], ["a b c d e"], 100 * 0.2 ** 0.25),
    # exponential smoothing: 4/4, 1/(2 3), 1/(4 2), 1/(8 1)
    (["this is a fest"], ["this a is fest"], 100 * (1 / 6 / 8 / 8) ** 0.25),
    # brevity penalty exp(1 - 6/4)
    (["a b c d"], ["a b c d e f"], 100 * 2.718281828459045 ** -0.5),
])
def test_bleu(hypotheses, references, wanted):
    assert scores.bleu(hypotheses, references) == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("line, tokens", [
    ("Hello, world!", "Hello , world !"),
    ("1,000.5 and 3.", "1,000.5 and 3 ."),
    ("It's (a) 5-6 well-known \"case\".", "It's ( a ) 5 - 6 well-known \" case \" ."),
    ("L&apos;a &quot;b&quot; &amp; &lt;c&gt;", "L & apos ; a \" b \" & < c >"),
])
def test_tokenize_13a(line, tokens):
    assert scores.tokenize_13a(line) == tokens.split(" ")


@pytest.mark.parametrize("hypotheses, references, wanted", [
    (["a"], ["a"], 100.0), ([""], ["reference"], 0.0), (["a b c"], ["a b c"], 100.0), (["a b c"], ["abc"], 100.0),
    ([""], ["c"], 0.0),
    (["a", "b"], ["a", "c"], 50.0), (["aa"], ["ab"], 25.0), ([RISK[0]], [RISK[1]], 63.361730),
    ([RELATION[0]], [RELATION[1]], 64.1302698),
])
def test_chrf_beta_3(hypotheses, references, wanted):
    assert scores.chrf(hypotheses, references, beta=3) == pytest.approx(wanted, abs=1e-4)


def test_chrf_counts_only_orders_that_the_reference_has():
    # "ab" has no trigrams, so the trigram of "abc" does not count against the precision of the corpus (as in sacreBLEU
    # 2)
    assert (scores.chrf(["abc", "wxyz"], ["ab", "wxyz"])
            == pytest.approx(100 * 5 * (p := (6 / 7 + 4 / 5 + 1 + 1) / 4) / (4 * p + 1)))


# ---- data ----

def test_batches_cover_all_pairs_once():
    values = random.Random(1)
    lengths = [(values.randint(1, 40), values.randint(2, 40)) for _ in range(5000)] + [(300, 2)]
    batches = data.make_batches(lengths, 200, 1, 0)
    assert sorted(itertools.chain(*batches)) == list(range(5001))
    assert all(len(batch) == 1 or max(max(lengths[i]) for i in batch) * len(batch) <= 200 for batch in batches)
    assert batches == data.make_batches(lengths, 200, 1, 0)
    assert batches != data.make_batches(lengths, 200, 1, 1)


def test_read_pairs(tmp_path):
    path = tmp_path / "p.tsv.gz"
    path.write_bytes(gzip.compress("a\tb\tc\nd e\tf\u2028g\n".encode()))
    assert data.read_pairs(path) == [("a", "b"), ("d e", "f\u2028g")]
    assert data.read_pairs(path, flip=True) == [("b", "a"), ("f\u2028g", "d e")]
    path.write_bytes(gzip.compress(b"a\tb\nc\n"))
    with pytest.raises(ValueError, match=":2: no TAB"):
        data.read_pairs(path)


# ---- vocabularies: the cases of tests/model/text/test_plain.c ----

def test_prepared_text():
    """OPUS-MT's preparation, with the server's cases; positions are in characters here."""
    for case in json.loads((TESTS / "data" / "prepared.json").read_text(encoding="utf-8")):
        prepared, origins = tokenizer.prepare(case["text"])
        places = [len(case["text"][:place].encode()) for place in origins]
        firsts = [len(prepared[:i].encode()) for i in range(len(prepared) + 1)]
        assert prepared == case["prepared"] and places == [case["origins"][first] for first in firsts]


def test_capitals():
    """The server's cases."""
    for case in json.loads((TESTS / "data" / "capitals.json").read_text(encoding="utf-8")):
        found = {"only": capitals.only(case["text"]), "lowered": capitals.lowered(case["text"]),
                 "raised": capitals.raised(case["text"])}
        assert case == {"text": case["text"]} | found


def test_capitals_are_read_in_small_letters():
    side = tokenizer.SentencePiece(TESTS / "data" / "tiny.en.spm", {"capitals": "lowered"})
    config = {"encoder": {"eos": True}, "output": {"type": "vocabulary"}}
    source, same = (copies.source_of(text, side, side, config) for text in ("A BOY PLAYS.", "A boy plays."))
    assert source.lowered and not same.lowered and source.ids == same.ids
    assert (copies.target_ids("A BOY PLAYS.", side, source) == side.encode("A boy plays.")
            != copies.target_ids("A BOY PLAYS.", side, same))
    assert copies.decode(source.ids[:-1], side, source) == copies.decode(same.ids[:-1], side, same).upper()


PLAIN = json.loads((TESTS / "data" / "plain_tokens.json").read_text(encoding="utf-8"))


def _vocabulary(path: Path, pieces: list[str]) -> Path:
    path.write_text("".join(f"{piece}\n" for piece in [*tokenizer.SPECIAL, *pieces]), encoding="utf-8", newline="\n")
    return path


@pytest.mark.parametrize("case", PLAIN["cases"], ids=lambda case: case["text"][:30])
def test_plain_tokens(tmp_path, case):
    side = tokenizer.KINDS[case["type"]](_vocabulary(tmp_path / "v", PLAIN["vocabularies"][case["type"]]), case)
    tokens = side.tokens(case["text"])
    assert [token.piece for token in tokens] == case["pieces"]
    assert [token.id for token in tokens] == side.encode(case["text"]) == case["ids"]
    assert side.decode(case["ids"]) == case["decoded"]
    assert (side.decode(case["ids"], {i: token.piece for i, token in enumerate(tokens) if token.id == tokenizer.UNK})
            == case["printed"])
    text = case["text"].encode()
    visible = [text[begin:end].decode() for begin, end in case["bytes"]]
    assert (side.texts(case["text"]) == [part or next(later for later in visible[i:] if later)
                                         for i, part in enumerate(visible)])


@pytest.mark.parametrize("content, message", [
    (b"", "3 to 1048576 lines, got 0"), (b"<unk>\n<s>\n</s>\na", "the last line does not end with a line feed"),
    (b"a\n<s>\n</s>\nb\n", "<unk> is missing"), (b"<unk>\n<s>\n</s>\na\n\n", "line 5 is empty"),
    (b"<unk>\n<s>\n</s>\na\r\n", "line 4 contains white space"), (b"<unk>\n<s>\n</s>\na\0\n", "line 4 contains a NUL"),
    (b"<unk>\n<s>\n</s>\nb\na\nb\n", "lines 4 and 6 are the same"), (b"<unk>\n<s>\n</s>\n\xff\n", "not valid UTF-8"),
])
def test_vocabulary_refused(tmp_path, content, message):
    path = tmp_path / "v"
    path.write_bytes(content)
    with pytest.raises(tokenizer.VocabularyError, match=message):
        tokenizer.read_vocabulary(path)


def test_special_tokens_stand_anywhere(tmp_path):
    """As in Marian's vocabularies; words may have a no-break space."""
    options = {"type": "words", "source": "v", "target": "v", "lowercase": False, "punctuation": False,
               "pieces": "none", "target_pieces": "none", "preparation": "none", "capitals": "kept"}
    (tmp_path / "v").write_text("</s>\n<unk>\n10\u00a0000\nb\n", encoding="utf-8")
    side = tokenizer.load(tmp_path, options)[0]
    assert side.special == (1, -1, 0)
    assert side.encode("b </s> c") == [3, 1, 1]
    assert side.decode([3, 0, 1, 2]) == "b \u2047 10\u00a0000"
    with pytest.raises(tokenizer.VocabularyError,
                       match="PyTorch needs <unk>, <s>, </s> at 0, 1, 2, and this has <unk> at 1, no <s>, </s> at 0"):
        tokenizer.vocabulary_sizes(tmp_path, {"tokenizer": options, "output": {"type": "vocabulary"},
                                              "encoder": {"embedding_shared": False}})


def test_characters_are_single(tmp_path):
    with pytest.raises(tokenizer.VocabularyError, match="line 5 is not one character"):
        tokenizer.Characters(_vocabulary(tmp_path / "v", ["a", "ab"]), {})


@pytest.mark.parametrize("kind, size, min_count, wanted", [
    ("words", 0, 1, ["b", "a", "C", "c\u200bd"]), ("words", 5, 1, ["b", "a"]), ("words", 0, 2, ["b", "a"]),
    ("characters", 6, 1, ["\u2581", "b", "a"]),
])
def test_vocabulary_training(tmp_path, kind, size, min_count, wanted):
    options = {"lowercase": False, "punctuation": False}
    lines = ["b a  b", "a b", " C <unk> "] + (["c\u200bd"] if kind == "words" else [])
    tokenizer.KINDS[kind].train(lines, tmp_path / "v", size, min_count, 1, options)
    assert tokenizer.read_vocabulary(tmp_path / "v") == [*tokenizer.SPECIAL, *wanted]


def test_sentencepiece_training(tmp_path):
    lines = [f"the cat number {count} is {colour}" for count in range(100) for colour in ("red", "green", "blue")]
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        tokenizer.SentencePiece.train(lines, tmp_path / place / "joint.spm", 30, 1, 1, {})
    here, there = ((tmp_path / place / "joint.spm").read_bytes() for place in ("here", "there"))
    assert here == there  # the file does not depend on its path
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["joint.spm"]
    assert tokenizer.SentencePiece(tmp_path / "here" / "joint.spm", {}).size == 30


# ---- training, export, evaluation ----

WORDS = {"one": "un", "two": "deux", "three": "trois", "four": "quatre", "five": "cinq", "red": "rouge",
         "black": "noir", "dog": "chien"}
RECIPE = {
    "format": 1, "name": "en-fr", "source": "en", "target": "fr",
    "encoder": {"cell": "gru", "embedding": 8, "hidden": 6}, "attention": {"score": "general"},
    "decoder": {"style": "luong", "cell": "gru", "embedding": 8, "hidden": 12, "initial_projection": True,
                "readout_size": 8},
    "output": {"tied": True},
    "training": {"seed": 3, "vocabulary": 24, "epochs": 2, "patience": 2, "batch_tokens": 300, "learning_rate": 0.01,
                 "warmup": 5, "dropout": 0.2, "label_smoothing": 0.1, "clip": 1.0},
}


class Stopped(Exception):
    """The run was interrupted."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """Word-for-word translations, 300 pairs for training and 20 for validation, and the recipe."""
    out, values = tmp_path_factory.mktemp("corpus"), random.Random(2)
    for name, count in (("train", 300), ("valid", 20), ("test", 20)):
        lines = [[values.choice(list(WORDS)) for _ in range(values.randint(1, 6))] for _ in range(count)]
        text = "".join(f"{' '.join(line)}\t{' '.join(WORDS[word] for word in line)}\n" for line in lines)
        (out / f"{name}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    (out / "recipe.json").write_text(json.dumps(RECIPE), encoding="utf-8")
    return out


def _losses(corpus: Path, out: Path, monkeypatch, stop_after: int | None = None,
            recipe: Path = Path("recipe.json")) -> list[float]:
    """Trains in `out`, or resumes there, saving after every batch. Returns the losses of its steps."""
    trainer = train.Trainer(corpus / recipe, corpus, out, False)
    losses: list[float] = []
    update = trainer.update

    def recorded(batch, total):
        if len(losses) == stop_after:
            raise Stopped
        loss = update(batch, total)
        losses.append(loss[0])
        return loss

    monkeypatch.setattr(trainer, "update", recorded)
    trainer.resume()
    try:
        trainer.run(save_every=0)
    except Stopped:
        pass
    return losses


@pytest.fixture(scope="module")
def run_folder(corpus, tmp_path_factory) -> tuple[Path, list[float]]:
    """An uninterrupted run, and its losses."""
    out = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as monkeypatch:
        return out, _losses(corpus, out, monkeypatch)


def test_training_learns(run_folder):
    losses = run_folder[1]
    assert sum(losses[-3:]) < 0.9 * sum(losses[:3])
    log = [json.loads(line) for line in (run_folder[0] / "log.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in log] == [1, 2]


@pytest.mark.parametrize("normalization, cell, other", [
    ("layer", "lstm", {"initial_cell": "state", "readout": "tanh"}),
    ("gates", "gru", {"readout": "maxout"}),
    ("none", "gru", {"readout": "linear"}),
])
def test_deep_decoders_learn(corpus, tmp_path, monkeypatch, normalization, cell, other):
    """Layers, transitions and norms of Marian's and Nematus's models."""
    attention = {"score": "additive", "size": 8, "normalization": normalization}
    decoder = {**RECIPE["decoder"], "style": "conditional", "cell": cell, "layers": 2, "residual": True,
               "initial_state": "mean",
               "normalization": normalization, "transitions": 1, "upper_transitions": 1, **other}
    (tmp_path / "recipe.json").write_text(json.dumps({**RECIPE, "attention": attention, "decoder": decoder}),
                                          encoding="utf-8")
    losses = _losses(corpus, tmp_path / "run", monkeypatch, recipe=tmp_path / "recipe.json")
    assert sum(losses[-3:]) < 0.9 * sum(losses[:3])


@pytest.mark.parametrize("stops", [(5,), (1, 4), (13, 1)])
def test_resumed_training_is_the_same(corpus, run_folder, tmp_path, monkeypatch, stops):
    assert len(run_folder[1]) > sum(stops)
    losses = []
    for stop in (*stops, None):
        losses += _losses(corpus, tmp_path, monkeypatch, stop)
    assert losses == run_folder[1]


def test_resume_refuses_another_configuration(corpus, run_folder, tmp_path):
    recipe = copy.deepcopy(RECIPE)
    recipe["decoder"]["hidden"] = 14
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(recipe), encoding="utf-8")
    trainer = train.Trainer(path, corpus, run_folder[0], False)
    with pytest.raises(SystemExit, match="another configuration"):
        trainer.resume()


def _log_probs(model: Model) -> torch.Tensor:
    with torch.no_grad():
        readouts, _ = model.readouts(torch.tensor([[5, 6, 7, EOS]]), torch.tensor([4]), torch.tensor([[1, 8, 9, 10]]))
        return torch.log_softmax(model.output(readouts), dim=-1)


@pytest.mark.parametrize("storage, tolerance", [("float32", 0), ("float16", 3e-3), ("bfloat16", 3e-2), ("int8", 3e-2)])
def test_export_parity(run_folder, tmp_path, storage, tolerance):
    export.export(run_folder[0], tmp_path, storage)
    best = torch.load(run_folder[0] / "best.pt")
    trained = Model(best["config"], 24, 24).eval()
    trained.load_state_dict(best["model"])
    loaded, source, _ = folder.read(tmp_path)
    assert source.encode("one dog")
    difference = (_log_probs(loaded) - _log_probs(trained)).abs().max().item()
    assert difference <= tolerance and (difference > 0) == (storage != "float32")
    assert safetensors.read(tmp_path / "model.safetensors")[1].keys() == {"seed", "torch", "epoch", "valid_bleu"}


@pytest.mark.parametrize("kind, wanted", [("words", set(WORDS)), ("characters", {"\u2581", *"".join(WORDS)})])
def test_training_with_other_vocabularies(corpus, tmp_path, monkeypatch, kind, wanted):
    recipe = RECIPE | {"tokenizer": {"type": kind, "source": "source.vocab", "target": "target.vocab"}}
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(recipe | {"training": RECIPE["training"] | {"vocabulary": 0, "epochs": 1}}),
                    encoding="utf-8")
    train.Trainer(path, corpus, tmp_path / "run", False).run(save_every=300)
    export.export(tmp_path / "run", tmp_path / "model", "float16")
    _, source, target = folder.read(tmp_path / "model")
    assert set(source.pieces) == {*tokenizer.SPECIAL, *wanted}
    assert target.decode(target.encode("un chien")) == "un chien"
    card.write(tmp_path / "model", [], "", 20, False)
    assert f"| tokens | {kind}, source.vocab and target.vocab" in (tmp_path / "model" / "README.md").read_text(
        encoding="utf-8")


def test_spelling_learns(corpus, tmp_path):
    """Half of the target's words are spelled, most of them correctly after a few epochs. (The source's vocabulary is
    complete.)"""
    recipe = {**RECIPE, "tokenizer": {"type": "words", "source": "source.vocab", "target": "target.vocab"},
              "decoder": {**RECIPE["decoder"], "readout_size": 32},
              "output": {"type": "characters", "character_embedding": 8}}
    path = tmp_path / "recipe.json"
    training = {**RECIPE["training"], "vocabulary": 7, "epochs": 30, "patience": 30, "dropout": 0.0,
                "label_smoothing": 0.0, "learning_rate": 0.03}
    path.write_text(json.dumps(recipe | {"training": training}), encoding="utf-8")
    (tmp_path / "run").mkdir()
    tokenizer.Words.train(list(WORDS), tmp_path / "run" / "source.vocab", 0, 1, 1,
                          {"lowercase": False, "punctuation": False})
    trainer = train.Trainer(path, corpus, tmp_path / "run", False)
    assert (trainer.target.size == 7 and set(trainer.spelling.words) <= set(WORDS.values())
            and len(trainer.spelling.words) == 4)
    trainer.run(save_every=300)
    export.export(tmp_path / "run", tmp_path / "model", "float32")
    model, source, target = folder.read(tmp_path / "model")
    characters = tokenizer.load_characters(tmp_path / "model", model.config)
    right = total = 0
    for text, wanted in data.read_pairs(corpus / "test.tsv.gz"):
        ids = source.encode(text) + [EOS]
        hypothesis = search.forced(model, ids, target.encode(wanted))
        spelled = search.spell(model, ids, hypothesis, characters)
        right += sum(word == wanted.split()[i] for i, word in spelled.items())
        total += sum(token == tokenizer.UNK for token in hypothesis.tokens)
    assert total > 20 and right > total / 2


def test_load_refuses_strange_tensors(run_folder, tmp_path):
    export.export(run_folder[0], tmp_path, "float32")
    path = tmp_path / "model.safetensors"
    tensors, _ = safetensors.read(path)
    safetensors.write(path, tensors | {"strange": numpy.zeros(1, numpy.float32)})
    with pytest.raises(safetensors.FormatError, match="strange"):
        folder.read(tmp_path)
    safetensors.write(path, tensors | {"output.bias": numpy.zeros(3, numpy.float32)})
    with pytest.raises(safetensors.FormatError, match="output.bias: shape"):
        folder.read(tmp_path)


class _Backwards(BaseHTTPRequestHandler):
    """A daemon that reverses every text and keeps the requests."""

    requests: list[dict] = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append(body)
        reply = json.dumps({"translations": [{"text": text[::-1], "sentences": [{"tokens": list(text[::-1])}] if text
                                              else []}
                                             for text in body["text"]]}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *arguments):
        pass


def test_evaluate_daemon():
    server = HTTPServer(("127.0.0.1", 0), _Backwards)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    texts = [f"text {i}" for i in range(130)] + [""]
    outputs = evaluate.Daemon(f"http://127.0.0.1:{server.server_port}/", "en-fr").translate(texts, "beam", 3)
    server.shutdown()
    server.server_close()
    assert [output.text for output in outputs] == [text[::-1] for text in texts]
    assert outputs[0].pieces == list("0 txet") and outputs[-1].pieces == []
    assert all({**request, "text": 0} == {"text": 0, "model": "en-fr", "strategy": "beam", "beam_size": 3,
                                          "split_sentences": False,
                                          "include": ["tokens"]} for request in _Backwards.requests)
    assert sorted(len(request["text"]) for request in _Backwards.requests) == [31, 50, 50]


def test_evaluate_reports_differences():
    same, ours, theirs = (evaluate.Output(text, [text], 0.25) for text in ("same", "ours", "theirs"))
    lines: list[str] = []
    evaluate.report([evaluate.Result("pytorch", "greedy", {"BLEU": 1, "chrF": 2}, 3, [same, ours]),
                     evaluate.Result("daemon", "greedy", {"BLEU": 1, "chrF": 2}, 3, [same, theirs])], lines.append)
    assert (lines[2:] == ["greedy: 1 of 2 sentences differ token for token",
                          "  line 2: margin 2.50e-01: 'ours' / 'theirs'"])


def test_evaluate_writes_the_card(corpus, run_folder, tmp_path, monkeypatch):
    export.export(run_folder[0], tmp_path, "float16")
    monkeypatch.setattr(sys, "argv", ["evaluate", str(tmp_path), "--data", str(corpus), "--card", "--beam-size", "2"])
    evaluate.main()
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "English to French" in text and "float16" in text and "www.manythings.org/anki and tatoeba.org" in text
    assert ("| beam 2 | pytorch |" in text
            and "weights.evaluation.evaluate weights/en-fr --data DATA --beam-size 2" in text)
    assert "{" not in text and str(tmp_path) not in text and card.SCALE not in text


# ---- search ----

def _tiny_model(ratio: float = 1.0) -> Model:
    recipe = {key: value for key, value in RECIPE.items()
              if key != "training"} | {"limits": {"max_target_ratio": ratio}}
    torch.manual_seed(5)
    model = Model(config.validate(recipe), 7, 4).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 1)
    return model


def _every_hypothesis(model: Model, source: list[int], limit: int) -> dict[tuple[int, ...], float]:
    """All hypotheses of at most `limit` tokens, scored separately: those of full length as they are, shorter ones with
    </s>."""
    found = {}
    for length in range(limit + 1):
        for tokens in itertools.product((0, 1, 3), repeat=length):
            log_probs = search.forced(model, source, list(tokens)).log_probs
            found[tokens] = sum(log_probs[:-1]) / length if length == limit else sum(log_probs) / (length + 1)
    return found


def test_beam_wide_enough_is_exhaustive():
    model, source = _tiny_model(), [4, 5, EOS]
    wanted = sorted(_every_hypothesis(model, source, 3).items(), key=lambda item: -item[1])
    n_best = search.beam(model, [source], 64)[0]
    assert [tuple(h.tokens) for h in n_best] == [tokens for tokens, _ in wanted]
    assert [h.score(1.0) for h in n_best] == pytest.approx([score for _, score in wanted], abs=1e-5)


@pytest.mark.parametrize("n_best", [1, 4])
def test_exact_finds_the_best_of_all(n_best):
    model, source = _tiny_model(), [4, 5, EOS]
    wanted = sorted(_every_hypothesis(model, source, 3).items(), key=lambda item: -item[1])
    found = search.exact(model, source, 3, n_best)
    assert [tuple(h.tokens) for h in found] == [tokens for tokens, _ in wanted[:n_best]]
    assert [h.score(1.0) for h in found] == pytest.approx([score for _, score in wanted[:n_best]], abs=1e-5)
    assert found[0].margin == pytest.approx(min(wanted[i][1] - wanted[i + 1][1] for i in range(n_best)), abs=1e-5)


def test_samples_come_as_often_as_they_are_likely():
    """The relative frequency of each of 5,000 samples of two tokens at temperature 1 is its probability, within three
    and a half standard deviations."""
    model, source, draws = _tiny_model(0.67), [4, 5, EOS], 5000
    found = [tuple(h.tokens) for h in sampling.sample(model, source, draws, sampling.Sampling(1.0, 0, 1.0), seed=1)]
    for tokens in itertools.chain.from_iterable(itertools.product((0, 1, 3), repeat=length) for length in range(3)):
        log_probs = search.forced(model, source, list(tokens)).log_probs
        p = math.exp(sum(log_probs[:2]))
        assert abs(found.count(tokens) - draws * p) <= 3.5 * math.sqrt(draws * p * (1 - p)) + 1, tokens


@pytest.mark.parametrize("way, left",
                         [(sampling.Sampling(1.0, 2, 1.0), {1, 3}), (sampling.Sampling(1.0, 0, 0.78), {0, 1, 3}),
                          (sampling.Sampling(1.0, 3, 0.78), {1, 3}), (sampling.Sampling(0.2, 0, 0.6), {1})])
def test_cuts_leave_the_best(way, left):
    """Of the probabilities .2, .4, .05, .35 the best two have .75 of the total, and .79 of the best three; at
    temperature .2 the best has .65 of the total of p^5."""
    log_probs = [math.log(p) for p in (0.2, 0.4, 0.05, 0.35)]
    assert {sampling.draw(log_probs, way, u / 100)[0] for u in range(100)} == left


def test_beam_by_hand():
    """A simple beam search for single sentences, without sharing or batching, agrees with the batched one."""
    model, sources, size = _tiny_model(2.0), [[4, EOS], [5, 6, 3, EOS], [6, EOS]], 3
    for source, n_best in zip(sources, search.beam(model, sources, size)):
        live, finished = [([], 0.0)], []
        for step in range(search.max_length(model.config, len(source))):
            grown = [(tokens + [token], total + log_prob) for tokens, total in live
                     for token, log_prob in enumerate(_next(model, source, tokens))]
            kept = sorted(grown, key=lambda item: -item[1])[:size - len(finished)]
            finished += [item for item in kept if item[0][-1] == EOS]
            live = [item for item in kept if item[0][-1] != EOS]
        wanted = sorted(finished + live, key=lambda item: -item[1] / len(item[0]))
        assert [h.tokens + [EOS] * h.ended for h in n_best] == [tokens for tokens, _ in wanted]
        assert [h.log_prob for h in n_best] == pytest.approx([total for _, total in wanted], abs=1e-4)


@torch.no_grad()
def _next(model: Model, source: list[int], tokens: list[int]) -> list[float]:
    ids, lengths = search.pad([source])
    readouts, _ = model.readouts(ids, lengths, torch.tensor([[1] + tokens]))
    return torch.log_softmax(model.output(readouts[0, -1]), dim=-1).tolist()


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
def test_golden_values_are_current(case):
    """A batch of all sentences gives the values of golden.json for single ones."""
    model, _, _ = folder.read(case)
    sentences = json.loads((case / "golden.json").read_text(encoding="utf-8"))["sentences"]
    sources = [sentence["source"] for sentence in sentences]
    words = [sentence["words"] for sentence in sentences] if model.output.copies else None
    for sentence, found in zip(sentences, search.greedy(model, sources, words=words), strict=True):
        assert found.tokens == sentence["greedy"]["tokens"] and found.ended == sentence["greedy"]["ended"]
        assert found.log_probs == pytest.approx(sentence["greedy"]["log_probs"], rel=1e-4, abs=1e-4)
        assert all(sum(row) == pytest.approx(1, abs=1e-5) for row in found.attention if model.config["attention"])
    for sentence, n_best in zip(sentences, search.beam(model, sources, 5, words=words), strict=True):
        assert [h.tokens for h in n_best] == [h["tokens"] for h in sentence["beam"][0]["hypotheses"]]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
def test_every_parameter_learns(case):
    """Sentences of different lengths in one batch, some targets longer than their sources: no gradient is missing, zero
    or not a number."""
    model, _, _ = folder.read(case)
    sentences = json.loads((case / "golden.json").read_text(encoding="utf-8"))["sentences"]
    sources = [copies.Source(sentence["source"], sentence.get("words", []), []) for sentence in sentences]
    target, characters = tokenizer.load(case,
                                        model.config["tokenizer"])[1], tokenizer.load_characters(case, model.config)
    spelling = Spelling(characters, target) if characters else None
    text = [5, 6, 7, 8, 9, 3, 4] + (spelling or target).encode("zugzwang")
    batch = [(source, text if train.producible(source, text, model.config) else (source.words * 8)[:8])
             for source in sources]
    method = methods.Methods(model.config, train.DEFAULTS | {"label_smoothing": 0.1}, batch)
    train.loss_of(model.train(), batch, method, 0.0, torch.device("cpu"), spelling)[0].backward()
    # No cell and no output reads its attention, which is reported but not trained.
    shown = case.name == "pointer"
    for name, parameter in model.named_tensors().items():
        # weights/alignment/align_head.py trains these.
        if (shown and name.startswith("attention.")) or name.startswith("alignment."):
            continue
        assert parameter.grad is not None and parameter.grad.isfinite().all() and parameter.grad.any(), name


# ---- cells and stacks: PyTorch's against ours ----

def _same_values(source: torch.nn.Module, target: torch.nn.Module, *names) -> None:
    found = source.named_tensors("", *names)
    for name, parameter in target.named_tensors("", *names).items():
        parameter.data.copy_(found[name])


def _close(a: tuple[torch.Tensor, ...], b: tuple[torch.Tensor, ...]) -> bool:
    return len(a) == len(b) and all(torch.allclose(x, y, atol=1e-6) for x, y in zip(a, b))


@torch.no_grad()
@pytest.mark.parametrize("cell", encoders.CELLS)
def test_a_deep_cell_with_nothing_more_is_pytorchs(cell):
    plain, deep = encoders.Recurrent(cell, 5, 4), encoders.Deep(cell, 5, 4, "none", 0)
    _same_values(plain, deep)
    x, lengths = torch.randn(3, 7, 5), torch.tensor([7, 2, 5])
    state = tuple(torch.randn(3, 4) for _ in range(encoders.CELLS[cell].states))
    (h, finals), (deep_h, deep_finals) = plain.packed(x, lengths), deep.packed(x, lengths)
    assert _close((h, *finals), (deep_h, *deep_finals)) and not deep_h[1, 2:].any()
    assert _close(plain.step(x[:, 0], state), deep.step(x[:, 0], state))
    assert _close((plain.sequence(x, state),), (deep.sequence(x, state),))


@torch.no_grad()
@pytest.mark.parametrize("cell", encoders.CELLS)
def test_a_pair_is_pytorchs_bidirectional(cell):
    directions = ("forward.", "backward.")
    whole = encoders.Recurrent(cell, 5, 4, bidirectional=True)
    pair = encoders.Pair(encoders.Recurrent(cell, 5, 4), encoders.Deep(cell, 5, 4, "none", 0), apart=False,
                         turned=False)
    _same_values(whole, pair, directions)
    x, lengths = torch.randn(3, 7, 5), torch.tensor([7, 2, 5])
    (h, finals), (pair_h, pair_finals) = whole.packed(x, lengths), pair.packed(x, lengths)
    assert _close((h, *finals), (pair_h, *pair_finals))


@torch.no_grad()
def test_company_does_not_change_a_deep_encoders_sentence():
    case = next(case for case in GOLDEN if case.name == "stack-alternating-lstm")
    encoder = folder.read(case)[0].encoder
    ids, lengths = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]]), torch.tensor([4, 2])
    together, finals = encoder(ids, lengths)
    alone, alone_finals = encoder(ids[1:, :2], lengths[1:])
    assert _close((together[1:, :2],), (alone,))
    assert all(_close(tuple(part[1:] for part in layer), other) for layer, other in zip(finals, alone_finals))


def test_one_embedding_is_one_parameter():
    settings = config.validate(_edited({"set": {"encoder.embedding_shared": True, "output": {"tied": True}}}))
    model = Model(settings, 20, 20)
    assert model.encoder.embedding.weight is model.decoder.embedding.weight
    assert not {"encoder.embedding", "output.weight"} & model.named_tensors().keys()
    assert sum(p.numel() for p in model.parameters()) == sum(t.numel() for t in model.named_tensors().values())


@pytest.mark.parametrize("edit", [{"source": "joint.spm", "target": "joint.spm"}, {}],
                         ids=["one file", "one embedding"])
def test_one_vocabulary_for_both_sides(tmp_path, edit):
    settings = config.validate(
        _edited({"set": {"tokenizer": {"type": "words", **edit}, "encoder.embedding_shared": not edit}}))
    pairs = [("a man", "un homme"), ("a dog", "un chien")]
    source, target = train.prepare_vocabularies(tmp_path, settings, {"vocabulary": 0, "min_count": 1, "seed": 1}, pairs)
    assert source.pieces == target.pieces and {"man", "homme"} < set(source.pieces)
    assert len(set(tokenizer.vocabulary_sizes(tmp_path, settings).values()) - {0}) == 1


def test_unlike_vocabularies_have_no_embedding_together(tmp_path):
    settings = config.validate(_edited({"set": {"encoder.embedding_shared": True, "tokenizer": {"type": "words"}}}))
    for name, word in (("source.spm", "man"), ("target.spm", "homme")):
        (tmp_path / name).write_text(f"<unk>\n<s>\n</s>\n{word}\n")
    with pytest.raises(tokenizer.VocabularyError, match="^encoder.embedding_shared: "):
        tokenizer.vocabulary_sizes(tmp_path, settings)


def test_beam_of_one_is_greedy():
    model, sources = _tiny_model(3.0), [[4, EOS], [5, 6, 3, EOS]]
    for greedy, n_best in zip(search.greedy(model, sources), search.beam(model, sources, 1)):
        assert greedy.tokens == n_best[0].tokens and greedy.attention == n_best[0].attention


COPYING = [case for case in GOLDEN
           if json.loads((case / "config.json").read_text())["output"]["type"] in config.COPYING]


@torch.no_grad()
@pytest.mark.parametrize("case", COPYING, ids=lambda case: case.name)
def test_the_marginal_is_of_the_distribution(case):
    """The loss and the search give a token the same log-probability, also in a batch of sentences of different
    lengths."""
    model, _, _ = folder.read(case)
    sentences = json.loads((case / "golden.json").read_text(encoding="utf-8"))["sentences"]
    memory, state = search.encode(model, [s["source"] for s in sentences], [s["words"] for s in sentences])
    inputs, _ = search.pad([[1] + s["forced"]["tokens"] for s in sentences])
    wanted, _ = search.pad([s["forced"]["tokens"] + [EOS] for s in sentences])
    reads = model.teach(inputs, state, memory)
    exact = model.output.log_probs(reads, memory).gather(2, wanted[:, :, None])[:, :, 0]
    for i, sentence in enumerate(sentences):
        log_probs = sentence["forced"]["log_probs"]
        assert (model.output.marginal(reads, memory, wanted)[0][i, :len(log_probs)].tolist()
                == pytest.approx(log_probs, abs=1e-4))
        assert exact[i, :len(log_probs)].tolist() == pytest.approx(log_probs, abs=1e-4)


def _copying_recipe(out: str) -> dict:
    recipe = copy.deepcopy(RECIPE)
    recipe["output"] = {"type": out}
    recipe["tokenizer"] = {"type": "words", "source": "source.txt", "target": "target.txt"}
    recipe["training"] |= {"vocabulary": 0, "min_count": 2, "epochs": 6, "label_smoothing": 0.0, "dropout": 0.0}
    if out == "pointer":
        recipe["decoder"] |= {"readout": "concat", "readout_size": 0}
    return recipe


@pytest.mark.parametrize("out", ["pointer", "pointer_generator", "copy"])
def test_unseen_words_are_copied(tmp_path, out):
    """`say NAME now` -> `NAME now`, where every name occurs once, in training and in validation."""
    for name, first, count in (("train", 0, 400), ("valid", 400, 20)):
        text = "".join(f"{'please ' * (i % 2)}say n{i} now\tn{i} now\n" for i in range(first, first + count))
        (tmp_path / f"{name}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "recipe.json").write_text(json.dumps(_copying_recipe(out)), encoding="utf-8")
    trainer = train.Trainer(tmp_path / "recipe.json", tmp_path, tmp_path / "run", False)
    assert not any(piece.startswith("n4") for piece in trainer.target.pieces)
    trainer.run(save_every=1e9)
    outputs = [copies.decode(search.greedy(trainer.model, [s.ids], words=[s.words])[0].tokens, trainer.target, s)
               for s in trainer.valid_sources]
    assert outputs == trainer.valid_references


def test_label_smoothing_is_refused_for_a_pointer(tmp_path):
    recipe = _copying_recipe("pointer")
    recipe["training"]["label_smoothing"] = 0.1
    (tmp_path / "recipe.json").write_text(json.dumps(recipe), encoding="utf-8")
    with pytest.raises(SystemExit, match="^training.label_smoothing: "):
        train.load_recipe(tmp_path / "recipe.json")


def test_an_alignment_head_is_not_trained_with_the_rest(tmp_path):
    recipe = _copying_recipe("copy") | {"alignment": {"size": 4}}
    (tmp_path / "recipe.json").write_text(json.dumps(recipe), encoding="utf-8")
    with pytest.raises(SystemExit, match="^alignment: .*weights.alignment.align_head"):
        train.load_recipe(tmp_path / "recipe.json")


def test_a_pointer_trains_on_what_it_can_produce():
    source, settings = copies.Source([3, EOS], [4, EOS], []), {"output": {"type": "pointer"}}
    assert train.producible(source, [4, 4], settings) and not train.producible(source, [4, 5], settings)
    assert train.producible(source, [5], {"output": {"type": "copy"}})
