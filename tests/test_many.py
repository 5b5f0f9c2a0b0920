"""Models of many languages: a random model with the structure of M2M-100, NLLB-200 or mBART-50 is the same model
whether it is imported from Hugging Face's folder or from CTranslate2's. Needs build/alignd, PyTorch for
pytorch_model.bin, and SentencePiece."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
from ctranslate2_models import Shape, variables_of, write_model  # noqa: E402

from weights.evaluation.client import Daemon, Variant, daemon  # noqa: E402

ROOT = Path(__file__).parent.parent
ALIGND = ROOT / "build" / "alignd"
SPM = ROOT / "tests" / "data" / "tiny.en.spm"
TEXT = "the cat is not here .\ni am at home\n"
NLLB = ["deu_Latn", "eng_Latn", "fra_Latn", "rus_Cyrl", "zho_Hans"]
M2M = ["__de__", "__en__", "__fr__", "__ru__", "__zh__"]
MBART = ["de_DE", "en_XX", "fr_XX", "ru_RU", "zh_CN"]
LANGUAGES = {"nllb": NLLB, "m2m": M2M, "mbart": MBART}
CONFIG = {"model_type": "m2m_100", "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
          "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
          "decoder_ffn_dim": 64, "activation_function": "relu", "scale_embedding": True, "decoder_start_token_id": 2,
          "eos_token_id": 2, "num_beams": 5}


def pieces() -> list[str]:
    sentencepiece = pytest.importorskip("sentencepiece")
    model = sentencepiece.SentencePieceProcessor(model_file=str(SPM))
    return [model.id_to_piece(i) for i in range(3, model.get_piece_size())]


def positions(count: int, size: int) -> numpy.ndarray:
    """The positions of a sentence's tokens in transformers' M2M100SinusoidalPositionalEmbedding, which begin at 2:
    float32 [count, size]."""
    rates = numpy.exp(numpy.arange(size // 2) * -(numpy.log(10000) / (size // 2 - 1)))
    angles = numpy.arange(2, count + 2)[:, None] * rates
    return numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], axis=1).astype(numpy.float32)


def tokens_of(kind: str) -> list[str]:
    """The tokens of the vocabulary, by id."""
    base = ["<s>", "<pad>", "</s>", "<unk>", *pieces()]
    return ([*base, *M2M, "madeupword0", "madeupword1"] if kind == "m2m"
            else [*base, *LANGUAGES[kind], "<mask>", "madeupword0"])


def torch_names(variables: dict[str, numpy.ndarray], layers: int) -> dict[str, numpy.ndarray]:
    """The same weights under the names of transformers' M2M100ForConditionalGeneration."""
    found = {"model.shared.weight": variables["decoder/embeddings/weight"]}

    def put(ours: str, theirs: str, rows: slice = slice(None)) -> None:
        for part in ("weight", "bias"):
            found[f"{ours}.{part}"] = variables[f"{theirs}/{part}"][rows]

    def norm(ours: str, theirs: str) -> None:
        found[f"{ours}.weight"], found[f"{ours}.bias"] = variables[f"{theirs}/gamma"], variables[f"{theirs}/beta"]

    for side in ("encoder", "decoder"):
        for i in range(layers):
            layer, theirs = f"model.{side}.layers.{i}", f"{side}/layer_{i}"
            d = CONFIG["d_model"]
            for n, name in enumerate(("q_proj", "k_proj", "v_proj")):
                put(f"{layer}.self_attn.{name}", f"{theirs}/self_attention/linear_0", slice(n * d, (n + 1) * d))
            put(f"{layer}.self_attn.out_proj", f"{theirs}/self_attention/linear_1")
            norm(f"{layer}.self_attn_layer_norm", f"{theirs}/self_attention/layer_norm")
            if side == "decoder":
                put(f"{layer}.encoder_attn.q_proj", f"{theirs}/attention/linear_0")
                put(f"{layer}.encoder_attn.k_proj", f"{theirs}/attention/linear_1", slice(0, d))
                put(f"{layer}.encoder_attn.v_proj", f"{theirs}/attention/linear_1", slice(d, 2 * d))
                put(f"{layer}.encoder_attn.out_proj", f"{theirs}/attention/linear_2")
                norm(f"{layer}.encoder_attn_layer_norm", f"{theirs}/attention/layer_norm")
            put(f"{layer}.fc1", f"{theirs}/ffn/linear_0")
            put(f"{layer}.fc2", f"{theirs}/ffn/linear_1")
            norm(f"{layer}.final_layer_norm", f"{theirs}/ffn/layer_norm")
        norm(f"model.{side}.layer_norm", f"{side}/layer_norm")
        if f"{side}/layernorm_embedding/gamma" in variables:  # mBART's
            norm(f"model.{side}.layernorm_embedding", f"{side}/layernorm_embedding")
            table = variables[f"{side}/position_encodings/encodings"]
            found[f"model.{side}.embed_positions.weight"] = numpy.concatenate([table[:2] * 0, table])
    return {name: numpy.ascontiguousarray(value) for name, value in found.items()}


