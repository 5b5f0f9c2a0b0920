"""Models as students have them become model folders, by the maps of weights/conversion/examples as they stand:
python3 -m pytest -q tests/test_state_dict.py

The answers of alignd are compared with the student's own forward pass: greedy words, and attention within 1e-4. Needs
build/alignd for that.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import students  # noqa: E402
from imported import ALIGND  # noqa: E402
from test_recipes import ask, serve  # noqa: E402
from weights.conversion import joints, state_dict  # noqa: E402
from weights.conversion.converted import ConversionError  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "weights" / "conversion" / "examples"
JOEY, TUTORIAL, D2L = ["<unk>", "<pad>", "<s>", "</s>"], ["SOS", "EOS"], ["<bos>", "<eos>", "<unk>", "<pad>"]


class Example(NamedTuple):
    """map: in EXAMPLES; files: the vocabularies' names; seed: of weights with which greedy search ends."""

    map: str
    kind: type[students.Student]
    special: list[str]
    files: tuple[str, str]
    check: str
    seed: int = 1


CASES = {example.map: example for example in (
    Example("joeynmt_recurrent", students.JoeyRecurrent, JOEY, ("src_vocab.txt", "trg_vocab.txt"),
            "students:joey_recurrent"),
    Example("joeynmt_transformer", students.JoeyTransformer, JOEY, ("src_vocab.txt", "trg_vocab.txt"),
            "students:joey_transformer"),
    Example("pytorch_tutorial", students.Tutorial, TUTORIAL, ("source.json", "target.json"), "students:tutorial"),
    Example("d2l", students.D2l, D2L, ("source.json", "target.json"), "students:d2l"))}


def write_words(path: Path, words: list[str], mapped: bool) -> None:
    if path.suffix == ".json":
        path.write_text(json.dumps({i: word for i, word in enumerate(words)} if mapped else words))
    else:
        path.write_text("".join(f"{word}\n" for word in words))


def student_of(case: Example, folder: Path) -> tuple[students.Student, tuple[list[str], list[str]]]:
    """Writes what a student has: checkpoint.pt, the vocabularies and map.yaml."""
    folder.mkdir(exist_ok=True)
    sides = students.words(40, case.special, "s"), students.words(35, case.special, "t")
    torch.manual_seed(case.seed)
    model = case.kind(*map(len, sides)).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # larger than the usual ones, so that steps differ
            if parameter.dim() > 1:
                parameter.normal_(0, 2.5 / parameter.shape[1]**0.5)
        for i in set(range(len(case.special))) - {model.eos}:  # which a trained model does not choose
            model.output.weight[i] = 0
    for name, words in zip(case.files, sides):
        write_words(folder / name, words, case.kind is students.Tutorial)
    torch.save(model.checkpoint(), folder / "checkpoint.pt")
    (folder / "map.yaml").write_text((EXAMPLES / f"{case.map}.yaml").read_text())
    return model, sides


def command(folder: Path, *more: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "weights.conversion.state_dict", folder / "checkpoint.pt",
                           folder / "map.yaml", "--into", folder / "models", *more], cwd=ROOT, capture_output=True,
                          text=True, env={"PYTHONPATH": str(ROOT / "tests"), "PATH": "/usr/bin:/bin"})


def sentences(case: Example, words: list[str]) -> list[list[int]]:
    draw, known = random.Random(3), range(len(case.special), len(words))
    return [draw.choices(known, k=length) for length in (1, 3, 5, 8)]


