"""Models in CTranslate2's format, written by tests/ctranslate2_models.py: every type and version of the format gives
the same translations. Needs build/alignd."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from ctranslate2_models import Shape, seeds, variables_of, write_model  # noqa: E402

ROOT = Path(__file__).parent.parent
ALIGND = ROOT / "build" / "alignd"
SHAPE = Shape(layers=3, size=32, heads=4, filter=64, words=["<blank>", "<s>", "</s>", *"abcdefghijkl", "<unk>"])
TEXTS = "a b c\nd e f g\nh i j k l a b\n"


def answers(folder: Path, into: Path, name: str) -> list[str]:
    """The translations of the texts by the imported model, in float32."""
    subprocess.run([ALIGND, "import", folder, "--into", into, "--name", name], check=True, stdout=subprocess.DEVNULL)
    command = [ALIGND, "translate", "--model", into / name, "--compute", "float32", "--beam-size", "3"]
    return subprocess.run(command, input=TEXTS.encode(), check=True, capture_output=True).stdout.decode().splitlines()


def test_versions_are_one_model(tmp_path: Path) -> None:
    found = []
    for version in (2, 3, 4, 5, 6):
        write_model(tmp_path / f"v{version}", SHAPE, version=version)
        found.append(answers(tmp_path / f"v{version}", tmp_path / "models", f"v{version}"))
    assert len(found[0]) == 3 and any(found[0])
    assert all(lines == found[0] for lines in found)


def test_stored_positions_change_answers(tmp_path: Path) -> None:
    other = Shape(**{**vars(SHAPE), "positions": 64})
    write_model(tmp_path / "computed", SHAPE)
    write_model(tmp_path / "stored", other)
    assert (answers(tmp_path / "computed", tmp_path / "models", "c")
            != answers(tmp_path / "stored", tmp_path / "models", "s"))


def variables(**more: int | str) -> dict[str, numpy.ndarray]:
    """The model's variables and other flags and texts."""
    found = variables_of(SHAPE, numpy.random.default_rng(1))
    return found | {name: numpy.array(value, numpy.int8) if isinstance(value, int)
                    else numpy.frombuffer(value.encode(), numpy.int8) for name, value in more.items()}


def without_config(folder: Path) -> Path:
    (folder / "config.json").unlink()
    return folder


def test_old_files_state_what_config_json_does(tmp_path: Path) -> None:
    """As CTranslate2 1.20 to 2.24 wrote it: in the file itself."""
    write_model(tmp_path / "new", SHAPE, variables=variables(), unk_token="l", bos_token="k", eos_token="j",
                add_source_bos=True, add_source_eos=True, decoder_start_token="j")
    write_model(tmp_path / "old", SHAPE, version=5, variables=variables(
        unk_token="l", bos_token="k", eos_token="j", with_source_bos=1, with_source_eos=1, with_target_bos=0,
        user_decoder_start_tokens=0, with_relative_position=0, layernorm_embedding=0))
    without_config(tmp_path / "old")
    found = [answers(tmp_path / name, tmp_path / "models", name) for name in ("new", "old")]
    assert found[0] == found[1] and any(found[0])
    write_model(tmp_path / "usual", SHAPE, variables=variables())
    assert answers(tmp_path / "usual", tmp_path / "models", "usual") != found[0]


@pytest.mark.parametrize("scaled", (0, 1))
def test_old_embeddings_have_the_flag_of_their_scale(tmp_path: Path, scaled: int) -> None:
    new = variables()
    old = {name.replace("embeddings_0", "embeddings"): value for name, value in new.items()
           if not name.endswith("/scale_embeddings")}
    for side in ("encoder", "decoder"):
        new[f"{side}/scale_embeddings"] = old[f"{side}/embeddings/multiply_by_sqrt_depth"] = numpy.array(scaled,
                                                                                                    numpy.int8)
    write_model(tmp_path / "new", SHAPE, variables=new)
    write_model(tmp_path / "old", SHAPE, version=4, variables=old)
    assert (answers(tmp_path / "new", tmp_path / "models", "new")
            == answers(without_config(tmp_path / "old"), tmp_path / "models", "old"))


def test_sources_of_marian_end_with_a_token(tmp_path: Path) -> None:
    """Hugging Face's models have no add_source_eos, because its tokenizers write </s>."""
    zero = variables(**{"decoder/start_from_zero_embedding": 1})
    write_model(tmp_path / "stated", SHAPE, variables=zero, add_source_eos=True)
    write_model(tmp_path / "unstated", SHAPE, variables=zero)
    found = [answers(tmp_path / name, tmp_path / "models", name) for name in ("stated", "unstated")]
    assert found[0] == found[1] and any(found[0])


def test_models_that_need_a_beginning_are_refused(tmp_path: Path) -> None:
    """mBART-25 begins with the token of a language and nothing before it."""
    write_model(tmp_path / "new", SHAPE, decoder_start_token=None)
    write_model(tmp_path / "old", SHAPE, version=5, variables=variables(user_decoder_start_tokens=1))
    for folder in (tmp_path / "new", without_config(tmp_path / "old")):
        done = subprocess.run([ALIGND, "import", folder, "--into", tmp_path / "models"], capture_output=True)
        assert done.returncode == 1 and b"every request must begin the translation" in done.stderr
    assert not (tmp_path / "models").exists()


def test_languages_in_brackets(tmp_path: Path) -> None:
    """fairseq's mBART-50 has tokens such as [fr_XX], Hugging Face's fr_XX."""
    found = []
    for form in ("{}", "[{}]"):
        words = [*(form.format(token) for token in ("en_XX", "fr_XX", "de_DE")), *SHAPE.words]
        name = f"m{len(form)}"
        write_model(tmp_path / name, Shape(**{**vars(SHAPE), "words": words}), seed=3)
        subprocess.run([ALIGND, "import", tmp_path / name, "--into", tmp_path / "models", "--name", name, "--from",
                        "mul", "--to", "mul"], check=True, stdout=subprocess.DEVNULL)
        command = [ALIGND, "translate", "--model", tmp_path / "models" / name, "--compute", "float32", "--from", "en",
                   "--to"]
        found.append([subprocess.run([*command, to], input=TEXTS.encode(), check=True, capture_output=True).stdout
                      for to in ("fr", "de")])
    assert found[0] == found[1] and found[0][0] != found[0][1]


@pytest.mark.parametrize("cut", (0.1, 0.5, 0.999))
def test_what_is_cut_is_refused_and_leaves_nothing(tmp_path: Path, cut: float) -> None:
    write_model(tmp_path / "in", SHAPE)
    path = tmp_path / "in" / "model.bin"
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * cut)])
    done = subprocess.run([ALIGND, "import", tmp_path / "in", "--into", tmp_path / "models"], capture_output=True)
    assert done.returncode != 0 and b"model.bin: " in done.stderr and b"the file ends within" in done.stderr
    assert not (tmp_path / "models").exists()


def test_seeds_of_the_fuzz_target_are_made_here() -> None:
    """Otherwise its corpus could begin with files that are no longer valid models."""
    corpus = ROOT / "tests" / "fuzz" / "corpus" / "ctranslate2"
    assert {path.name: path.read_bytes() for path in corpus.iterdir()} == seeds()