def save_safetensors(path: Path, tensors: dict[str, numpy.ndarray]) -> None:
    header, at = {}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [at, at + value.nbytes]}
        at += value.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(value.tobytes() for value in tensors.values()))


def save_pickle(path: Path, tensors: dict[str, numpy.ndarray]) -> None:
    torch = pytest.importorskip("torch")
    torch.save({name: torch.from_numpy(value) for name, value in tensors.items()}, path)


def save_weights(folder: Path, tensors: dict[str, numpy.ndarray], container: str) -> None:
    """container: model.safetensors or pytorch_model.bin; `, parts` at the end splits it into two files."""
    name, _, parts = container.partition(", ")
    save = save_safetensors if name == "model.safetensors" else save_pickle
    if not parts:
        save(folder / name, tensors)
        return
    stem, ending = name.split(".")
    names, files = list(tensors), [f"{stem}-0000{i}-of-00002.{ending}" for i in (1, 2)]
    for i, file in enumerate(files):
        save(folder / file, {key: tensors[key] for key in names[i::2]})
    (folder / f"{name}.index.json").write_text(
        json.dumps({"weight_map": {key: files[i % 2] for i, key in enumerate(names)}}))


@pytest.fixture
def model() -> tuple[Shape, dict[str, numpy.ndarray]]:
    """A model for NLLB-200's tokens, which are as many as M2M-100's."""
    shape = Shape(layers=2, size=32, heads=4, filter=64, positions=64, shared=True, words=tokens_of("nllb"))
    variables = variables_of(shape, numpy.random.default_rng(5))
    for side in ("encoder", "decoder"):
        variables[f"{side}/position_encodings/encodings"] = positions(shape.positions, shape.size)
    variables["decoder/projection/bias"] *= 0  # the model in transformers has no bias
    return shape, variables


def write_huggingface(folder: Path, kind: str, tensors: dict[str, numpy.ndarray], container: str,
                      ids: bool = False) -> None:
    """ids: tokenizer_config.json has the ids of the languages; otherwise their order determines them."""
    folder.mkdir(parents=True)
    languages = LANGUAGES[kind]
    own = {"model_type": "mbart", "normalize_before": True, "normalize_embedding": True,
           "add_final_layer_norm": True, "static_position_embeddings": False} if kind == "mbart" else {}
    (folder / "config.json").write_text(json.dumps(CONFIG | own | {"vocab_size": len(tokens_of(kind))}))
    save_weights(folder, tensors, container)
    shutil.copy(SPM, folder / "sentencepiece.bpe.model")
    if kind == "m2m":
        (folder / "vocab.json").write_text(
            json.dumps({token: i for i, token in enumerate(tokens_of(kind)[:4 + len(pieces())])}))
    numbered = {str(i): {"content": token} for i, token in enumerate(tokens_of(kind)) if token in languages}
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": numbered} if ids else {}))
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": sorted(languages)
                                                                if not ids else [{"content": token}
                                                                                 for token in reversed(languages)]}))


