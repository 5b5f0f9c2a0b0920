"""Marian's containers, shortlists and folders, and Hugging Face's: python3 -m pytest -q tests/test_convert_files.py

Each check of a file has a case: a file that is damaged in just this way, and the sentence that says so.
"""

import gzip
import json
import pickle
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from test_convert_transformer import BASE, D, F, FLOAT32, HEAD, INT8, MODELS, TARGET, SOURCE, V, Maker, Marian, convert, forced, lists, load, options_text, save_bin, save_npz, stored  # noqa: E402
from weights.conversion import convert_huggingface, convert_marian, converted, marian_binary, marian_folder, marian_shortlist  # noqa: E402
from weights.model import safetensors, storage  # noqa: E402
from weights.conversion.converted import ConversionError  # noqa: E402
from weights.conversion.npz import FormatError  # noqa: E402

STUDENT = MODELS["student"]


# ---- .bin ----

def binary(tmp_path: Path, int8: bool = True) -> bytes:
    return save_bin(tmp_path / "model.bin", Maker(STUDENT).t, STUDENT, int8).read_bytes()


def patched(content: bytes, at: int, form: str, *values: int | float) -> bytes:
    return content[:at] + struct.pack("<" + form, *values) + content[at + struct.calcsize("<" + form):]


def head_of(content: bytes, name: str) -> int:
    """Where the four numbers of this item stand."""
    count = struct.unpack_from("<Q", content, 8)[0]
    at = 16 + 32 * count
    for i in range(count):
        length = struct.unpack_from("<Q", content, 16 + 32 * i)[0]
        if content[at:at + length - 1] == name.encode():
            return 16 + 32 * i
        at += length
    raise KeyError(name)


