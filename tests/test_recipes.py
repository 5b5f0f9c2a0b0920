"""The three recipes of weights/README.md, from the download to a translation:
python3 -m pytest -q tests/test_recipes.py

The models are tiny random ones, packed like those of OPUS-MT, Hugging Face and Firefox. With ALIGND_MARIAN_DATA=DIR, a
folder with opus-align and student-ssru in the layout of weights.compare_marian, these are tested, too, and must give
Marian's output. Needs build/alignd.
"""

import gzip
import json
import os
import shutil
import struct
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from imported import ALIGND, command, into  # noqa: E402
from test_convert_files import STUDENT, huggingface, of_size, opus, pieces_of  # noqa: E402
from test_convert_files import save_bin, shortlist, spm, with_multipliers  # noqa: E402
from weights.evaluation.client import Daemon, Variant, daemon  # noqa: E402

DATA = os.environ.get("ALIGND_MARIAN_DATA", "")
with_program = pytest.mark.skipif(not ALIGND.exists(), reason="alignd is not built")
with_data = pytest.mark.skipif(not DATA, reason="ALIGND_MARIAN_DATA is not set")
# Standard deviation, mean, coefficient, intercept.
NUMBERS = [0.5, 1.5, 2.0, 0.25, -1.0, -2.0, 1.5, -1.25, 0.75, -0.5, 1.0, -2.0, 0.125]
PREPROCESS = "#!/bin/bash\nsed 's/，/,/g'\n"


def quality_model(magic: int = 0x78CC336F1D54B180, count: int = 4, numbers: list[float] = NUMBERS) -> bytes:
    return struct.pack(f"<2Q{len(numbers)}f", magic, count, *numbers)


def serve(folder: Path, *flags: str):
    return daemon(ALIGND, folder, Variant(folder.name, list(flags)), "model")


def ask(url: str, **question) -> dict:
    return Daemon(url, "").request("/translate", question)


def first_model(url: str) -> dict:
    with urllib.request.urlopen(f"{url}/models") as reply:
        return json.load(reply)["models"][0]


# ---- packages ----

def opus_zip(folder: Path, path: Path) -> Path:
    """Zips a folder with the other files of an OPUS-MT package."""
    (folder / "README.md").write_text(
        "# opus-2020-02-26.zip\n\n* dataset: opus\n* model: transformer-align\n* source language(s): eng\n")
    (folder / "preprocess.sh").write_text(PREPROCESS)
    (folder / "postprocess.sh").write_text("#!/bin/bash\n")
    (folder / "source.tcmodel").write_bytes(b"")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for part in sorted(folder.iterdir()):
            package.write(part, part.name)
    return path


def unpacked(package: Path) -> Path:
    out = package.with_suffix("")
    with zipfile.ZipFile(package) as files:
        files.extractall(out)
    return out


@with_program
def test_an_opus_package_answers(tmp_path):
    opus(tmp_path / "made")
    done = command(opus_zip(tmp_path / "made", tmp_path / "opus-2020-02-26.zip"), *into(tmp_path / "en-mul"), "--from",
                   "en", "--to", "fr")
    assert done.returncode == 0, done.stderr
    card = (tmp_path / "en-mul/README.md").read_text()
    assert ("Licence: CC BY 4.0" in card
            and "Attribution: OPUS-MT, Language Technology at the University of Helsinki" in card)
    assert ((tmp_path / "en-mul/LICENSE").exists() and "transformer-align" in (tmp_path / "en-mul/README.original.md")
            .read_text())
    with serve(tmp_path / "en-mul") as url:
        model = first_model(url)
        assert (model["variants"] == ["fra"] and model["alignment"] == "attention"
                and model["limits"]["max_source_tokens"] == 512)
        assert model["defaults"] == {"compute": "float32", "shortlist": False, "beam_size": 6, "length_penalty": 1}
        answer = ask(url, text="“What” did you… do？", target="fr", verbatim=True)
        assert answer["variant"] == "fra" and answer["translations"][0]["sentences"][0]["source_tokens"][0] == ">>fra<<"
        plain = ask(url, text='"What" did you... do?', target="fr", verbatim=True)["translations"][0]
        assert answer["translations"][0]["sentences"][0]["source_tokens"] == plain["sentences"][0]["source_tokens"]