def run(*arguments: object, text: str | None = None) -> subprocess.CompletedProcess:
    if not ALIGND.exists():
        pytest.skip("alignd is not built")
    return subprocess.run([ALIGND, *arguments], input=text, capture_output=True, text=True)


def imported(folder: Path, out: Path, *flags: str) -> str:
    done = run("import", folder, "--into", out.parent, "--name", out.name, *flags)
    assert done.returncode == 0, done.stderr
    return done.stdout


def answers(client: Daemon, source: str, target: str) -> tuple[list[list[str]], list[float]]:
    """Returns the tokens and scores of three hypotheses for each line."""
    options = {"model": client.model, "source": source, "target": target, "beam_size": 3, "n_best": 3,
               "include": ["tokens"], "digits": 9, "verbatim": True}
    reply = client.request("/translate", options | {"text": TEXT.splitlines(), "split_sentences": False})
    found = [hypothesis for translation in reply["translations"]
             for hypothesis in translation["sentences"][0]["hypotheses"]]
    return [hypothesis["tokens"] for hypothesis in found], [hypothesis["score"] for hypothesis in found]


@pytest.mark.parametrize(("kind", "container", "ids"),
                         [("nllb", "model.safetensors", False), ("nllb", "model.safetensors, parts", True),
                          ("m2m", "pytorch_model.bin", True), ("m2m", "pytorch_model.bin, parts", False),
                          ("mbart", "model.safetensors", False), ("mbart", "pytorch_model.bin", True)])
def test_both_folders_are_one_model(tmp_path: Path, model: tuple[Shape, dict[str, numpy.ndarray]], kind: str,
                                    container: str, ids: bool) -> None:
    shape, variables = model
    shape.words = tokens_of(kind)
    if kind == "mbart":
        shape.first_norm = True
        variables = variables_of(shape, numpy.random.default_rng(6))
        variables["decoder/projection/bias"] *= 0
    write_model(tmp_path / "ct2", shape, variables=variables, decoder_start_token="</s>")
    shutil.copy(SPM, tmp_path / "ct2" / "sentencepiece.bpe.model")
    write_huggingface(tmp_path / "hf", kind, torch_names(variables, shape.layers), container, ids)
    imported(tmp_path / "ct2", tmp_path / "models" / "ct2")
    said = imported(tmp_path / "hf", tmp_path / "models" / "hf")
    assert "it translates between 5 languages" in said
    models = tmp_path / "models"
    with daemon(ALIGND, models / "hf",
                Variant("float32", ["--compute", "float32", "--model", str(models / "ct2")])) as url:
        for source, target in (("en", "fr"), ("zh-Hans" if kind == "nllb" else "zh", "de")):
            words, scores = answers(Daemon(url, "hf"), source, target)
            others, given = answers(Daemon(url, "ct2"), source, target)
            assert words == others and len(words) == 6
            assert numpy.allclose(scores, given, atol=2e-4)
    configs = [json.loads((tmp_path / "models" / name / "config.json").read_text()) for name in ("ct2", "hf")]
    assert configs[0]["languages"] == configs[1]["languages"] and configs[1]["decoder"]["first_input"] == "eos"
    assert ((tmp_path / "models" / "hf" / "joint.vocab").read_text() == (tmp_path / "models" / "ct2" / "joint.vocab")
            .read_text())


def header_of(path: Path) -> dict:
    content = path.read_bytes()
    return json.loads(content[8:8 + struct.unpack("<Q", content[:8])[0]])


def list_of(path: Path, name: str) -> list[int]:
    content = path.read_bytes()
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    first, end = header_of(path)[name]["data_offsets"]
    return numpy.frombuffer(content[begin + first:begin + end], numpy.int32).tolist()