@pytest.mark.parametrize("name", CASES)
def test_alignd_answers_as_the_student(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    model, sides = student_of(case, tmp_path)
    done = command(tmp_path, "--check", case.check)
    assert done.returncode == 0, done.stderr
    assert f"same as {case.check}" in done.stdout
    if not ALIGND.exists():
        pytest.skip("alignd is not built")
    eos = sides[0].index(case.special[1 if case.kind.eos == 1 else 3])
    lengths = set()
    with serve(next((tmp_path / "models").iterdir())) as url:
        for ids in sentences(case, sides[0]):
            wanted, attention = model.greedy([*ids, eos], 3 * (len(ids) + 1))
            found = ask(url, text=" ".join(sides[0][i] for i in ids), beam_size=1,
                        include=["attention", "tokens"])["translations"][0]["sentences"][0]
            assert found["tokens"][:len(wanted)] == [sides[1][token] for token in wanted]
            rows = torch.tensor(found["attention"])
            assert len(wanted) <= len(rows) <= len(attention)
            assert torch.allclose(rows, attention[:len(rows)], atol=1e-4)
            lengths.add(len(wanted))
    assert len(lengths) > 1


def test_the_map_may_name_gates_parts_and_rows(tmp_path: Path) -> None:
    """A checkpoint with another order of gates, an update gate of the other sign, and cells in three pieces."""
    case = CASES["pytorch_tutorial"]
    model, _ = student_of(case, tmp_path)
    state = model.checkpoint()
    r, z, n = state["encoder"]["gru.weight_ih_l0"].chunk(3)
    state["encoder"]["gru.weight_ih_l0"] = torch.cat([-z, r, n]).t().contiguous()
    pieces = state["decoder"].pop("gru.weight_ih_l0")
    for name, piece in zip(("reset", "update", "new"), pieces.chunk(3)):
        state["decoder"][name] = torch.cat([piece[:, 128:], piece[:, :128]], dim=1) / 2
    torch.save({"epoch": 3, "model": {"net": state}}, tmp_path / "checkpoint.pt")
    found = yaml.safe_load((tmp_path / "map.yaml").read_text())
    found["state"] = "model.net"
    found["tensors"]["encoder.layers.0.forward.weight_input"] = {
        "from": "encoder.gru.weight_ih_l0", "transpose": True, "gates": ["z", "r", "n"], "negate": ["z"]}
    found["tensors"]["decoder.layers.0.weight_input"] = {
        "below": [f"decoder.{name}" for name in ("reset", "update", "new")], "columns": ["c", "y"], "times": 2}
    (tmp_path / "map.yaml").write_text(yaml.safe_dump(found, sort_keys=False))
    conversion, _, _ = state_dict.convert(tmp_path / "checkpoint.pt", tmp_path / "map.yaml")
    for name, theirs in (("encoder.layers.0.forward.weight_input", model.encoder.gru.weight_ih_l0),
                         ("decoder.layers.0.weight_input", model.decoder.gru.weight_ih_l0)):
        assert torch.equal(torch.from_numpy(conversion.tensors[name].make()), theirs)


def test_the_check_says_where_both_first_differ(tmp_path: Path) -> None:
    """A map that forgets that d2l's decoder reads [context; embedding], and one that forgets its padding."""
    case = CASES["d2l"]
    student_of(case, tmp_path)
    text = (EXAMPLES / "d2l.yaml").read_text()
    (tmp_path / "map.yaml").write_text(text.replace("columns: [c, y]", "columns: [y, c]"))
    done = command(tmp_path, "--check", case.check)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "state differs first, at step 0" in done.stderr and case.check in done.stderr
    text = text.replace(", padded_to: 9", "").replace(
        "  encoder.padding: {from: encoder.embedding.weight, word: <pad>}\n", "")
    (tmp_path / "map.yaml").write_text(text)
    done = command(tmp_path, "--check", case.check, "--name", "other")
    assert "initial differs first, at layer 0" in done.stderr


@pytest.mark.parametrize("wrong, message", [
    ("students", "--check: students is not MODULE:FUNCTION"),
    ("nowhere.at_all:f", "--check: nowhere.at_all:f is not MODULE:FUNCTION"),
    ("students:nothing", "--check: students:nothing is not MODULE:FUNCTION")])
def test_a_check_that_python_does_not_find(wrong: str, message: str) -> None:
    with pytest.raises(ConversionError) as refused:
        joints.find(wrong)
    assert str(refused.value).startswith(message)


# Of the tutorial's map: what is replaced, by what, and what the one sentence says.
WRONG = (
    ("tensors:\n", "tensor:\n", "map.yaml: tensor: unknown key (known: state, config, vocabularies, tensors, ignored)"),
    ("readout: state", "readout: nothing", "map.yaml: the model's configuration: decoder.readout: must be one of"),
    ("  output.bias: decoder.out.bias\n", "", "map.yaml: tensors: lacks output.bias, which a model of this config has "
     "(36)"),
    ("  output.bias:", "  output.shift: decoder.out.bias\n  output.bias:",
     "map.yaml: tensors: output.shift: a model of this config has no such tensor"),
    ("decoder.out.bias", "decoder.output.bias",
     "map.yaml: tensors: output.bias: {}/checkpoint.pt has no tensor decoder.output.bias (it has decoder.out.bias"),
    ("decoder.out.weight", "{from: decoder.out.weight, transpose: true}",
     "map.yaml: tensors: output.weight: is 128 x 35 as made from {'from': 'decoder.out.weight', 'transpose': True}, "
     "and a model of this config needs 36 x 128"),
    ("{from: decoder.attention.Va.weight, squeeze: true}", "decoder.attention.Va.weight",
     "attention.energy: is 1 x 128 as made from decoder.attention.Va.weight, and a model of this config needs 128"),
    ("hidden: 128}", "hidden: 64}", "map.yaml: the model's configuration: decoder.initial_projection: without one"),
    ("  - decoder.attention.Va.bias", "  - nothing",
     "checkpoint.pt: decoder.attention.Va.bias is in no line of {}/map.yaml; name it there, or under ignored"),
    ("squeeze: true", "squash: true", "attention.energy: squash: unknown step (known: transpose, squeeze, word"),
    ("squeeze: true", "gates: [a]", "attention.energy: gates: must name r, z, n, in the order of the checkpoint"),
    ("squeeze: true", "columns: [y, c]", "attention.energy: columns: attention.energy has the parts that no letter"),
    ("squeeze: true", "rows: [[0, 2]]", "attention.energy: rows: must be a list of [first, end], within 0 and 1"),
    ("squeeze: true", "word: zebra", "attention.energy: word: zebra is not in the target vocabulary"),
    ("source: source.json", "source: words.json", "words.json: No such file or directory"),
    ("source: source.json", "source: 7", "map.yaml: vocabularies: source: must be the name of a file of words"),
    ("config:", "config: {", "map.yaml: is not YAML"),
    ("config:\n", "state: model\nconfig:\n", "checkpoint.pt: has no model, which the map names as its state; it has "
     "encoder, decoder"),
)


@pytest.mark.parametrize("old, new, message", WRONG)
def test_what_is_wrong_is_one_sentence(old: str, new: str, message: str, tmp_path: Path) -> None:
    student_of(CASES["pytorch_tutorial"], tmp_path)
    text = (tmp_path / "map.yaml").read_text()
    assert old in text
    (tmp_path / "map.yaml").write_text(text.replace(old, new, 1))
    with pytest.raises((ConversionError, FileNotFoundError)) as refused:
        state_dict.convert(tmp_path / "checkpoint.pt", tmp_path / "map.yaml")
    shown = str(refused.value) if isinstance(refused.value, ConversionError) else (
        f"{refused.value.filename}: {refused.value.strerror}")
    assert message.replace("{}", str(tmp_path)) in shown and "\n" not in shown


@pytest.mark.parametrize("content", [b"", b"PK\3\4 not a zip", b"words", b"\x80\x02cos\nsystem\n(S'true'\ntR."])
def test_a_file_that_is_no_checkpoint(content: bytes, tmp_path: Path) -> None:
    student_of(CASES["pytorch_tutorial"], tmp_path)
    (tmp_path / "checkpoint.pt").write_bytes(content)
    done = command(tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "checkpoint.pt: is not a checkpoint that torch.load(weights_only=True) reads" in done.stderr
    assert not (tmp_path / "models").exists()


def test_a_folder_that_is_there_stays(tmp_path: Path) -> None:
    student_of(CASES["pytorch_tutorial"], tmp_path)
    (tmp_path / "models" / "fr-en").mkdir(parents=True)
    done = command(tmp_path)
    assert done.returncode == 1 and "models/fr-en: already exists" in done.stderr
