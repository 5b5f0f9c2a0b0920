"""Values of the wrong type in files: python3 -m pytest -q tests/test_convert_types.py

For any value in place of a name, a number or a shape, however deeply nested, a converter raises a ConversionError;
`alignd import` reports the error, and does not crash.
"""

import json
import math
import pickle
import struct
import sys
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from test_convert import MODELS, Maker, options_text, save, vocabularies  # noqa: E402
from test_convert_files import CONFIG, huggingface, opus  # noqa: E402
from imported import Refused, imported  # noqa: E402
from weights.conversion import convert_opennmt  # noqa: E402
from weights.model import safetensors  # noqa: E402
from weights.conversion.converted import ConversionError  # noqa: E402

HEAD = {"format": 1, "name": "made-up", "source": "en", "target": "fr"}
DEEP = "[" * 10000 + "]" * 10000
WRONG = [[], {}, None, -1, 0, "x", True, 1.5, [1], [[]], {"a": []}, 10**30, math.nan]


def refuses(convert, tolerant: bool = False) -> None:
    """tolerant: the converter may also accept it."""
    try:
        convert()
    except (ConversionError, Refused):
        return
    assert tolerant, "it was taken"


# ---- Hugging Face ----

@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    base = tmp_path_factory.mktemp("types")
    return huggingface(base / "hf", *opus(base / "package"))


def of_folder(folder: Path, tmp_path: Path, name: str, content: bytes):
    """Converts the folder with this file replaced."""
    (tmp_path / "hf").mkdir()
    for file in folder.iterdir():
        if file.name != name:
            (tmp_path / "hf" / file.name).symlink_to(file)
    (tmp_path / "hf" / name).write_bytes(content)
    return lambda: imported(tmp_path / "hf", out=tmp_path / "out")


@pytest.mark.parametrize("name", [*CONFIG, "normalize_before", "static_position_embeddings",
                                  "share_encoder_decoder_embeddings", "num_beams"])
@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_huggingface_configurations(folder, tmp_path, name, value):
    refuses(of_folder(folder, tmp_path, "config.json", json.dumps(CONFIG | {name: value}).encode()), tolerant=True)


@pytest.mark.parametrize("file", ["config.json", "vocab.json", "generation_config.json", "model.safetensors",
                                  "README.md"])
def test_huggingface_nesting(folder, tmp_path, file):
    content = ('{"x": ' + DEEP + "}").encode()
    if file == "model.safetensors":
        content = struct.pack("<Q", len(content)) + content
    refuses(of_folder(folder, tmp_path, file, content), tolerant=file in ("generation_config.json", "README.md"))


@pytest.mark.parametrize("value", WRONG, ids=repr)
@pytest.mark.parametrize("place", ["all", "one", "none"])
def test_huggingface_vocabularies(folder, tmp_path, place, value):
    words = json.loads((folder / "vocab.json").read_text())
    made = {"all": dict.fromkeys(words, value), "one": words | {"<unk>": value}, "none": value}[place]
    refuses(of_folder(folder, tmp_path, "vocab.json", json.dumps(made).encode()), tolerant=True)


@pytest.mark.parametrize("field", ["dtype", "shape", "data_offsets", None])
@pytest.mark.parametrize("value", [*WRONG, [-1, 8], [8, -1], ["8", 8], [8.0, 8], [[8], 8], [True, 8], [10**30, 8],
                                   "F32"], ids=repr)
def test_safetensors_headers(folder, tmp_path, field, value):
    content = (folder / "model.safetensors").read_bytes()
    length = struct.unpack_from("<Q", content)[0]
    header = json.loads(content[8:8 + length])
    name = "model.encoder.layers.0.self_attn.q_proj.weight"
    header[name] = value if field is None else header[name] | {field: value}
    text = json.dumps(header).encode()
    refuses(of_folder(folder, tmp_path, "model.safetensors", struct.pack("<Q", len(text)) + text
                      + content[8 + length:]), field == "dtype" and value == "F32")