@pytest.mark.parametrize("container", ["hf", "ct2"])
def test_lists_by_script(tmp_path: Path, model: tuple[Shape, dict[str, numpy.ndarray]], container: str) -> None:
    shape, variables = model
    write_model(tmp_path / "ct2", shape, variables=variables, decoder_start_token="</s>")
    shutil.copy(SPM, tmp_path / "ct2" / "sentencepiece.bpe.model")
    write_huggingface(tmp_path / "hf", "nllb", torch_names(variables, shape.layers), "model.safetensors")
    assert ", lists of languages" in imported(tmp_path / container, tmp_path / "models" / "m")
    folder, tokens = tmp_path / "models" / "m", tokens_of("nllb")
    config = json.loads((folder / "config.json").read_text())
    assert ({code: language["list"] for code, language in config["languages"].items()}
            == {"de": "Latn", "en": "Latn", "fr": "Latn", "ru": "Cyrl", "zh-Hans": "Hans"})
    assert not config.get("defaults", {}).get("shortlist")  # not by default, because the vocabulary is small
    languages = {tokens.index(token) for token in NLLB}
    for name in ("Latn", "Cyrl", "Hans"):
        # All pieces consist of letters.
        assert set(list_of(folder / "shortlist.safetensors", f"list.{name}")) == set(range(len(tokens))) - languages
    done = run("translate", "--model", folder, "--from", "en", "--to", "ru", "--shortlist", "--compute", "int8",
               text=TEXT)
    assert (done.returncode == 0 and len(done.stdout.splitlines()) == 2
            and not any(token in done.stdout for token in NLLB))
    said = imported(tmp_path / container, tmp_path / "models" / "none", "--no-shortlist")
    assert "lists of languages" not in said and not (tmp_path / "models" / "none" / "shortlist.safetensors").exists()
    assert "list" not in json.loads((tmp_path / "models" / "none" / "config.json").read_text())["languages"]["de"]


@pytest.fixture
def folder(tmp_path: Path, model: tuple[Shape, dict[str, numpy.ndarray]]) -> Path:
    """An imported model of many languages."""
    shape, variables = model
    write_huggingface(tmp_path / "hf", "nllb", torch_names(variables, shape.layers), "model.safetensors")
    imported(tmp_path / "hf", tmp_path / "models" / "m")
    return tmp_path / "models" / "m"


def counted(text: str) -> dict[int, int]:
    """The number of occurrences of each id in the text."""
    tokens, processor = tokens_of("nllb"), pytest.importorskip("sentencepiece").SentencePieceProcessor(
        model_file=str(SPM))
    found = [tokens.index(piece) for piece in processor.encode(text, out_type=str) if piece in tokens]
    return {id: found.count(id) for id in set(found)}


def spelling() -> set[int]:
    """The ids of </s>, <unk>, and of pieces with one character or only the white space mark; all are Latin."""
    return {2, 3} | {id for id, token in enumerate(tokens_of("nllb")) if len(token.removeprefix("\u2581")) <= 1}


def same_as_manifest(folder: Path) -> bool:
    files = json.loads((folder / "manifest.json").read_text())["files"]
    return (bool(files) and all(hashlib.sha256((folder / name).read_bytes()).hexdigest() == entry["sha256"]
                                for name, entry in files.items()))