@with_program
def test_a_huggingface_folder_answers(tmp_path):
    tensors, pieces = opus(tmp_path / "made")
    huggingface(tmp_path / "opus-mt-en-fr", tensors, pieces, {"num_beams": 4})
    done = command(tmp_path / "opus-mt-en-fr", *into(tmp_path / "en-fr"), "--from", "en", "--to", "fr")
    assert done.returncode == 0, done.stderr
    assert "Licence: CC BY 4.0" in (tmp_path / "en-fr/README.md").read_text()
    with serve(tmp_path / "en-fr") as url:
        model = first_model(url)
        assert model["defaults"]["beam_size"] == 4 and model["limits"]["max_source_tokens"] == 512
        assert "text" in ask(url, text="What did you do?")["translations"][0]


def test_a_huggingface_model_without_guided_attention_is_untrained(tmp_path):
    tensors, pieces = opus(tmp_path / "made")
    huggingface(tmp_path / "hf", tensors, pieces)
    (tmp_path / "hf/README.md").write_text("---\nlicense: apache-2.0\n---\n* model: transformer\n")
    done = command(tmp_path / "hf", *into(tmp_path / "out"))
    assert "its attention was not trained to align" in done.stdout
    assert json.loads((tmp_path / "out/config.json").read_text())["decoder"]["alignment_trained"] is False
    assert "Apache-2.0" in (tmp_path / "out/README.md").read_text()


def firefox(folder: Path, work: Path) -> Path:
    size = len(pieces_of())
    folder.mkdir()
    save_bin(work / "m.bin", with_multipliers(of_size(STUDENT, size)), STUDENT, True)
    parts = {"model.enfr.intgemm.alphas.bin": (work / "m.bin").read_bytes(), "vocab.enfr.spm": spm(),
             "lex.50.50.enfr.s2t.bin": shortlist([min(i, 3) for i in range(size + 1)], [4, 5, 6], 50),
             "qualityModel.enfr.bin": quality_model()}
    for name, content in parts.items():
        (folder / (name + ".gz")).write_bytes(gzip.compress(content))
    (folder / "metadata.json").write_text("{}")
    return folder


@with_program
def test_a_firefox_pair_answers(tmp_path):
    done = command(firefox(tmp_path / "enfr", tmp_path), *into(tmp_path / "en-fr"), "--from", "en", "--to", "fr")
    assert done.returncode == 0 and "a shortlist, a quality model" in done.stdout, done.stderr
    card = (tmp_path / "en-fr/README.md").read_text()
    assert "Licence: MPL-2.0" in card and "Attribution: Mozilla and the Bergamot project" in card
    with serve(tmp_path / "en-fr") as url:
        model = first_model(url)
        assert (model["defaults"] == {"compute": "int8", "shortlist": True, "beam_size": 1, "length_penalty": 1}
                and model["compute"] == "int8")
        assert model["limits"]["max_target_ratio"] == 2 and model["limits"]["max_source_tokens"] == 128
        assert model["quality"] and model["alignment"] == "attention"
        sentence = ask(url, text="What did you do?",
                       include=["quality", "words", "tokens"])["translations"][0]["sentences"][0]
        assert len(sentence["quality"]["words"]) == len(sentence["words"]["target"])
        assert 0 <= sentence["quality"]["sentence"] <= 1


@with_program
def test_a_firefox_pair_needs_no_flags(tmp_path):
    """With its defaults, a pair gives bit by bit the same as --compute int8 --shortlist; in float32 and without the
    list every reply differs."""
    assert command(firefox(tmp_path / "enfr", tmp_path), *into(tmp_path / "en-fr")).returncode == 0
    texts = ["What did you do?", "A boy plays in the snow.", "The dog runs."]
    answers = {}
    for flags in ((), ("--compute", "int8", "--shortlist"), ("--compute", "float32"), ("--shortlist=false",)):
        with serve(tmp_path / "en-fr", *flags) as url:
            replies = ask(url, text=texts, include=["tokens", "log_probs"], digits=9)["translations"]
            answers[flags] = [(reply["text"], reply["sentences"][0]["log_probs"]) for reply in replies]
    plain, asked, *others = answers.values()
    assert plain == asked
    for other in others:
        assert all(ours != theirs for ours, theirs in zip(plain, other))