def data_of(content: bytes, name: str) -> int:
    count = struct.unpack_from("<Q", content, 8)[0]
    heads = [struct.unpack_from("<4Q", content, 16 + 32 * i) for i in range(count)]
    at = 16 + 32 * count + sum(head[0] for head in heads) + 4 * sum(head[2] for head in heads)
    at += 8 + struct.unpack_from("<Q", content, at)[0]
    return at + sum(head[3] for head in heads[:(head_of(content, name) - 16) // 32])


def shape_at(content: bytes, name: str) -> int:
    count = struct.unpack_from("<Q", content, 8)[0]
    heads = [struct.unpack_from("<4Q", content, 16 + 32 * i) for i in range(count)]
    return 16 + 32 * count + sum(head[0] for head in heads) + 4 * sum(head[2] for head in heads[:(head_of(content, name) - 16) // 32])


def name_at(content: bytes, name: str) -> int:
    return content.index(name.encode() + b"\0")


WQ, WK, BIAS = "encoder_l1_self_Wq", "encoder_l1_self_Wk", "encoder_l1_self_bq"
DAMAGED = {
    "empty": (lambda c: b"", "the file ends within its beginning"),
    "version": (lambda c: patched(c, 0, "Q", 7), "version 7 is unknown"),
    "encrypted": (lambda c: patched(c, 0, "Q", 2), "its beginning is encrypted"),
    "too many items": (lambda c: patched(c, 8, "Q", 1 << 62), "the file ends within"),
    "name too long": (lambda c: patched(c, head_of(c, WQ), "Q", 1 << 60), "the file ends within the names"),
    "name without an end": (lambda c: patched(c, name_at(c, WQ) + len(WQ), "B", 65), "is not text that ends with a NUL"),
    "name with a NUL": (lambda c: patched(c, name_at(c, WQ) + 3, "B", 0), "is not text that ends with a NUL"),
    "name of no text": (lambda c: patched(c, name_at(c, WQ) + 3, "B", 0xff), "is not text that ends with a NUL"),
    "no name": (lambda c: patched(c, head_of(c, WQ), "Q", 0), "is not text that ends with a NUL|the file ends"),
    "twice": (lambda c: patched(c, name_at(c, WK), f"{len(WQ)}s", WQ.encode()), f"{WQ}: there twice"),
    "no dimensions": (lambda c: patched(c, head_of(c, WQ) + 16, "Q", 0), f"{WQ}: has 0 dimensions"),
    "many dimensions": (lambda c: patched(c, head_of(c, WQ) + 16, "Q", 1 << 40), f"{WQ}: has 1099511627776 dimensions"),
    "a negative dimension": (lambda c: patched(c, shape_at(c, WQ), "i", -8), rf"{WQ}: has the shape \(-8, 8\)"),
    "a dimension of nothing": (lambda c: patched(c, shape_at(c, WQ), "i", 0), rf"{WQ}: has the shape \(0, 8\)"),
    "dimensions that overflow": (lambda c: patched(c, shape_at(c, BIAS), "2i", 0x7fffffff, 0x7fffffff), f"{BIAS}: shape .* needs 18446744056529682436 bytes"),
    "less data than the shape": (lambda c: patched(c, shape_at(c, WQ), "2i", 80, 80), f"{WQ}: shape .* needs 6404 bytes, and there are 256"),
    "padding past the end": (lambda c: patched(c, shape_at(c, "special:model.yml") + 4, "Q", 1 << 50), "the file ends within the padding"),
    "data past the end": (lambda c: patched(c, head_of(c, WQ) + 24, "Q", 1 << 50), f"{WQ}: the file ends within it"),
    "bytes behind": (lambda c: c + b"\0", "1 bytes follow the last tensor"),
    "cut": (lambda c: c[:-1], "the file ends within it"),
    "a type for one processor": (lambda c: patched(c, head_of(c, WQ) + 8, "Q", 0x11001), f"{WQ}: is of type intgemm8avx2, which cannot be read"),
    "16 bits": (lambda c: patched(c, head_of(c, WQ) + 8, "Q", 0x4102), f"{WQ}: is of type intgemm16"),
    "an unknown type": (lambda c: patched(c, head_of(c, WQ) + 8, "Q", 0x9999), f"{WQ}: is of type 0x9999"),
    "a multiplier of nothing": (lambda c: patched(c, data_of(c, WQ) + D * D, "f", 0.0), f"{WQ}: its multiplier is 0.0"),
    "a multiplier that is no number": (lambda c: patched(c, data_of(c, WQ) + D * D, "f", float("nan")), f"{WQ}: its multiplier is nan"),
    "an infinite multiplier": (lambda c: patched(c, data_of(c, WQ) + D * D, "f", float("inf")), f"{WQ}: its multiplier is inf"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_binaries_are_refused(tmp_path, name):
    damage, message = DAMAGED[name]
    (tmp_path / "model.bin").write_bytes(damage(binary(tmp_path)))
    with pytest.raises(FormatError, match=message):
        marian_binary.Archive(tmp_path / "model.bin")


def test_a_binary_that_is_cut_anywhere_is_refused(tmp_path):
    content = binary(tmp_path)
    for place in range(0, len(content), 97):
        (tmp_path / "model.bin").write_bytes(content[:place])
        with pytest.raises((FormatError, ConversionError)):
            convert(tmp_path / "model.bin", lists(tmp_path, STUDENT), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def with_multipliers(tensors: dict) -> dict:
    """As *.alphas.bin has them."""
    names = [name for name in tensors if "_W" in name[-4:] or "Wemb" in name]
    found = {f"{name}_QuantMultA": numpy.full((1, 1), 3 + i, numpy.float32) for i, name in enumerate(sorted(names))}
    return tensors | found | {"none_QuantMultA": found["Wemb_QuantMultA"]}


def test_int8_is_kept_as_it_is(tmp_path):
    made = Maker(STUDENT)
    out = stored(convert(save_bin(tmp_path / "model.bin", with_multipliers(made.t), STUDENT, True), lists(tmp_path, STUDENT), tmp_path / "out", "int8"))
    weight, multiplier = made.t[WQ], numpy.float32(127 / numpy.abs(made.t[WQ]).max())
    numpy.testing.assert_array_equal(out["encoder.layers.0.self.query.weight"], numpy.rint(weight * multiplier).T)
    numpy.testing.assert_array_equal(out["encoder.layers.0.self.query.weight.scale"], [numpy.float32(1) / multiplier])
    assert out["encoder.layers.0.self.query.weight.input_scale"].tolist() == [3 + sorted(n for n in made.t if "_W" in n[-4:] or "Wemb" in n).index(WQ)]
    table = numpy.rint(made.t["Wemb"] * numpy.float32(127 / numpy.abs(made.t["Wemb"]).max()))
    numpy.testing.assert_array_equal(out["decoder.embedding"], table)
    # the table's multiplier went through int8 itself, as the file has it
    numpy.testing.assert_allclose(out["decoder.embedding.input_scale"], 3 + sorted(n for n in made.t if "_W" in n[-4:] or "Wemb" in n).index("Wemb"), rtol=1e-6)


def test_int8_scores(tmp_path):
    """What it stands for is near the model, also in other storages."""
    made = Maker(STUDENT)
    wanted = Marian(made).forced(SOURCE, TARGET)[0]
    path = save_bin(tmp_path / "model.bin", made.t, STUDENT, True)
    given, floats = (load(convert(path, lists(tmp_path, STUDENT), tmp_path / kind, kind), STUDENT) for kind in ("int8", "float32"))
    numpy.testing.assert_allclose(forced(given, SOURCE, TARGET)[0], forced(floats, SOURCE, TARGET)[0], atol=1e-6)
    numpy.testing.assert_allclose(forced(floats, SOURCE, TARGET)[0], wanted, atol=0.3)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_wrong_multipliers_are_refused(tmp_path, value):
    tensors = with_multipliers(Maker(STUDENT).t)
    tensors[f"{WQ}_QuantMultA"] = numpy.full((1, 1), value, numpy.float32)
    with pytest.raises(ConversionError, match=f"{WQ}_QuantMultA: must be one positive number"):
        convert(save_bin(tmp_path / "model.bin", tensors, STUDENT, True), lists(tmp_path, STUDENT), tmp_path / "out", "int8")


def test_an_untied_output_of_int8_is_refused(tmp_path):
    tensors = Maker(BASE).t
    with pytest.raises(ConversionError, match="decoder_ff_logit_out_Wt: is int8, which Marian reads in another order"):
        convert(save_bin(tmp_path / "model.bin", tensors, BASE, True), lists(tmp_path, BASE), tmp_path / "out", "int8")


@pytest.mark.parametrize("kind", storage.STORAGES)
def test_memory(tmp_path, kind):
    """A model that is nearly all one matrix: less than 1.2 times its size."""
    words, size = 60000, 256
    tensors = {name: numpy.zeros([{D: size, V[1]: words}.get(n, n) for n in tensor.shape], numpy.float32) for name, tensor in Maker(MODELS["opus"]).t.items()}
    tensors["Wemb"] = numpy.random.default_rng(1).standard_normal((words, size), numpy.float32)
    path = save_npz(tmp_path / "model.npz", tensors, MODELS["opus"] | {"dim-emb": size})
    (tmp_path / "v.txt").write_text("</s>\n<unk>\n" + "".join(f"{i}\n" for i in range(words - 2)))
    del tensors
    with convert_marian.open_archive(path) as archive:
        options, _ = convert_marian._options(archive, None)
        conversion = convert_marian.convert(archive, dict(HEAD), (tmp_path / "v.txt",) * 2, options, convert_marian.Own())
        tracemalloc.start()
        converted.write(tmp_path / "out", conversion, kind)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert path.stat().st_size > 6e7 and peak < 1.2 * path.stat().st_size


# ---- shortlists ----

def shortlist(offsets: list[int], targets: list[int], first: int = 2, **change) -> bytes:
    body = struct.pack("<4Q", first, 50, change.get("words", len(offsets)), change.get("count", len(targets)))
    body += struct.pack(f"<{len(offsets)}Q", *offsets) + struct.pack(f"<{len(targets)}I", *targets)
    h = 0
    for (word,) in struct.iter_unpack("<Q", body[:len(body) // 8 * 8]):
        h ^= (word + 0x9e3779b9 + (h << 6) + (h >> 2)) & (2**64 - 1)
    return struct.pack("<2Q", change.get("magic", 0xF11A48D5013417F5), h) + body


IDS = {piece: i for i, piece in enumerate(["</s>", "<unk>", "a", "b", "c"])}


def read_shortlist(path: Path, one: bool = False, **other) -> dict[str, list[int]]:
    tensors = {name: tensor.tolist() for name, tensor in marian_shortlist.read(path, (IDS, IDS), 1, one, **other).items()}
    assert tensors.pop("multiple") == [8]
    return tensors


def test_binary_shortlists(tmp_path):
    (tmp_path / "lex.bin").write_bytes(shortlist([0, 1, 1, 3, 3, 4], [4, 2, 3, 4]))
    assert read_shortlist(tmp_path / "lex.bin") == {"always": [0, 1], "offsets": [0, 1, 1, 3, 3, 4], "targets": [4, 2, 3, 4]}
    assert read_shortlist(tmp_path / "lex.bin", True) == {"always": [0, 1], "offsets": [0, 2, 3, 5, 6, 7], "targets": [0, 4, 1, 2, 3, 3, 4]}


@pytest.mark.parametrize("content, message", [
    (b"short", "a shortlist has at least 48 bytes"),
    (shortlist([0, 1, 1, 3, 3, 4], [4, 2, 3, 4], magic=1), "is no binary shortlist of Marian"),
    (shortlist([0, 1, 1, 3, 3, 4], [4, 2, 3, 4], count=1 << 60), "which is not its size"),
    (shortlist([0, 1, 1, 3, 3, 4], [4, 2, 3, 4], words=1 << 61), "which is not its size"),
    (shortlist([0, 1, 1, 3, 3, 4], [4, 2, 3, 4]) + b"\0", "which is not its size"),
    (shortlist([0, 1, 4], [4, 2, 3, 4]), "has 2 source words, the model 5"),
    (shortlist([0, 1, 1, 3, 3, 4], [4, 2, 3, 4], first=6), "puts 6 ids on every list, and the model has 5"),
    (shortlist([0, 1, 1, 3, 3, 4], [4, 2, 3, 4])[:-16] + b"\1" + shortlist([0, 1, 1, 3, 3, 4], [4, 2, 3, 4])[-15:], "its checksum is wrong"),
    (shortlist([0, 3, 1, 3, 3, 4], [4, 2, 3, 4]), "its offsets do not rise from 0 to 4"),
    (shortlist([1, 1, 1, 3, 3, 4], [4, 2, 3, 4]), "its offsets do not rise from 0 to 4"),
    (shortlist([0, 1, 1, 3, 3, 3], [4, 2, 3, 4]), "its offsets do not rise from 0 to 4"),
    (shortlist([0, 1, 1, 3, 3, 4], [4, 2, 5, 4]), "has the target 5, and the model has 5"),
])
def test_damaged_shortlists_are_refused(tmp_path, content, message):
    (tmp_path / "lex.bin").write_bytes(content)
    with pytest.raises(FormatError, match=message):
        read_shortlist(tmp_path / "lex.bin")


def test_text_shortlists(tmp_path):
    """The best of each source word; of equals the larger id; the last of a pair; unknown words are <unk>; NULL is skipped."""
    (tmp_path / "lex.s2t").write_text("a b 0.1\nb a 0.2\nc a 0.2\n</s> a 0.05\nNULL a 0.9\nzzz c 0.5\nb c 0.4\nb c 0.1\n")
    assert read_shortlist(tmp_path / "lex.s2t", best=(1, 2)) == {"always": [0], "offsets": [0, 0, 0, 2, 3, 5], "targets": [3, 4, 2, 1, 3]}
    (tmp_path / "lex.s2t").write_text("a b 0\nb a 0.5\nb a 0\n")  # Marian's threshold: more than nothing
    assert read_shortlist(tmp_path / "lex.s2t", best=(1, 2))["targets"] == []


@pytest.mark.parametrize("content, message", [
    (b"a b\n", "line 1 is not a target, a source and a probability"), (b"a b 0.1\na b much\n", "line 2 is not"), (b"a b nan\n", "line 1 is not"),
    (b"a b inf\n", "line 1 is not"), (b"a \xff 0.1\n", "not valid UTF-8"),
])
def test_damaged_text_shortlists_are_refused(tmp_path, content, message):
    (tmp_path / "lex.s2t").write_bytes(content)
    with pytest.raises(FormatError, match=message):
        read_shortlist(tmp_path / "lex.s2t")


# ---- folders ----

def spm(name: str = "en") -> bytes:
    return (Path(__file__).parent / "data" / f"tiny.{name}.spm").read_bytes()


def pieces_of(name: str = "en") -> list[str]:
    from weights.conversion import marian_vocabulary
    return marian_vocabulary._pieces(spm(name))


def of_size(options: dict, words: int, source: int | None = None) -> dict:
    """A model's tensors with as many words."""
    tensors = Maker(options).t
    for name in ("Wemb", "encoder_Wemb", "decoder_Wemb", "decoder_ff_logit_out_b", "decoder_ff_logit_out_Wt"):
        if name in tensors:
            count = source if source and name == "encoder_Wemb" else words
            shape = (1, count) if name.endswith("_b") else (count, D)
            tensors[name] = numpy.random.default_rng(5).standard_normal(shape).astype(numpy.float32)
    return tensors


def command(*arguments: Path | str, program: str = "convert_marian") -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", f"weights.conversion.{program}", *arguments], capture_output=True, text=True)


def opus(folder: Path) -> tuple[dict, list[str]]:
    """An unpacked package. -> its tensors and pieces."""
    pieces = ["</s>", "<unk>", ">>fra<<", *sorted({*pieces_of("en"), *pieces_of("fr")} - {"</s>", "<unk>", "<s>"})]
    tensors = of_size(MODELS["opus"], len(pieces))
    folder.mkdir()
    save_npz(folder / "opus.transformer-align.model1.npz.best-perplexity.npz", tensors, MODELS["opus"])
    (folder / "opus.vocab.yml").write_text("".join(f"{json.dumps(piece)}: {i}\n" for i, piece in enumerate(pieces)))
    (folder / "source.spm").write_bytes(spm("en"))
    (folder / "target.spm").write_bytes(spm("fr"))
    (folder / "decoder.yml").write_text("relative-paths: true\nmodels:\n  - x.npz\nbeam-size: 6\nnormalize: 1\nmax-length-factor: 2.5\n")
    (folder / "LICENSE").write_text("Attribution 4.0 International\n")
    return tensors, pieces


def test_an_opus_package(tmp_path):
    _, pieces = opus(tmp_path / "package")
    done = command(tmp_path / "package", "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "it writes 1 languages, such as fra" in done.stdout
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert config["tokenizer"]["pieces"] == "joint.vocab" and config["tokenizer"]["source"] == "source.spm" and config["limits"]["max_target_ratio"] == 2.5
    assert config["search"] == {"beam_size": 6} and config["tokenizer"]["preparation"] == "opus" and "alignment_trained" not in config["decoder"]
    assert (tmp_path / "out/joint.vocab").read_text().split("\n")[:-1] == pieces
    assert (tmp_path / "out/LICENSE").read_text() == "Attribution 4.0 International\n"
    card = (tmp_path / "out/README.md").read_text()
    assert "Licence: CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/), whose text is LICENSE. Attribution: OPUS-MT" in card


def test_a_firefox_pair(tmp_path):
    """Gzipped, with its shortlist; int8 is stored as it is without being asked for."""
    folder, size = tmp_path / "enfr", len(pieces_of())
    folder.mkdir()
    save_bin(tmp_path / "m.bin", with_multipliers(of_size(STUDENT, size)), STUDENT, True)
    offsets = [min(i, 3) for i in range(size + 1)]
    for name, content in (("model.enfr.intgemm.alphas.bin", (tmp_path / "m.bin").read_bytes()), ("vocab.enfr.spm", spm()),
                          ("lex.50.50.enfr.s2t.bin", shortlist(offsets, [4, 5, 6], 50))):
        (folder / (name + ".gz")).write_bytes(gzip.compress(content))
    done = command(folder, "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "dropped: none_QuantMultA" in done.stdout and "a shortlist" in done.stdout
    out = stored(tmp_path / "out")
    assert out["decoder.embedding"].dtype == numpy.int8 and "decoder.embedding.input_scale" in out
    made = safetensors.read(tmp_path / "out/shortlist.safetensors")[0]
    assert made["always"].tolist() == list(range(50))
    assert made["targets"][:4].tolist() == [0, 4, 1, 5]  # one vocabulary serves both sides: each word is on its own list
    assert "Licence: MPL-2.0" in (tmp_path / "out/README.md").read_text()
    assert command(folder, "--no-shortlist", "--storage", "float32", "--output", tmp_path / "plain").returncode == 0
    assert stored(tmp_path / "plain")["decoder.embedding"].dtype == numpy.float32 and not (tmp_path / "plain/shortlist.safetensors").exists()


def test_two_tables_of_a_firefox_pair(tmp_path):
    options = BASE | {"tied-embeddings": "true"}
    (tmp_path / "x").mkdir()
    save_bin(tmp_path / "x/model.x.bin", of_size(options, len(pieces_of("fr")), len(pieces_of("en"))), options)
    (tmp_path / "x/srcvocab.x.spm").write_bytes(spm("en"))
    (tmp_path / "x/trgvocab.x.spm").write_bytes(spm("fr"))
    parts = marian_folder.find(tmp_path / "x")
    assert [path.name for path in parts.vocabularies] == ["srcvocab.x.spm", "trgvocab.x.spm"] and parts.segmenters is None
    assert command(tmp_path / "x", "--output", tmp_path / "out").returncode == 0


def test_lists_of_both_sides(tmp_path):
    """USE_SPM_VOCAB of OPUS: one list a side."""
    sides = {"src": ["</s>", "<unk>", *pieces_of("en")[3:]], "trg": ["<unk>", "</s>", *pieces_of("fr")[3:]]}
    options = BASE | {"tied-embeddings": "true"}
    (tmp_path / "x").mkdir()
    save_npz(tmp_path / "x/model.npz", of_size(options, len(sides["trg"]), len(sides["src"])), options)
    for name, pieces in sides.items():
        (tmp_path / f"x/opus.{name}.vocab").write_text("".join(f"{piece}\n" for piece in pieces))
    (tmp_path / "x/source.spm").write_bytes(spm("en"))
    (tmp_path / "x/target.spm").write_bytes(spm("fr"))
    done = command(tmp_path / "x", "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    section = json.loads((tmp_path / "out/config.json").read_text())["tokenizer"]
    assert (section["pieces"], section["target_pieces"]) == ("source.vocab", "target.vocab")


@pytest.mark.parametrize("files, message", [
    ({}, "has no model: neither .npz nor .bin"),
    ({"a.npz": b"", "b.npz": b""}, "has a.npz, b.npz: name the one to convert"),
    ({"a.npz": b""}, "has no vocabularies: neither SentencePiece files nor lists of words"),
    ({"a.npz": b"", "vocab.a.spm": b"", "vocab.b.spm": b""}, "has vocab.a.spm, vocab.b.spm: leave one of them there, or name it"),
    ({"a.npz": b"", "vocab.spm": b"", "decoder.yml": b"a: b: c\n"}, "decoder.yml: line 1"),
    ({"a.bin": b"\1", "vocab.spm.gz": b"\x1f\x8bbroken"}, "vocab.spm.gz: cannot be unpacked"),
])
def test_folders_that_are_refused(tmp_path, files, message):
    (tmp_path / "x").mkdir()
    for name, content in files.items():
        (tmp_path / "x" / name).write_bytes(content)
    done = command(tmp_path / "x", "--output", tmp_path / "out")
    assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_what_is_not_there_is_refused(tmp_path):
    done = command(tmp_path / "x.npz", "--output", tmp_path / "out")
    assert done.returncode == 1 and done.stderr == f"{tmp_path / 'x.npz'}: is not there\n"


# ---- Hugging Face ----

CONFIG = {"model_type": "marian", "d_model": D, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
          "encoder_ffn_dim": F, "decoder_ffn_dim": F, "activation_function": "swish", "scale_embedding": True, "eos_token_id": 0}


def huggingface(folder: Path, tensors: dict, pieces: list[str], change: dict | None = None) -> Path:
    """The same model as MarianMTModel's folder has it."""
    made = {"model.shared.weight": numpy.vstack([tensors["Wemb"], numpy.zeros((1, D), numpy.float32)]),
            "final_logits_bias": numpy.hstack([tensors["decoder_ff_logit_out_b"], numpy.zeros((1, 1), numpy.float32)])}
    names = {"_self_Wo_ln": ".self_attn_layer_norm", "_context_Wo_ln": ".encoder_attn_layer_norm", "_ffn_ffn_ln": ".final_layer_norm"}
    for name, tensor in tensors.items():
        side, layer, rest = name.split("_", 2) if name[0] in "ed" and "_l" in name[:9] else ("", "", "")
        if not side:
            continue
        prefix, rest = f"model.{side}.layers.{int(layer[1:]) - 1}", "_" + rest
        norm = next((names[start] for start in names if rest.startswith(start)), None)
        if norm:
            made[prefix + norm + (".weight" if rest.endswith("scale") else ".bias")] = tensor[0]
        elif rest.startswith("_ffn"):
            made[f"{prefix}.fc{rest[-1]}." + ("weight" if "W" in rest else "bias")] = tensor.T.copy() if "W" in rest else tensor[0]
        else:
            block = {"_self": "self_attn", "_context": "encoder_attn"}[rest[:rest.rindex("_")]]
            made[f"{prefix}.{block}.{'out' if rest[-1] == 'o' else rest[-1]}_proj." + ("weight" if "W" in rest else "bias")] = tensor.T.copy() if "W" in rest else tensor[0]
    folder.mkdir()
    safetensors.write(folder / "model.safetensors", made)
    (folder / "config.json").write_text(json.dumps(CONFIG | (change or {})))
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate([*pieces, "<pad>"])}))
    (folder / "source.spm").write_bytes(spm("en"))
    (folder / "target.spm").write_bytes(spm("fr"))
    (folder / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n* dataset: opus\n* model: transformer-align\n")
    return folder


def test_huggingface_gives_what_the_package_gives(tmp_path):
    tensors, pieces = opus(tmp_path / "package")
    huggingface(tmp_path / "hf", tensors, pieces)
    assert command(tmp_path / "package", "--output", tmp_path / "one").returncode == 0
    done = command(tmp_path / "hf", "--output", tmp_path / "other", program="convert_huggingface")
    assert done.returncode == 0, done.stderr
    one, other = stored(tmp_path / "one"), stored(tmp_path / "other")
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        numpy.testing.assert_array_equal(tensor, other[name], err_msg=name)
    sections = [json.loads((tmp_path / name / "config.json").read_text()) for name in ("one", "other")]
    assert all(sections[0][key] == sections[1][key] for key in ("encoder", "decoder", "output", "tokenizer"))
    assert (tmp_path / "one/joint.vocab").read_bytes() == (tmp_path / "other/joint.vocab").read_bytes()
    card = (tmp_path / "other/README.md").read_text()
    assert "Licence: CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/), as the card says" in card and "Attribution: OPUS-MT" in card
    assert (tmp_path / "other/README.original.md").read_text() == (tmp_path / "hf/README.md").read_text()


def test_huggingface_from_a_pickle(tmp_path):
    """pytorch_model.bin, in half precision; nothing in it is run."""
    torch = pytest.importorskip("torch")
    tensors, pieces = opus(tmp_path / "package")
    folder = huggingface(tmp_path / "hf", tensors, pieces)
    found = {name: torch.from_numpy(tensor.copy()).half() for name, tensor in safetensors.read(folder / "model.safetensors")[0].items()}
    (folder / "model.safetensors").unlink()
    torch.save(found | {"model.encoder.embed_positions.weight": torch.zeros(512, D), "lm_head.weight": found["model.shared.weight"]}, folder / "pytorch_model.bin")
    done = command(folder, "--output", tmp_path / "out", program="convert_huggingface")
    assert done.returncode == 0, done.stderr
    numpy.testing.assert_allclose(stored(tmp_path / "out")["decoder.embedding"], tensors["Wemb"], rtol=1e-3, atol=1e-6)


class Trap:
    def __reduce__(self):
        return (print, ("run",))


@pytest.mark.parametrize("damage, message", [
    (lambda f: (f / "config.json").write_text("["), "config.json: "),
    (lambda f: (f / "config.json").write_text("[]"), "config.json: is not an object"),
    (lambda f: (f / "config.json").write_text(json.dumps(CONFIG | {"model_type": "bart"})), "config.json: model_type bart is not supported: only MarianMT models"),
    (lambda f: (f / "config.json").write_text(json.dumps(CONFIG | {"normalize_before": True})), "config.json: normalize_before True is not supported"),
    (lambda f: (f / "config.json").write_text(json.dumps(CONFIG | {"activation_function": "tanh"})), "config.json: activation_function tanh is not supported"),
    (lambda f: (f / "config.json").write_text(json.dumps(CONFIG | {"d_model": "8"})), "config.json: d_model must be a positive number"),
    (lambda f: (f / "config.json").write_text(json.dumps(CONFIG | {"encoder_layers": 1})), "model.encoder.layers.1.encoder|model.encoder.layers.1.*: unknown"),
    (lambda f: (f / "config.json").write_text(json.dumps(CONFIG | {"encoder_layers": 3})), "model.encoder.layers.2.self_attn.q_proj.weight: missing"),
    (lambda f: (f / "config.json").write_text(json.dumps(CONFIG | {"decoder_ffn_dim": 5})), r"model.decoder.layers.0.fc1.weight: shape \(12, 8\), expected \(5, 8\)"),
    (lambda f: (f / "vocab.json").write_text('{"a": 0}'), "vocab.json: must give each of the ids 0 to"),
    (lambda f: (f / "vocab.json").unlink(), "vocab.json: "),
    (lambda f: (f / "source.spm").write_bytes(b"no"), "source.spm: is no SentencePiece model"),
    (lambda f: (f / "model.safetensors").write_bytes(b"\xff" * 40), "model.safetensors: a header of"),
    (lambda f: (f / "model.safetensors").unlink(), "has neither model.safetensors nor pytorch_model.bin"),
])
def test_huggingface_folders_that_are_refused(tmp_path, damage, message):
    tensors, pieces = opus(tmp_path / "package")
    folder = huggingface(tmp_path / "hf", tensors, pieces)
    damage(folder)
    with pytest.raises(ConversionError, match=message):
        converted.write(tmp_path / "out", convert_huggingface.convert(folder, dict(HEAD), False), "float32")
    assert not (tmp_path / "out").exists()


def test_nothing_in_a_pickle_is_run(tmp_path, capfd):
    tensors, pieces = opus(tmp_path / "package")
    folder = huggingface(tmp_path / "hf", tensors, pieces)
    (folder / "model.safetensors").unlink()
    with zipfile.ZipFile(folder / "pytorch_model.bin", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"x": Trap()}))
    with pytest.raises(ConversionError, match="pytorch_model.bin: holds other things than tensors"):
        convert_huggingface.convert(folder, dict(HEAD), False)
    assert "run" not in capfd.readouterr().out