def test_counted_lists(folder: Path) -> None:
    before, others = json.loads((folder / "config.json").read_text()), header_of(folder / "shortlist.safetensors")
    former = run("translate", "--model", folder, "--from", "en", "--to", "de", "--shortlist", text=TEXT).stdout
    done = run("shortlist", "--model", folder, "--to", "fra_Latn", "--share", "1", text=TEXT)  # fra_Latn is an alias
    assert done.returncode == 0, done.stderr
    expected = set(counted(TEXT)) | spelling()
    assert (f"list.fr has {len(expected)} pieces: {len(counted(TEXT))} by their counts and" in done.stdout
            and "make up 100.0000 %" in done.stdout)
    assert "lists are used with --shortlist" in done.stdout  # not by default, because the vocabulary is small
    assert list_of(folder / "shortlist.safetensors", "list.fr") == sorted(expected)
    config = json.loads((folder / "config.json").read_text())
    assert (config["languages"]["fr"].pop("list") == "fr" and before["languages"]["fr"].pop("list") == "Latn"
            and config == before)
    assert set(header_of(folder / "shortlist.safetensors")) == set(others) | {"list.fr"}
    assert same_as_manifest(folder) and "shortlist.safetensors" in (folder / "manifest.json").read_text()
    assert run("translate", "--model", folder, "--from", "en", "--to", "de", "--shortlist", text=TEXT).stdout == former

    # The server chooses from the list, and a second count replaces the list.
    tokens = tokens_of("nllb")
    for text in (TEXT, "home\n"):
        assert run("shortlist", "--model", folder, "--to", "fr", "--count", "1", text=text).returncode == 0
        listed = set(list_of(folder / "shortlist.safetensors", "list.fr"))
        assert len(listed - spelling()) <= 1
        with daemon(ALIGND, folder, Variant("float32", ["--compute", "float32", "--shortlist"])) as url:
            words, _ = answers(Daemon(url, "m"), "en", "fr")
        assert {tokens.index(word) for hypothesis in words for word in hypothesis} <= listed
    assert set(header_of(folder / "shortlist.safetensors")) == set(others) | {"list.fr"}


def test_shares_of_a_text(folder: Path) -> None:
    """The most frequent pieces that reach the share; of equally frequent ones those with lower ids."""
    text = "the cat is here .\n" * 6 + "i am at home\n" * 3
    counts = sorted(counted(text).items(), key=lambda pair: (-pair[1], pair[0]))
    for share in (0.5, 0.8):
        chosen, covered = set(), 0
        while covered < share * sum(counted(text).values()):
            id, count = counts[len(chosen)]
            chosen.add(id)
            covered += count
        assert run("shortlist", "--model", folder, "--to", "ru", "--share", str(share), text=text).returncode == 0
        assert set(list_of(folder / "shortlist.safetensors", "list.ru")) == chosen | spelling()


def test_texts_of_any_shape_are_counted(folder: Path, tmp_path: Path) -> None:
    """Lines longer than a block, also without blanks; byte order marks, CR LF, blank lines, no final line feed; several
    files."""
    words = "thecatisnothereiamathome"
    shapes = {"long": (TEXT.replace("\n", " ") * 5000).encode(), "unbroken": (words * 20000).encode(),
              "marked": b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n\r\n").encode(),
              "open": TEXT.strip().encode(), "wide": "\u4e00\U0001f600".encode() * 30000 + b"\n" + TEXT.encode()}
    lists = {}
    for name, content in shapes.items():
        (tmp_path / name).write_bytes(content)
        done = run("shortlist", "--model", folder, "--to", "fr", "--share", "1", tmp_path / name)
        assert done.returncode == 0, (name, done.stderr)
        lists[name] = list_of(folder / "shortlist.safetensors", "list.fr")
        assert list_of(folder / "shortlist.safetensors", "list.fr") == lists[name]
    assert lists["long"] == lists["marked"] == lists["open"] == lists["wide"] == sorted(set(counted(TEXT)) | spelling())
    assert set(lists["unbroken"]) >= set(counted(words)) | spelling()
    assert (run("shortlist", "--model", folder, "--to", "fr", "--share", "1", tmp_path / "unbroken", tmp_path / "open")
            .returncode == 0)
    assert set(list_of(folder / "shortlist.safetensors", "list.fr")) == set(lists["unbroken"]) | set(lists["open"])


