"""Imports containers and folders of Marian and of Hugging Face: python3 -m pytest -q tests/test_convert_files.py

Complete folders, and files that must be refused. tests/model/import has a case for each way in which a file can be
damaged.
"""

import gzip
import json
import pickle
import resource
import signal
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
import pytest
import sentencepiece

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from imported import ALIGND, Refused, command, imported, into  # noqa: E402
from test_convert_transformer import BASE, D, F, MODELS, TARGET, SOURCE, V, Maker  # noqa: E402
from test_convert_transformer import Marian, convert, forced, lists, load, save_bin, save_npz, stored  # noqa: E402
from weights.model import safetensors, storage  # noqa: E402

STUDENT = MODELS["student"]


# ---- .bin ----

WQ = "encoder_l1_self_Wq"


def with_multipliers(tensors: dict) -> dict:
    """Adds activation multipliers as in *.alphas.bin."""
    names = [name for name in tensors if "_W" in name[-4:] or "Wemb" in name]
    found = {f"{name}_QuantMultA": numpy.full((1, 1), 3 + i, numpy.float32) for i, name in enumerate(sorted(names))}
    return tensors | found | {"none_QuantMultA": found["Wemb_QuantMultA"]}


def test_int8_is_kept_as_it_is(tmp_path):
    made = Maker(STUDENT)
    out = stored(convert(save_bin(tmp_path / "model.bin", with_multipliers(made.t), STUDENT, True),
                         lists(tmp_path, STUDENT), tmp_path / "out", "int8"))
    weight, multiplier = made.t[WQ], numpy.float32(127 / numpy.abs(made.t[WQ]).max())
    numpy.testing.assert_array_equal(out["encoder.layers.0.self.query.weight"], numpy.rint(weight * multiplier).T)
    numpy.testing.assert_array_equal(out["encoder.layers.0.self.query.weight.scale"], [numpy.float32(1) / multiplier])
    assert (out["encoder.layers.0.self.query.weight.input_scale"].tolist()
            == [3 + sorted(n for n in made.t if "_W" in n[-4:] or "Wemb" in n).index(WQ)])
    table = numpy.rint(made.t["Wemb"] * numpy.float32(127 / numpy.abs(made.t["Wemb"]).max()))
    numpy.testing.assert_array_equal(out["decoder.embedding"], table)
    # the file stores the table's multiplier in int8, too
    numpy.testing.assert_allclose(out["decoder.embedding.input_scale"],
                                  3 + sorted(n for n in made.t if "_W" in n[-4:] or "Wemb" in n).index("Wemb"),
                                  rtol=1e-6)


def test_int8_scores(tmp_path):
    """int8 scores are close to those of the float model, also in other storage types."""
    made = Maker(STUDENT)
    wanted = Marian(made).forced(SOURCE, TARGET)[0]
    path = save_bin(tmp_path / "model.bin", made.t, STUDENT, True)
    given, floats = (load(convert(path, lists(tmp_path, STUDENT), tmp_path / kind, kind), STUDENT)
                     for kind in ("int8", "float32"))
    numpy.testing.assert_allclose(forced(given, SOURCE, TARGET)[0], forced(floats, SOURCE, TARGET)[0], atol=1e-6)
    numpy.testing.assert_allclose(forced(floats, SOURCE, TARGET)[0], wanted, atol=0.3)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_wrong_multipliers_are_refused(tmp_path, value):
    tensors = with_multipliers(Maker(STUDENT).t)
    tensors[f"{WQ}_QuantMultA"] = numpy.full((1, 1), value, numpy.float32)
    with pytest.raises(Refused, match=f"{WQ}_QuantMultA: must be one positive number"):
        convert(save_bin(tmp_path / "model.bin", tensors, STUDENT, True), lists(tmp_path, STUDENT), tmp_path / "out",
                "int8")


def test_an_untied_output_of_int8_is_refused(tmp_path):
    tensors = Maker(BASE).t
    with pytest.raises(Refused, match="decoder_ff_logit_out_Wt: is int8, which Marian reads in a different order"):
        convert(save_bin(tmp_path / "model.bin", tensors, BASE, True), lists(tmp_path, BASE), tmp_path / "out", "int8")