def test_flags_beat_what_files_say(tmp_path):
    opus(tmp_path / "package")
    done = command(tmp_path / "package", *into(tmp_path / "out"), "--alignment", "untrained", "--preparation", "none",
                   "--max-target-ratio", "2", "--max-source-tokens", "60")
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert "its attention was not trained to align" in done.stdout and config["decoder"]["alignment_trained"] is False
    assert ("preparation" not in config["tokenizer"]
            and config["limits"] == {"max_source_tokens": 60, "max_target_ratio": 2})


# ---- models that Marian trained ----

def first_lines(path: Path, count: int) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:count]


@with_program
@with_data
def test_the_sets_opus_package(tmp_path):
    theirs = Path(DATA) / "opus-align"
    (tmp_path / "made").mkdir()
    for name, ours in (("model.npz", "opus.spm-spm.transformer-align.model1.npz.best-perplexity.npz"),
                       ("vocab.yml", "opus.spm-spm.vocab.yml"),
                       ("source.spm", "source.spm"), ("target.spm", "target.spm"), ("decoder.yml", "decoder.yml")):
        shutil.copy(theirs / name, tmp_path / "made" / ours)
    (tmp_path / "made/LICENSE").write_text("Attribution 4.0 International\n")
    folder = unpacked(opus_zip(tmp_path / "made", tmp_path / "opus.zip"))
    assert command(folder, *into(tmp_path / "en-fr")).returncode == 0
    with serve(tmp_path / "en-fr") as url:
        answers = ask(url, text=first_lines(theirs / "input.txt", 20), split_sentences=False)["translations"]
        best = [line for i in range(20)
                for line in [next(x for x in gzip.open(theirs / "out/beam6.norm1.p9.nbest.gz", "rt", encoding="utf-8")
                                  if x.startswith(f"{i} "))]]
        for answer, line in zip(answers, best):
            assert " ".join(answer["sentences"][0]["tokens"]) == line.split("|||")[1].strip()


@with_program
@with_data
def test_the_sets_huggingface_folder(tmp_path):
    theirs = Path(DATA) / "opus-align"
    done = command(theirs / "huggingface", *into(tmp_path / "en-fr"))
    assert done.returncode == 0, done.stderr
    with serve(tmp_path / "en-fr") as url:
        answers = ask(url, text=first_lines(theirs / "input.txt", 20), split_sentences=False,
                      strategy="greedy")["translations"]
        for answer, line in zip(answers, first_lines(theirs / "out/greedy.txt", 20)):
            assert " ".join(answer["sentences"][0]["tokens"]) == line


@with_program
@with_data
def test_the_sets_firefox_pair(tmp_path):
    theirs = Path(DATA) / "student-ssru"
    (tmp_path / "enfr").mkdir()
    for name, ours in (("model.intgemm.alphas.bin", "model.enfr.intgemm.alphas.bin"), ("joint.spm", "vocab.enfr.spm"),
                       ("lex.50.50.s2t.bin", "lex.50.50.enfr.s2t.bin")):
        (tmp_path / f"enfr/{ours}.gz").write_bytes(gzip.compress((theirs / name).read_bytes()))
    (tmp_path / "enfr/metadata.json").write_text("{}")
    assert command(tmp_path / "enfr", *into(tmp_path / "en-fr")).returncode == 0
    with serve(tmp_path / "en-fr") as url:
        answers = ask(url, text=first_lines(theirs / "input.txt", 64), split_sentences=False)["translations"]
        printed = [line.removesuffix("</s>").strip()
                   for line in first_lines(theirs / "out/bergamot.int8shiftAlphaAll.shortlist.txt", 64)]
        # Near-ties, as in weights.compare_bergamot.
        assert sum(answer["text"] != line for answer, line in zip(answers, printed)) <= 4