def test_lists_are_made_at_the_same_time(folder: Path) -> None:
    (folder / "shortlist.safetensors").unlink()  # as with --no-shortlist
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"]["shortlist.safetensors"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    if not ALIGND.exists():
        pytest.skip("alignd is not built")
    codes = ["de", "en", "fr", "ru", "zh-Hans"]
    started = [subprocess.Popen([ALIGND, "shortlist", "--model", folder, "--to", code], stdin=subprocess.PIPE,
                                stdout=subprocess.DEVNULL) for code in codes]
    for process in started:
        process.communicate(TEXT.encode())
    assert [process.returncode for process in started] == [0] * len(codes)
    assert set(header_of(folder / "shortlist.safetensors")) == {"always", *(f"list.{code}" for code in codes)}
    assert ({code: language["list"] for code, language in json.loads((folder / "config.json").read_text())["languages"]
             .items()} == {code: code for code in codes})
    assert same_as_manifest(folder) and not list(folder.glob("*.new"))
    assert run("translate", "--model", folder, "--from", "en", "--to", "ru", "--shortlist", text=TEXT).returncode == 0


@pytest.mark.parametrize(("flags", "text", "message"), [
    (["--to", "es"], TEXT, 'model "m" has no language "es"'),
    (["--to", "fr"], "", "the text has no pieces of the vocabulary"),
    (["--to", "fr"], " \n\n", "the text has no pieces of the vocabulary"),
    (["--to", "fr"], TEXT + "caf\udce9\n", "standard input, line 3: is not UTF-8"),
    (["--to", "fr", "nowhere.txt"], "", "cannot open nowhere.txt: No such file or directory"),
    (["--to", "fr", "/"], "", "cannot read /: Is a directory"),
])
def test_texts_that_cannot_be_counted(folder: Path, flags: list[str], text: str, message: str) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = subprocess.run([ALIGND, "shortlist", "--model", folder, *flags], input=text.encode(errors="surrogateescape"),
                          capture_output=True)
    assert done.returncode == 1 and message in done.stderr.decode(), done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_folders_that_get_no_list(folder: Path) -> None:
    done = run("shortlist", "--model", ROOT / "weights" / "en-fr", "--to", "fr", text=TEXT)
    assert (done.returncode == 1
            and 'model "en-fr" has no languages: only a model of many languages has a list' in done.stderr)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config))  # differs from the file that the manifest lists
    done = run("shortlist", "--model", folder, "--to", "fr", text=TEXT)
    assert done.returncode == 1 and "config.json is not the file that manifest.json lists" in done.stderr
    (folder / "manifest.json").unlink()
    config["languages"]["de"]["list"] = "fr"
    (folder / "config.json").write_text(json.dumps(config))
    done = run("shortlist", "--model", folder, "--to", "fr", text=TEXT)
    assert (done.returncode == 1
            and "languages.de.list of config.json has the name of another language's list, fr" in done.stderr)
    (folder / "shortlist.safetensors").write_bytes(b"short")
    done = run("shortlist", "--model", folder, "--to", "en", text=TEXT)
    assert done.returncode == 1 and "header: the file is too short" in done.stderr
    assert not (folder / "manifest.json").exists() and not list(folder.glob("*.new"))


def test_licence(tmp_path: Path, model: tuple[Shape, dict[str, numpy.ndarray]]) -> None:
    shape, variables = model
    write_huggingface(tmp_path / "hf", "nllb", torch_names(variables, shape.layers), "model.safetensors")
    assert "licence:" not in imported(tmp_path / "hf", tmp_path / "models" / "none")
    assert not (tmp_path / "models" / "none" / "origin.json").exists()
    assert "licence: GPL-3.0\n" in imported(tmp_path / "hf", tmp_path / "models" / "named", "--licence", "GPL-3.0")
    (tmp_path / "hf" / "README.md").write_text("---\nlicense: cc-by-nc-4.0\n---\n")
    # The card takes precedence.
    assert "licence: CC BY-NC 4.0 (" in imported(tmp_path / "hf", tmp_path / "models" / "card", "--licence", "GPL-3.0")
    licences = {name: json.loads((tmp_path / "models" / name / "origin.json").read_text())["licence"]
                for name in ("named", "card")}
    assert licences == {"named": "GPL-3.0", "card": "CC BY-NC 4.0"}