@pytest.mark.parametrize("kind", storage.STORAGES)
def test_memory(tmp_path, kind):
    """Importing a model that is mostly one matrix takes less memory than the model's size."""
    command("--version")  # skips the test without the program
    words, size = 60000, 256
    tensors = {name: numpy.zeros([{D: size, V[1]: words}.get(n, n) for n in tensor.shape], numpy.float32)
               for name, tensor in Maker(MODELS["opus"]).t.items()}
    tensors["Wemb"] = numpy.random.default_rng(1).standard_normal((words, size), numpy.float32)
    path = save_npz(tmp_path / "model.npz", tensors, MODELS["opus"] | {"dim-emb": size})
    (tmp_path / "v.txt").write_text("</s>\n<unk>\n" + "".join(f"{i}\n" for i in range(words - 2)))
    del tensors
    limit = path.stat().st_size  # of private memory, including the program's own
    done = subprocess.run([ALIGND, "import", path, tmp_path / "v.txt", *into(tmp_path / "out"), "--storage", kind],
                          capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
    assert limit > 6e7 and done.returncode == 0, done.stderr


# ---- shortlists ----

def shortlist(offsets: list[int], targets: list[int], first: int = 2, **change) -> bytes:
    body = struct.pack("<4Q", first, 50, change.get("words", len(offsets)), change.get("count", len(targets)))
    body += struct.pack(f"<{len(offsets)}Q", *offsets) + struct.pack(f"<{len(targets)}I", *targets)
    h = 0
    for (word,) in struct.iter_unpack("<Q", body[:len(body) // 8 * 8]):
        h ^= (word + 0x9e3779b9 + (h << 6) + (h >> 2)) & (2**64 - 1)
    return struct.pack("<2Q", change.get("magic", 0xF11A48D5013417F5), h) + body


# ---- folders ----

def spm(name: str = "en") -> bytes:
    return (Path(__file__).parent / "data" / f"tiny.{name}.spm").read_bytes()


def pieces_of(name: str = "en") -> list[str]:
    pieces = sentencepiece.SentencePieceProcessor(model_proto=spm(name))
    return [pieces.id_to_piece(i) for i in range(pieces.get_piece_size())]


def of_size(options: dict, words: int, source: int | None = None) -> dict:
    """The tensors of a model with this number of words."""
    tensors = Maker(options).t
    for name in ("Wemb", "encoder_Wemb", "decoder_Wemb", "decoder_ff_logit_out_b", "decoder_ff_logit_out_Wt"):
        if name in tensors:
            count = source if source and name == "encoder_Wemb" else words
            shape = (1, count) if name.endswith("_b") else (count, D)
            tensors[name] = numpy.random.default_rng(5).standard_normal(shape).astype(numpy.float32)
    return tensors


def opus(folder: Path) -> tuple[dict, list[str]]:
    """Writes an unpacked package. Returns its tensors and pieces."""
    pieces = ["</s>", "<unk>", ">>fra<<", *sorted({*pieces_of("en"), *pieces_of("fr")} - {"</s>", "<unk>", "<s>"})]
    tensors = of_size(MODELS["opus"], len(pieces))
    folder.mkdir()
    save_npz(folder / "opus.transformer-align.model1.npz.best-perplexity.npz", tensors, MODELS["opus"])
    (folder / "opus.vocab.yml").write_text("".join(f"{json.dumps(piece)}: {i}\n" for i, piece in enumerate(pieces)))
    (folder / "source.spm").write_bytes(spm("en"))
    (folder / "target.spm").write_bytes(spm("fr"))
    (folder / "decoder.yml").write_text(
        "relative-paths: true\nmodels:\n  - x.npz\nbeam-size: 6\nnormalize: 1\nmax-length-factor: 2.5\n")
    (folder / "LICENSE").write_text("Attribution 4.0 International\n")
    return tensors, pieces


def test_an_opus_package(tmp_path):
    _, pieces = opus(tmp_path / "package")
    done = command(tmp_path / "package", *into(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "it writes 1 languages, such as fra" in done.stdout
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert (config["tokenizer"]["pieces"] == "joint.vocab" and config["tokenizer"]["source"] == "source.spm"
            and config["limits"]["max_target_ratio"] == 2.5)
    assert (config["defaults"] == {"beam_size": 6} and config["limits"]["max_source_tokens"] == 512
            and config["tokenizer"]["preparation"] == "opus" and "alignment_trained" not in config["decoder"])
    assert (tmp_path / "out/joint.vocab").read_text().split("\n")[:-1] == pieces
    assert (tmp_path / "out/LICENSE").read_text() == "Attribution 4.0 International\n"
    card = (tmp_path / "out/README.md").read_text()
    assert ("Licence: CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/), whose text is LICENSE. "
            "Attribution: OPUS-MT") in card


def test_a_firefox_pair(tmp_path):
    """A gzipped pair with its shortlist; int8 is stored unchanged by default."""
    folder, size = tmp_path / "enfr", len(pieces_of())
    folder.mkdir()
    save_bin(tmp_path / "m.bin", with_multipliers(of_size(STUDENT, size)), STUDENT, True)
    offsets = [min(i, 3) for i in range(size + 1)]
    for name, content in (("model.enfr.intgemm.alphas.bin", (tmp_path / "m.bin").read_bytes()),
                          ("vocab.enfr.spm", spm()), ("lex.50.50.enfr.s2t.bin", shortlist(offsets, [4, 5, 6], 50))):
        (folder / (name + ".gz")).write_bytes(gzip.compress(content))
    done = command(folder, *into(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "dropped: none_QuantMultA" in done.stdout and "a shortlist" in done.stdout
    out = stored(tmp_path / "out")
    assert out["decoder.embedding"].dtype == numpy.int8 and "decoder.embedding.input_scale" in out
    made = safetensors.read(tmp_path / "out/shortlist.safetensors")[0]
    assert made["always"].tolist() == list(range(50))
    # Both sides share a vocabulary: each word is on its own list.
    assert made["targets"][:4].tolist() == [0, 4, 1, 5]
    assert "Licence: MPL-2.0" in (tmp_path / "out/README.md").read_text()
    assert command(folder, "--no-shortlist", "--storage", "float32", *into(tmp_path / "plain")).returncode == 0
    assert (stored(tmp_path / "plain")["decoder.embedding"].dtype == numpy.float32
            and not (tmp_path / "plain/shortlist.safetensors").exists())
    configs = [json.loads((tmp_path / f"{name}/config.json").read_text()) for name in ("out", "plain")]
    assert (configs[0]["defaults"] == {"compute": "int8", "shortlist": True, "beam_size": 1} and configs[1]["defaults"]
            == {"beam_size": 1})
    assert all(config["limits"] == {"max_source_tokens": 128, "max_target_ratio": 2} for config in configs)


def test_a_translatelocally_folder(tmp_path):
    """Its configuration takes precedence over file names."""
    folder, size = tmp_path / "de-en-tiny", len(pieces_of())
    folder.mkdir()
    save_bin(folder / "model.intgemm.alphas.bin", with_multipliers(of_size(STUDENT, size)), STUDENT, True)
    (folder / "vocab.deen.spm").write_bytes(spm())
    (folder / "lex.s2t.bin").write_bytes(shortlist([min(i, 3) for i in range(size + 1)], [4, 5, 6], 50))
    (folder / "config.intgemm8bitalpha.yml").write_text(
        "relative-paths: true\nmodels:\n  - model.intgemm.alphas.bin\nshortlist:\n  - lex.s2t.bin\n  - false\n"
        "beam-size: 2\nnormalize: 0.6\nmax-length-break: 200\nmax-length-factor: 2.5\ngemm-precision: float32\n")
    done = command(folder, *into(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert config["defaults"] == {"compute": "float32", "shortlist": True, "beam_size": 2, "length_penalty": 0.6}
    assert config["limits"] == {"max_source_tokens": 200, "max_target_ratio": 2.5}


def test_files_of_a_firefox_pair_that_are_named(tmp_path):
    size = len(pieces_of())
    save_bin(tmp_path / "model.enfr.intgemm.alphas.bin", with_multipliers(of_size(STUDENT, size)), STUDENT, True)
    (tmp_path / "vocab.enfr.spm").write_bytes(spm())
    done = command(tmp_path / "model.enfr.intgemm.alphas.bin", tmp_path / "vocab.enfr.spm", *into(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert (config["defaults"] == {"compute": "int8", "beam_size": 1}
            and config["limits"] == {"max_source_tokens": 128, "max_target_ratio": 2})


def test_two_tables_of_a_firefox_pair(tmp_path):
    options = BASE | {"tied-embeddings": "true"}
    (tmp_path / "x").mkdir()
    save_bin(tmp_path / "x/model.x.bin", of_size(options, len(pieces_of("fr")), len(pieces_of("en"))), options)
    (tmp_path / "x/srcvocab.x.spm").write_bytes(spm("en"))
    (tmp_path / "x/trgvocab.x.spm").write_bytes(spm("fr"))
    section = json.loads((imported(tmp_path / "x", out=tmp_path / "out") / "config.json").read_text())["tokenizer"]
    assert (section["source"], section["target"]) == ("source.spm", "target.spm") and "pieces" not in section


def test_lists_of_both_sides(tmp_path):
    """USE_SPM_VOCAB of OPUS: one list per side."""
    sides = {"src": ["</s>", "<unk>", *pieces_of("en")[3:]], "trg": ["<unk>", "</s>", *pieces_of("fr")[3:]]}
    options = BASE | {"tied-embeddings": "true"}
    (tmp_path / "x").mkdir()
    save_npz(tmp_path / "x/model.npz", of_size(options, len(sides["trg"]), len(sides["src"])), options)
    for name, pieces in sides.items():
        (tmp_path / f"x/opus.{name}.vocab").write_text("".join(f"{piece}\n" for piece in pieces))
    (tmp_path / "x/source.spm").write_bytes(spm("en"))
    (tmp_path / "x/target.spm").write_bytes(spm("fr"))
    done = command(tmp_path / "x", *into(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    section = json.loads((tmp_path / "out/config.json").read_text())["tokenizer"]
    assert (section["pieces"], section["target_pieces"]) == ("source.vocab", "target.vocab")


# ---- Hugging Face ----

CONFIG = {"model_type": "marian", "d_model": D, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
          "decoder_attention_heads": 2,
          "encoder_ffn_dim": F, "decoder_ffn_dim": F, "activation_function": "swish", "scale_embedding": True,
          "eos_token_id": 0}


def huggingface(folder: Path, tensors: dict, pieces: list[str], change: dict | None = None) -> Path:
    """Writes the model in the layout of a MarianMTModel folder."""
    made = {"model.shared.weight": numpy.vstack([tensors["Wemb"], numpy.zeros((1, D), numpy.float32)]),
            "final_logits_bias": numpy.hstack([tensors["decoder_ff_logit_out_b"], numpy.zeros((1, 1), numpy.float32)])}
    names = {"_self_Wo_ln": ".self_attn_layer_norm", "_context_Wo_ln": ".encoder_attn_layer_norm",
             "_ffn_ffn_ln": ".final_layer_norm"}
    for name, tensor in tensors.items():
        side, layer, rest = name.split("_", 2) if name[0] in "ed" and "_l" in name[:9] else ("", "", "")
        if not side:
            continue
        prefix, rest = f"model.{side}.layers.{int(layer[1:]) - 1}", "_" + rest
        norm = next((names[start] for start in names if rest.startswith(start)), None)
        if norm:
            made[prefix + norm + (".weight" if rest.endswith("scale") else ".bias")] = tensor[0]
        elif rest.startswith("_ffn"):
            made[f"{prefix}.fc{rest[-1]}." + ("weight" if "W" in rest else "bias")] = (tensor.T.copy() if "W" in rest
                                                                                       else tensor[0])
        else:
            block = {"_self": "self_attn", "_context": "encoder_attn"}[rest[:rest.rindex("_")]]
            made[f"{prefix}.{block}.{'out' if rest[-1] == 'o' else rest[-1]}_proj."
                 + ("weight" if "W" in rest else "bias")] = (tensor.T.copy() if "W" in rest else tensor[0])
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
    assert command(tmp_path / "package", *into(tmp_path / "one")).returncode == 0
    done = command(tmp_path / "hf", *into(tmp_path / "other"))
    assert done.returncode == 0, done.stderr
    one, other = stored(tmp_path / "one"), stored(tmp_path / "other")
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        numpy.testing.assert_array_equal(tensor, other[name], err_msg=name)
    sections = [json.loads((tmp_path / name / "config.json").read_text()) for name in ("one", "other")]
    assert all(sections[0][key] == sections[1][key] for key in ("encoder", "decoder", "output", "tokenizer"))
    assert (tmp_path / "one/joint.vocab").read_bytes() == (tmp_path / "other/joint.vocab").read_bytes()
    card = (tmp_path / "other/README.md").read_text()
    assert ("Licence: CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/), as the card says" in card
            and "Attribution: OPUS-MT" in card)
    assert (tmp_path / "other/README.original.md").read_text() == (tmp_path / "hf/README.md").read_text()


def test_huggingface_from_a_pickle(tmp_path):
    """pytorch_model.bin, in half precision; no code in it is run."""
    torch = pytest.importorskip("torch")
    tensors, pieces = opus(tmp_path / "package")
    folder = huggingface(tmp_path / "hf", tensors, pieces)
    found = {name: torch.from_numpy(tensor.copy()).half()
             for name, tensor in safetensors.read(folder / "model.safetensors")[0].items()}
    (folder / "model.safetensors").unlink()
    torch.save(found | {"model.encoder.embed_positions.weight": torch.zeros(512, D),
                        "lm_head.weight": found["model.shared.weight"]}, folder / "pytorch_model.bin")
    done = command(folder, *into(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    numpy.testing.assert_allclose(stored(tmp_path / "out")["decoder.embedding"], tensors["Wemb"], rtol=1e-3, atol=1e-6)


def test_huggingface_with_its_end_elsewhere(tmp_path):
    """As in opus-mt-tc-big-*, </s> is not the first piece."""
    tensors, pieces = opus(tmp_path / "package")
    order = [*range(1, len(pieces)), 0]
    moved = {name: tensor[order] if name == "Wemb" else tensor[:, order] if name == "decoder_ff_logit_out_b" else tensor
             for name, tensor in tensors.items()}
    huggingface(tmp_path / "hf", moved, [pieces[i] for i in order], {"eos_token_id": len(pieces) - 1})
    out = imported(tmp_path / "hf", out=tmp_path / "out")
    assert (out / "joint.vocab").read_text().split("\n")[-2] == "</s>"
    numpy.testing.assert_array_equal(stored(out)["decoder.embedding"], tensors["Wemb"][order])


def test_huggingface_with_two_vocabularies(tmp_path):
    options = MODELS["opus"] | {"tied-embeddings-all": "false", "tied-embeddings": "true"}
    sides = [["</s>", "<unk>", *pieces_of(name)[3:]] for name in ("en", "fr")]
    tensors = of_size(options, len(sides[1]), len(sides[0]))
    folder = huggingface(tmp_path / "hf", tensors | {"Wemb": tensors["decoder_Wemb"]}, sides[0],
                         {"share_encoder_decoder_embeddings": False})
    made = dict(safetensors.read(folder / "model.safetensors")[0])
    made["model.decoder.embed_tokens.weight"] = made.pop("model.shared.weight")
    made["model.encoder.embed_tokens.weight"] = numpy.vstack([tensors["encoder_Wemb"],
                                                              numpy.zeros((1, D), numpy.float32)])
    safetensors.write(folder / "model.safetensors",
                      made | {"lm_head.weight": made["model.decoder.embed_tokens.weight"]})
    (folder / "target_vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate([*sides[1], "<pad>"])}))
    save_npz(tmp_path / "model.npz", tensors, options)
    for name, pieces in zip(("source.vocab", "target.vocab"), sides):
        (tmp_path / name).write_text("".join(f"{piece}\n" for piece in pieces))
    one = imported(tmp_path / "model.npz", tmp_path / "source.vocab", tmp_path / "target.vocab", folder / "source.spm",
                   folder / "target.spm", out=tmp_path / "one")
    other = imported(folder, out=tmp_path / "other")
    for name, tensor in stored(one).items():
        numpy.testing.assert_array_equal(tensor, stored(other)[name], err_msg=name)
    assert (one / "target.vocab").read_bytes() == (other / "target.vocab").read_bytes()


class Trap:
    def __reduce__(self):
        return (print, ("run",))


@pytest.mark.parametrize("damage, message", [
    (lambda f: (f / "config.json").write_text("["), "config.json: "),
    (lambda f: (f / "config.json").write_text("[]"), "config.json: is not an object"),
    (lambda f: (f / "config.json").write_text(json.dumps(CONFIG | {"model_type": "bart"})),
     "config.json: model_type .bart. is not supported: BART's vocabulary is one of bytes"),
    (lambda f: (f / "config.json").write_text(json.dumps(CONFIG | {"normalize_before": True})),
     "config.json: normalize_before true is not supported"),
    (lambda f: (f / "config.json").write_text(json.dumps(CONFIG | {"activation_function": "tanh"})),
     "config.json: activation_function .tanh. is not supported"),
    (lambda f: (f / "config.json").write_text(json.dumps(CONFIG | {"d_model": "8"})),
     "config.json: d_model must be a positive number"),
    (lambda f: (f / "config.json").write_text(json.dumps(CONFIG | {"encoder_layers": 1})),
     "model.encoder.layers.1.encoder|model.encoder.layers.1.*: unknown"),
    (lambda f: (f / "config.json").write_text(json.dumps(CONFIG | {"encoder_layers": 3})),
     "model.encoder.layers.2.self_attn.q_proj.weight: missing"),
    (lambda f: (f / "config.json").write_text(json.dumps(CONFIG | {"decoder_ffn_dim": 5})),
     r"model.decoder.layers.0.fc1.weight: shape \(12, 8\), expected \(5, 8\)"),
    (lambda f: (f / "vocab.json").write_text('{"a": 0}'), "vocab.json: must give each of the ids 0 to"),
    (lambda f: (f / "vocab.json").unlink(), "vocab.json: "),
    (lambda f: (f / "source.spm").write_bytes(b"no"), "source.spm: not a SentencePiece model"),
    (lambda f: (f / "model.safetensors").write_bytes(b"\xff" * 40), "model.safetensors: "),
    (lambda f: (f / "model.safetensors").unlink(), "has neither model.safetensors nor pytorch_model.bin"),
    (lambda f: (f / "config.json").write_text(json.dumps(CONFIG | {"eos_token_id": 1})),
     "config.json: eos_token_id 1 is not the id of </s> in vocab.json"),
])
def test_huggingface_folders_that_are_refused(tmp_path, damage, message):
    tensors, pieces = opus(tmp_path / "package")
    folder = huggingface(tmp_path / "hf", tensors, pieces)
    damage(folder)
    with pytest.raises(Refused, match=message):
        imported(folder, out=tmp_path / "out")


def test_nothing_in_a_pickle_is_run(tmp_path):
    tensors, pieces = opus(tmp_path / "package")
    folder = huggingface(tmp_path / "hf", tensors, pieces)
    (folder / "model.safetensors").unlink()
    with zipfile.ZipFile(folder / "pytorch_model.bin", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"x": Trap()}, protocol=2))
    with pytest.raises(Refused,
                       match=("pytorch_model.bin: its pickle calls __builtin__.print, but only dictionaries of tensors "
                              "can be read")):
        imported(folder, out=tmp_path / "out")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_leaves_nothing(tmp_path, number):
    """The signal comes as soon as the first folder exists."""
    command("--version")  # skips the test without the program
    path = save_npz(tmp_path / "model.npz",
                    {name: numpy.zeros([{D: 512, V[1]: 40000}.get(n, n) for n in tensor.shape], numpy.float32)
                     for name, tensor in Maker(MODELS["opus"]).t.items()}, MODELS["opus"] | {"dim-emb": 512})
    (tmp_path / "v.txt").write_text("</s>\n<unk>\n" + "".join(f"{i}\n" for i in range(39998)))
    program = subprocess.Popen([ALIGND, "import", path, tmp_path / "v.txt", *into(tmp_path / "models" / "x")],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while not (tmp_path / "models").exists() and program.poll() is None:
        pass
    program.send_signal(number)
    _, said = program.communicate()
    assert program.returncode == 1 and said.endswith(b": interrupted\n") and not (tmp_path / "models").exists()
