"""T5 v1.1, UMT5 and MADLAD-400: random models from Hugging Face's folders and CTranslate2's translate as the formulas
of tests/t5_models.py. Needs build/alignd and SentencePiece."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
from ctranslate2_models import Shape as Other, write_model  # noqa: E402
from t5_models import (SMALL, Formulas, segmenter, variables_of, weights_of,  # noqa: E402
                       write_folder)

from weights.evaluation.client import Daemon, Variant, daemon  # noqa: E402

ROOT = Path(__file__).parent.parent
ALIGND = ROOT / "build" / "alignd"
SHAPES = {"t5": SMALL, "tied": replace(SMALL, tied=True, activation="relu", words=70),
          "umt5": replace(SMALL, type="umt5", each=True, head=3, activation="gated-silu")}
TEXTS = ["the cat is not here .", "i am at home", "a dog and a cat in the sea"]


def run(*arguments: object) -> subprocess.CompletedProcess:
    if not ALIGND.exists():
        pytest.skip("alignd is not built")
    return subprocess.run([ALIGND, *arguments], capture_output=True, text=True)


def imported(folder: Path, out: Path) -> str:
    done = run("import", folder, "--into", out.parent, "--name", out.name, "--from", "mul", "--to", "mul")
    assert done.returncode == 0, done.stderr
    return done.stdout


def tokens_of(words: int, labels: bool, pad: bool) -> list[str]:
    """All tokens by id, as the import names them."""
    import sentencepiece
    processor = sentencepiece.SentencePieceProcessor(model_proto=segmenter(words - 9, labels, pad))
    found = [processor.id_to_piece(i) for i in range(processor.get_piece_size())]
    return found + [f"<extra_id_{i}>" for i in range(words - len(found))]


def pieces(words: int, labels: bool, pad: bool, text: str) -> list[int]:
    import sentencepiece
    processor = sentencepiece.SentencePieceProcessor(model_proto=segmenter(words - 9, labels, pad))
    return processor.encode(text)


def answers(client: Daemon, beam: int, options: dict) -> list[list[tuple[list[str], float]]]:
    """For each text the tokens and scores of the hypotheses."""
    asked = {"model": client.model, "beam_size": beam, "n_best": beam, "include": ["tokens"], "digits": 9,
             "verbatim": True, "text": TEXTS, "split_sentences": False, "max_length": 9}
    reply = client.request("/translate", asked | options)
    sentences = [answer["sentences"][0] for answer in reply["translations"]]
    return [[(hypothesis["tokens"], hypothesis["score"]) for hypothesis in sentence.get("hypotheses", [sentence])]
            for sentence in sentences]


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("labels", [False, True])
def test_translations_are_those_of_the_formulas(tmp_path: Path, kind: str, labels: bool) -> None:
    shape = SHAPES[kind]
    weights, pad = weights_of(shape), not labels
    tokens = tokens_of(shape.words, labels, pad)
    end = tokens.index("</s>")
    write_folder(tmp_path / "hf", shape, weights, labels, pad)
    write_model(tmp_path / "ct2", Other(words=tokens), variables=variables_of(shape, weights),
                bos_token="<pad>" if pad else "<s>", decoder_start_token=tokens[0])
    shutil.copy(tmp_path / "hf" / "spiece.model", tmp_path / "ct2")
    said = imported(tmp_path / "hf", tmp_path / "models" / "hf")
    assert ("it writes 3 languages, such as de: requests choose" in said) == labels
    imported(tmp_path / "ct2", tmp_path / "models" / "ct2")
    formulas = Formulas(shape, weights, end)
    models = tmp_path / "models"
    with daemon(ALIGND, models / "hf",
                Variant("float32", ["--compute", "float32", "--model", str(models / "ct2")])) as url:
        for name in ("hf", "ct2"):
            for beam in (1, 4):
                found = answers(Daemon(url, name), beam, {"target": "fr"} if labels else {})
                for text, hypotheses in zip(TEXTS, found):
                    source = pieces(shape.words, labels, pad, f"<2fr> {text}" if labels else text)
                    wanted = formulas.beam([*source, end], beam, 9)
                    # the import from CTranslate2 calls its beginning <s>
                    names = ["<s>" if name == "ct2" and token == "<pad>" else token for token in tokens]
                    assert len(hypotheses) == beam
                    for (words, _), (ids, _) in zip(hypotheses, wanted):  # a word of the source replaces <unk>
                        assert all(names[i] in (word, "<unk>") for word, i in zip(words, ids, strict=True))
                    assert numpy.allclose([score for _, score in hypotheses], [score for _, score in wanted],
                                          atol=1e-3)


def test_a_target_is_needed_and_changes_the_translation(tmp_path: Path) -> None:
    write_folder(tmp_path / "hf", SMALL, weights_of(SMALL), True)
    imported(tmp_path / "hf", tmp_path / "models" / "m")
    with daemon(ALIGND, tmp_path / "models" / "m", Variant("float32", ["--compute", "float32"])) as url:
        client = Daemon(url, "m")
        found = [answers(client, 1, {"target": code}) for code in ("de", "fr", "zh-Hant")]
        assert found[0] != found[1] != found[2] != found[0]
        assert answers(client, 1, {"variant": "fr"}) == found[1]


def test_a_model_of_tasks_is_refused(tmp_path: Path) -> None:
    write_folder(tmp_path / "hf", SMALL, weights_of(SMALL), False, pad=True)
    path = tmp_path / "hf" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"task_specific_params": {
        "translation_en_to_fr": {"prefix": "translate English to French: "}}}))
    done = run("import", tmp_path / "hf", "--into", tmp_path / "models")
    assert done.returncode == 1 and 'which reads "translate English to French: " before each text' in done.stderr
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize(("change", "message"), [
    ({"d_kv": 0}, "d_kv must be a number from 1 to"),
    ({"num_layers": 1000}, "num_layers must be a number from 1 to 64, got 1000"),
    ({"feed_forward_proj": "gated-tanh"}, 'feed_forward_proj "gated-tanh" is not supported'),
    ({"decoder_start_token_id": 5}, "decoder_start_token_id must be 0, got 5"),
    ({"d_ff": 21}, "wi_0.weight: shape (20, 12), expected (21, 12)"),
    ({"relative_attention_num_buckets": 10}, "relative_attention_bias.weight: shape (8, 3), expected (10, 3)"),
    ({"num_decoder_layers": 2}, "decoder.block.2.layer.0.SelfAttention.k.weight: unknown")])
def test_what_does_not_fit_is_named(tmp_path: Path, change: dict, message: str) -> None:
    write_folder(tmp_path / "hf", SMALL, weights_of(SMALL), True)
    path = tmp_path / "hf" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    done = run("import", tmp_path / "hf", "--into", tmp_path / "models")
    assert done.returncode == 1 and message in done.stderr, done.stderr