def test_safetensors_entries_that_lack_a_field(tmp_path):
    for entry in ({"dtype": "F32"}, {"shape": [1]}, {}, []):
        text = json.dumps({"x": entry}).encode()
        (tmp_path / "x.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)
        with pytest.raises(safetensors.FormatError, match="x: "):
            safetensors.read(tmp_path / "x.safetensors")


# ---- Marian ----

def of_options(tmp_path: Path, text: str):
    """Converts a model with this text as its options."""
    path = save(tmp_path / "model.npz", Maker(MODELS["gru"], 1).t, None)
    (tmp_path / "model.npz.json").write_text(text)
    return lambda: imported(path, *vocabularies(tmp_path, MODELS["gru"]), out=tmp_path / "out")


@pytest.mark.parametrize("name", MODELS["gru"])
@pytest.mark.parametrize("value", ["[a, b]", "[]", "\n  - a\n  - b", "''", "-1", "1e99", "~", "x"], ids=repr)
def test_marian_options(tmp_path, name, value):
    lines = [f"{name}: {value}" if line.startswith(f"{name}:") else line
             for line in options_text(MODELS["gru"]).split("\n")]
    refuses(of_options(tmp_path, "\n".join(lines)), tolerant=True)


@pytest.mark.parametrize("name", ["dim_word", "dim", "enc_depth", "encoder", "layer_normalisation", "factors", "lrate",
                                  "model_type"])
@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_nematus_options(tmp_path, name, value):
    refuses(of_options(tmp_path, json.dumps({"dim_word": 5, "dim": 8, name: value})), tolerant=True)


@pytest.mark.parametrize("text", [DEEP, '{"x": ' + DEEP + "}", "a: " + DEEP, "- " * 10000 + "a"],
                         ids=["list", "object", "flow", "dashes"])
def test_marian_nesting(tmp_path, text):
    refuses(of_options(tmp_path, text))


# ---- OpenNMT-py ----

class Holder:
    """Becomes an object with these attributes when a pickle is loaded."""

    def __init__(self, **named: object) -> None:
        self.__dict__.update(named)


def opennmt(tmp_path: Path, change) -> None:
    content = {"model": {}, "generator": {}, "vocab": {"src": ["a"], "tgt": ["<s>", "</s>"]}, "opt": {}}
    change(content)
    with zipfile.ZipFile(tmp_path / "model.pt", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(content))
    refuses(lambda: convert_opennmt.convert(convert_opennmt.load(tmp_path / "model.pt"), dict(HEAD), "x"))


@pytest.mark.parametrize("name", ["model", "generator", "vocab", "opt"])
@pytest.mark.parametrize("value", [*WRONG, {1: 2}, [("src", 1)], [(1, 2)], Holder(), Holder(itos=3), Holder(fields=3),
                                   Holder(fields=[]), Holder(vocab=None)],
                         ids=lambda value: repr(value)[:20])
def test_opennmt_parts(tmp_path, name, value):
    opennmt(tmp_path, lambda content: content.update({name: value}))


@pytest.mark.parametrize("value", [*WRONG, Holder(itos=[1]), Holder(itos="ab"), Holder(fields=[("a",)]),
                                   Holder(base_field=3)], ids=lambda value: repr(value)[:20])
def test_opennmt_vocabularies(tmp_path, value):
    opennmt(tmp_path, lambda content: content["vocab"].update(src=value))
    opennmt(tmp_path, lambda content: content["vocab"].update(decoder_start_token=value))


def test_opennmt_field_within_itself(tmp_path):
    field = Holder()
    field.vocab = field
    opennmt(tmp_path, lambda content: content["vocab"].update(src=field))


@pytest.mark.parametrize("name", [*convert_opennmt.OPTIONS, "copy_attn", "share_embeddings", "input_feed"])
@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_opennmt_options(tmp_path, name, value):
    opennmt(tmp_path, lambda content: content["opt"].update({name: value}))