def test_large_models_are_packed(tmp_path: Path) -> None:
    """A model of 34 million parameters: its packed weights equal its weights, and the translations are the same."""
    generator = ROOT / "tests" / "bench" / "many_model.py"
    subprocess.run([sys.executable, generator, tmp_path / "in", "--layers", "1", "--size", "512", "--filter", "512",
                    "--heads", "8", "--words", "60000"], check=True)
    said = imported(tmp_path / "in", tmp_path / "models" / "packed", "--max-target-ratio", "1")
    plain = imported(tmp_path / "in", tmp_path / "models" / "plain", "--max-target-ratio", "1", "--no-pack")
    assert "packed-" not in plain and not list((tmp_path / "models" / "plain").glob("packed-*"))
    assert "licence: CC BY-NC 4.0 (" in plain
    if "not packed: nothing is packed" in said:
        pytest.skip("OpenBLAS multiplies on this processor")
    assert len(list((tmp_path / "models" / "packed").glob("packed-int8-*.bin"))) == 1
    text = "".join((tmp_path / "in" / "source.txt").read_text(encoding="utf-8").splitlines(keepends=True)[:3])
    found = [run("translate", "--model", tmp_path / "models" / name, "--from", "en", "--to", "ru", "--shortlist=false",
                 text=text) for name in ("packed", "plain")]
    assert found[0].returncode == 0 and found[0].stdout == found[1].stdout


REFUSED = [
    (CONFIG | {"model_type": "mbart", "normalize_before": False}, "mBART has a norm before each block"),
    (CONFIG | {"model_type": "nllb-moe"}, "NLLB-MoE has feed-forward layers of experts"),
    (CONFIG | {"model_type": "llama"}, 'model_type "llama" is not supported'),
    (CONFIG | {"decoder_start_token_id": 3}, "decoder_start_token_id 3 is not the id of </s>"),
    (CONFIG | {"normalize_embedding": True}, "normalize_embedding true is not supported"),
    (CONFIG | {"encoder_layers": 1}, "unknown, so config.json does not describe this model"),
]


@pytest.mark.parametrize(("config", "message"), REFUSED)
def test_refusals(tmp_path: Path, model: tuple[Shape, dict[str, numpy.ndarray]], config: dict, message: str) -> None:
    shape, variables = model
    write_huggingface(tmp_path / "hf", "nllb", torch_names(variables, shape.layers), "model.safetensors")
    (tmp_path / "hf" / "config.json").write_text(json.dumps(config))
    done = run("import", tmp_path / "hf", "--into", tmp_path / "models")
    assert done.returncode == 1 and message in done.stderr
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize(("file", "content", "message"), [
    ("special_tokens_map.json", {}, "name no tokens of languages"),
    ("special_tokens_map.json", {"additional_special_tokens": NLLB + [f"x{i}" for i in range(9)]}, "but the model has"),
    ("tokenizer_config.json", {"added_tokens_decoder": {"4": {"content": "eng_Latn"}}},
     "eng_Latn has the id 4, and so has"),
    ("tokenizer_config.json", {"added_tokens_decoder": {"x": {"content": "eng_Latn"}}},
     "'x' must be an id with its content"),
    ("model.safetensors.index.json", {"weight_map": {"a": "../b"}}, "must be the name of a file in the folder"),
    ("model.safetensors.index.json", {"weight_map": {"a": "other.safetensors"}}, "a is not in other.safetensors"),
    ("model.safetensors.index.json", {}, "has no weight_map"),
])
def test_files_that_do_not_fit(tmp_path: Path, model: tuple[Shape, dict[str, numpy.ndarray]], file: str, content: dict,
                               message: str) -> None:
    shape, variables = model
    write_huggingface(tmp_path / "hf", "nllb", torch_names(variables, shape.layers), "model.safetensors")
    (tmp_path / "hf" / file).write_text(json.dumps(content))
    if file.endswith("index.json"):
        (tmp_path / "hf" / "model.safetensors").rename(tmp_path / "hf" / "other.safetensors")
    done = run("import", tmp_path / "hf", "--into", tmp_path / "models")
    assert done.returncode == 1 and message in done.stderr, done.stderr
    assert not (tmp_path / "models").exists()
