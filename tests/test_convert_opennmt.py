"""weights/conversion/convert_opennmt.py: python3 -m pytest -q tests/test_convert_opennmt.py

OpenNMT-py is not needed: made-up models have the same modules and names, are saved in its format, and are computed by a
small program that follows its sources. Checkpoints that cannot be converted must be refused with an error that names
the reason, and those that would run code, too.
"""

import argparse
import collections
import json
import subprocess
import sys
import types
from pathlib import Path

import pytest
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from weights.model import config as configuration  # noqa: E402
from weights.conversion import convert_opennmt, converted  # noqa: E402
from weights.evaluation import compute  # noqa: E402
from weights.model import folder, safetensors, storage  # noqa: E402
from weights.conversion.converted import ConversionError  # noqa: E402
from weights.evaluation.evaluate import Daemon  # noqa: E402
from weights.model.network import Model  # noqa: E402

SIZE, E = 6, (4, 5)
WORDS = (["<unk>", "<blank>", "a", "b", "c", "d", "e"], ["<unk>", "<blank>", "<s>", "</s>", "a", "c", "x", "y", "z"])
SHARED = (WORDS[1], WORDS[1])
SOURCE, TARGET = ["a", "d", "c", "unheard", "a", "d"], ["x", "a", "d", "z", "nowhere"]
HEAD = {"format": 1, "name": "made-up", "source": "en", "target": "fr"}


# ---- made-up models: OpenNMT-py's modules and names ----

def embeddings(words: list[str], size: int) -> nn.Module:
    module = nn.Module()
    module.make_embedding = nn.Sequential()
    module.make_embedding.add_module("emb_luts", nn.ModuleList([nn.Embedding(len(words), size)]))
    return module


class Stacked(nn.Module):
    def __init__(self, cell: type, inputs: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(cell(inputs if i == 0 else SIZE, SIZE) for i in range(layers))


class Attention(nn.Module):
    """onmt.modules.GlobalAttention, which never receives the coverage that it could read."""

    def __init__(self, kind: str, coverage: bool = False) -> None:
        super().__init__()
        self.kind = kind
        if kind == "general":
            self.linear_in = nn.Linear(SIZE, SIZE, bias=False)
        elif kind == "mlp":
            self.linear_context = nn.Linear(SIZE, SIZE, bias=False)
            self.linear_query = nn.Linear(SIZE, SIZE)
            self.v = nn.Linear(SIZE, 1, bias=False)
        self.linear_out = nn.Linear(2 * SIZE, SIZE, bias=kind == "mlp")
        if coverage:
            self.linear_cover = nn.Linear(1, SIZE, bias=False)

    def forward(self, s, h):
        if self.kind == "mlp":
            scores = self.v(torch.tanh(self.linear_query(s) + self.linear_context(h)))[:, 0]
        else:
            scores = h @ (self.linear_in(s) if self.kind == "general" else s)
        weights = torch.softmax(scores, 0)
        out = self.linear_out(torch.cat([weights @ h, s]))
        return (out if self.kind == "mlp" else torch.tanh(out)), weights


class Made(nn.Module):
    """Processes one sentence at a time."""

    def __init__(self, options: dict, words: tuple[list[str], list[str]]) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.o, self.words = options, words
        sizes = ((options.get("tgt_word_vec_size", E[1]),) * 2 if options.get("share_embeddings")
                 else (E[0], options.get("tgt_word_vec_size", E[1])))
        kind, layers, both = options["rnn_type"], options["layers"], options["encoder_type"] == "brnn"
        self.encoder, self.decoder = nn.Module(), nn.Module()
        self.encoder.embeddings, self.decoder.embeddings = embeddings(words[0],
                                                                      sizes[0]), embeddings(words[1], sizes[1])
        if options.get("share_embeddings"):
            self.encoder.embeddings.make_embedding[0][0].weight = self.decoder.embeddings.make_embedding[0][0].weight
        module = {"LSTM": nn.LSTM, "GRU": nn.GRU}[kind]
        self.encoder.rnn = module(sizes[0], SIZE // (1 + both), layers, bidirectional=both)
        self.fed = options.get("input_feed", 1)
        cell = {"LSTM": nn.LSTMCell, "GRU": nn.GRUCell}[kind]
        self.decoder.rnn = Stacked(cell, sizes[1] + SIZE, layers) if self.fed else module(sizes[1], SIZE, layers)
        self.decoder.attn = Attention(options["global_attention"], options["coverage_attn"])
        self.own = options.get("copy_attn") and not options.get("reuse_copy_attn")
        if self.own:
            self.decoder.copy_attn = Attention(options.get("copy_attn_type") or options["global_attention"])
        self.generator = nn.Sequential(nn.Linear(SIZE, len(words[1])), nn.LogSoftmax(-1))
        if options.get("copy_attn"):
            self.generator = nn.Module()
            self.generator.linear, self.generator.linear_copy = nn.Linear(SIZE, len(words[1]),
                                                                          bias=False), nn.Linear(SIZE, 1)
        if options.get("share_decoder_embeddings"):
            matrix = self.generator.linear if options.get("copy_attn") else self.generator[0]
            matrix.weight = self.decoder.embeddings.make_embedding[0][0].weight
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.7)
        self.double()

    def index(self, side: int, word: str) -> int:
        return self.words[side].index(word) if word in self.words[side] else 0

    def step(self, y, states, feed):
        x, found = torch.cat([y, feed])[None], []
        for cell, state in zip(self.decoder.rnn.layers, states):
            found.append(cell(x, state))
            x = found[-1][0] if isinstance(found[-1], tuple) else found[-1]
        return x[0], found

    def states(self, final):
        """The encoder's final states, with both directions concatenated, one per layer."""
        both = self.o["encoder_type"] == "brnn"
        parts = [torch.cat([part[0::2], part[1::2]], -1) if both else part
                 for part in (final if isinstance(final, tuple) else (final,))]
        return parts

    def probabilities(self, out, weights, source):
        """Probabilities of the vocabulary, followed by those of the source words outside it, in their order."""
        if not self.o.get("copy_attn"):
            return torch.softmax(self.generator[0](out), -1), []
        logits = self.generator.linear(out)
        logits[self.words[1].index("<blank>")] = -float("inf")
        copy = torch.sigmoid(self.generator.linear_copy(out))
        p = torch.softmax(logits, -1) * (1 - copy)
        own = [word for word in dict.fromkeys(source) if word not in self.words[1]]
        p = torch.cat([p, p.new_zeros(len(own))])
        for word, weight in zip(source, weights):
            p[self.words[1].index(word) if word in self.words[1] else len(self.words[1])
              + own.index(word)] += weight * copy[0]
        return p, own

    @torch.no_grad()
    def forced(self, source, target):
        """Returns the log-probabilities of the target and </s>, and the attention."""
        ids = torch.tensor([self.index(0, word) for word in source])
        h, final = self.encoder.rnn(self.encoder.embeddings.make_embedding[0][0](ids)[:, None])
        h, parts = h[:, 0], self.states(final)
        states = [tuple(part[i] for part in parts) if len(parts) == 2 else parts[0][i] for i in range(self.o["layers"])]
        feed, scores, rows = h.new_zeros(SIZE), [], []
        tops = None
        if not self.fed:
            inputs = torch.tensor([self.index(1, word) for word in ["<s>", *target]])
            tops = self.decoder.rnn(self.decoder.embeddings.make_embedding[0][0](inputs)[:, None],
                                    tuple(parts) if len(parts) == 2 else parts[0])[0][:, 0]
        for i, word in enumerate([*target, "</s>"]):
            if self.fed:
                y = self.decoder.embeddings.make_embedding[0][0](torch.tensor(self.index(1, ["<s>", *target][i])))
                s, states = self.step(y, states, feed)
            else:
                s = tops[i]
            feed, weights = self.decoder.attn(s, h)
            p, own = self.probabilities(feed, self.decoder.copy_attn(feed, h)[1] if self.own else weights, source)
            scores.append(p[len(self.words[1]) + own.index(word) if word in own else self.index(1, word)].log())
            rows.append(weights)
        return torch.stack(scores), torch.stack(rows)


BASE = {"model_type": "text", "encoder_type": "brnn", "decoder_type": "rnn", "rnn_type": "LSTM", "layers": 1,
        "global_attention": "general",
        "bridge": False, "coverage_attn": False, "context_gate": None, "copy_attn": False, "batch_size": 64}
COPY = {"copy_attn": True, "reuse_copy_attn": True}
OWN = {"copy_attn": True, "reuse_copy_attn": False}
MODELS = {
    "lstm": BASE,
    "gru-two": BASE | {"rnn_type": "GRU", "layers": 2},
    "forward-dot": BASE | {"encoder_type": "rnn", "global_attention": "dot", "layers": 2},
    "mlp": BASE | {"global_attention": "mlp"},
    "mlp-gru-unfed": BASE | {"global_attention": "mlp", "rnn_type": "GRU", "input_feed": 0, "layers": 2},
    "unfed": BASE | {"input_feed": 0, "layers": 3},
    "copy": BASE | COPY,
    "copy-mlp-gru": BASE | COPY | {"global_attention": "mlp", "rnn_type": "GRU", "layers": 2},
    "copy-own": BASE | OWN,
    "copy-own-gru": BASE | OWN | {"rnn_type": "GRU", "layers": 2, "encoder_type": "rnn", "global_attention": "dot"},
    "copy-own-other": BASE | OWN | {"global_attention": "mlp", "copy_attn_type": "dot",
                                    "share_decoder_embeddings": True, "tgt_word_vec_size": SIZE},
    "coverage": BASE | {"coverage_attn": True},
    "coverage-copy": BASE | OWN | {"coverage_attn": True, "global_attention": "mlp", "copy_attn_type": "general"},
    "tied": BASE | {"share_decoder_embeddings": True, "tgt_word_vec_size": SIZE},
    "shared": BASE | COPY | {"share_embeddings": True, "share_decoder_embeddings": True, "tgt_word_vec_size": SIZE},
}


# ---- checkpoints ----

def _class(module: str, name: str) -> type:
    """Creates a class where pickle finds it, for the duration of a test."""
    for end in (i for i, character in enumerate(module + ".") if character == "."):
        sys.modules.setdefault(module[:end], types.ModuleType(module[:end]))
    if not hasattr(sys.modules[module], name):
        setattr(sys.modules[module], name, type(name, (), {"__module__": module}))
    return getattr(sys.modules[module], name)


def vocab_of(words: list[str]) -> object:
    vocab = _class("torchtext.vocab", "Vocab")()
    vocab.__dict__ |= {"itos": words, "stoi": dict(zip(words, range(99))), "freqs": collections.Counter(words)}
    return vocab


def field_of(words: list[str], features: int = 0) -> object:
    fields = []
    for i in range(1 + features):
        field = _class("torchtext.data.field", "Field")()
        field.vocab = vocab_of(words)
        fields.append((f"f{i}", field))
    several = _class("onmt.inputters.text_dataset", "TextMultiField")()
    several.fields = fields
    return several


VOCABULARIES = {
    "0.x": lambda sides: [("src", vocab_of(sides[0])), ("tgt", vocab_of(sides[1]))],
    "1.x": lambda sides: {"src": field_of(sides[0]), "tgt": field_of(sides[1]),
                          "indices": _class("torchtext.data.field", "Field")()},
    "3.x": lambda sides: {"src": sides[0], "tgt": sides[1], "src_feats": {}, "data_task": "seq2seq",
                          "decoder_start_token": "<s>"},
}


@pytest.fixture(autouse=True)
def _forget_modules():
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("onmt", "torchtext")):
            del sys.modules[name]


def save(path: Path, made: Made, vocab: object, change=None, legacy: bool = False) -> Path:
    state = {name: tensor.float() for name, tensor in made.state_dict().items()}
    checkpoint = {"model": {n: t for n, t in state.items() if not n.startswith("generator.")},
                  "generator": {n.removeprefix("generator."): t for n, t in state.items()
                                if n.startswith("generator.")},
                  "vocab": vocab, "opt": argparse.Namespace(**made.o), "optim": {"state": collections.defaultdict(int)}}
    if change:
        change(checkpoint)
    torch.save(checkpoint, path, _use_new_zipfile_serialization=not legacy)
    for name in [name for name in sys.modules if name.startswith(("onmt", "torchtext"))]:
        del sys.modules[name]  # as if the modules were not installed
    return path


def words_of(options: dict) -> tuple[list[str], list[str]]:
    return SHARED if options.get("share_embeddings") else WORDS


def convert(path: Path, out: Path, kind: str = "float32") -> Path:
    converted.write(out, convert_opennmt.convert(convert_opennmt.load(path), dict(HEAD), path.name), kind)
    return out


def forced(out: Path, words: tuple[list[str], list[str]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Computes the converted model in PyTorch, with ids looked up without a tokenizer."""
    model = Model(configuration.validate(json.loads((out / "config.json").read_text(encoding="utf-8"))), len(words[0]),
                  len(words[1])).eval()
    folder.load_tensors(model, storage.expand(safetensors.read(out / "model.safetensors")[0]))
    model.double()
    own = [word for word in dict.fromkeys(SOURCE) if word not in words[1]]
    copies = model.output.copies

    def target(word: str) -> int:
        return (words[1].index(word) if word in words[1] else len(words[1]) + own.index(word) if copies and word in own
                else 0)

    ids = torch.tensor([[words[0].index(word) if word in words[0] else 0 for word in SOURCE]])
    with torch.no_grad():
        memory, state = model.encode(ids, torch.tensor([len(SOURCE)]), torch.tensor([[target(word) for word in SOURCE]])
                                     if copies else None)
        reads = model.teach(torch.tensor([[target(word) for word in ["<s>", *TARGET]]]), state, memory)
        log_probs = model.output.log_probs(reads, memory)[0]
    return torch.stack([log_probs[i, target(word)] for i, word in enumerate([*TARGET, "</s>"])]), reads.weights[0]


@pytest.mark.parametrize("name", MODELS)
def test_opennmt_formulas(tmp_path, name):
    words = words_of(MODELS[name])
    made = Made(MODELS[name], words)
    for parameter in made.parameters():  # rounds as the checkpoint does
        parameter.data = parameter.data.float().double()
    out = convert(save(tmp_path / "model.pt", made, VOCABULARIES["1.x"](words)), tmp_path / "out")
    scores, rows = forced(out, words)
    wanted, attention = made.forced(SOURCE, TARGET)
    torch.testing.assert_close(scores, wanted, atol=1e-9, rtol=0)
    torch.testing.assert_close(rows, attention, atol=1e-9, rtol=0)
    assert (out / ("joint.vocab" if words is SHARED else "source.vocab")).read_text().split() == words[0]


@pytest.mark.parametrize("form", VOCABULARIES)
@pytest.mark.parametrize("legacy", [False, True])
def test_opennmt_checkpoints_of_all_times(tmp_path, form, legacy):
    made = Made(BASE, WORDS)

    def newer(checkpoint: dict) -> None:  # in 3.x the generator is a single layer
        checkpoint["generator"] = {name.removeprefix("0."): tensor for name, tensor in checkpoint["generator"].items()}

    out = convert(save(tmp_path / "model.pt", made, VOCABULARIES[form](WORDS), newer if form == "3.x" else None,
                       legacy), tmp_path / "out", "bfloat16")
    assert (out / "target.vocab").read_text().split() == WORDS[1]
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    assert config["encoder"]["eos"] is False and config["decoder"]["input_feeding"] is True


ALIGND = Path("build/alignd")


@pytest.mark.skipif(not ALIGND.exists(), reason="the server is not built")
@pytest.mark.parametrize("name", ["copy", "unfed", "mlp", "shared", "copy-own-other", "coverage-copy"])
def test_opennmt_served(tmp_path, name):
    """The command line, and the server's scores and attention for a given target; the source's vocabulary has no
    </s>."""
    made, words = Made(MODELS[name], words_of(MODELS[name])), words_of(MODELS[name])
    command = [sys.executable, "-m", "weights.conversion.convert_opennmt",
               save(tmp_path / "model.pt", made, VOCABULARIES["1.x"](words)),
               "--output", tmp_path / "model", "--source", "en", "--target", "fr"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "tensors" in printed
    for dropped in ("decoder.attn.linear_cover.weight", "decoder.copy_attn.linear_out.weight"):
        assert (f"dropped: {dropped}, which nothing reads" in printed) == (dropped in made.state_dict())
    with compute.daemon(ALIGND, tmp_path / "model", compute.Variant(name, [])) as url:
        body = {"text": " ".join(SOURCE), "translation": " ".join(TARGET), "include": ["log_probs", "attention", "eos"],
                "digits": 9}
        sentence = Daemon(url, "model").request("/attention", body)["results"][0]["sentences"][0]
    scores, attention = made.forced(SOURCE, TARGET)
    torch.testing.assert_close(torch.tensor(sentence["log_probs"]).double(), scores, atol=1e-4, rtol=0)
    torch.testing.assert_close(torch.tensor(sentence["attention"]).double(), attention, atol=1e-5, rtol=0)


# ---- refused checkpoints ----

@pytest.mark.parametrize("change, message", [
    ({"encoder_type": "transformer"}, "option encoder_type: transformer is not supported"),
    ({"decoder_type": "cnn"}, "option decoder_type: cnn"),
    ({"encoder_type": "mean"}, "option encoder_type: mean"), ({"rnn_type": "SRU"}, "option rnn_type: SRU"),
    ({"model_type": "audio"}, "option model_type: audio"),
    ({"bridge": True}, "option bridge: True is not supported"), ({"context_gate": "both"}, "option context_gate: both"),
    ({"coverage_attn": "fertility"}, "option coverage_attn: fertility is not supported: must be on or off"),
    ({"brnn_merge": "sum"}, "option brnn_merge: sum"),
    ({"global_attention": "none"}, "option global_attention: none"),
    ({"global_attention_function": "sparsemax"}, "option global_attention_function: sparsemax"),
    ({"generator_function": "sparsemax"}, "option generator_function: sparsemax"),
    ({"position_encoding": True}, "option position_encoding: True"),
    (OWN | {"copy_attn_type": "mlp"},
     "option copy_attn_type: mlp is not supported without reuse_copy_attn: alignd does not support a second additive"),
    (OWN | {"global_attention": "mlp"}, "option copy_attn_type: mlp is not supported without reuse_copy_attn"),
    ({"model_task": "lm"}, "option model_task: lm"),
    ({"copy_attn_type": "none"}, "option copy_attn_type: none"),
    ({"position_encoding_type": "Rotary"}, "option position_encoding_type: Rotary"),
])
def test_opennmt_options_refused(tmp_path, change, message):
    made = Made(BASE, WORDS)
    made.o = BASE | change
    with pytest.raises(ConversionError, match=message):
        convert(save(tmp_path / "model.pt", made, VOCABULARIES["3.x"](WORDS)), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def _without(name: str):
    return lambda checkpoint: checkpoint["model"].pop(name)


def _with(name: str, tensor: object):
    return lambda checkpoint: checkpoint["model"].update({name: tensor})


@pytest.mark.parametrize("change, message", [
    (_without("encoder.rnn.bias_hh_l0"), "encoder.rnn.bias_hh_l0: missing"),
    (_with("decoder.secret", torch.zeros(2)), "decoder.secret: unknown"),
    (_with("decoder.attn.linear_in.weight", torch.zeros(2, 2)),
     r"decoder.attn.linear_in.weight: shape \(2, 2\), expected \(6, 6\)"),
    (_with("decoder.attn.linear_in.weight", torch.zeros(6, 6, dtype=torch.int8)),
     "decoder.attn.linear_in.weight: holds Char numbers"),
    (_with("decoder.attn.linear_in.weight", torch.full((6, 6), torch.nan)),
     "decoder.attn.linear_in.weight: has values that are not numbers"),
    (_with("decoder.attn.linear_in.weight", "x"), "decoder.attn.linear_in.weight: is not a tensor"),
    (_with("encoder.embeddings.make_embedding.emb_luts.1.weight", torch.zeros(3, 2)), "emb_luts.1.weight: unknown"),
    (_with("decoder.copy_attn.linear_out.weight", torch.zeros(6, 12)), "decoder.copy_attn.linear_out.weight: unknown"),
    (_with("decoder.attn.linear_cover.weight", torch.zeros(6, 1)), "decoder.attn.linear_cover.weight: unknown"),
    (lambda checkpoint: checkpoint.pop("generator"), "not a checkpoint of OpenNMT-py"),
    (lambda checkpoint: checkpoint["vocab"].pop("tgt"), "vocab: has no tgt"),
    (lambda checkpoint: checkpoint["vocab"].update(src=3), "vocab: has an unknown form"),
    (lambda checkpoint: checkpoint["vocab"].update(decoder_start_token="</s>"),
     "decoder_start_token: </s> is not supported"),
    (lambda checkpoint: checkpoint["vocab"].update(src_feats={"case": ["a"]}),
     "src_feats: alignd does not have features"),
    (lambda checkpoint: checkpoint["vocab"].update(src=WORDS[0][:-1] + ["d d"]),
     "vocab: src: line 7 contains white space"),
    (lambda checkpoint: checkpoint["vocab"].update(tgt=[w for w in WORDS[1] if w != "</s>"] + ["w"]),
     "vocab: tgt: </s> is missing"),
    (lambda checkpoint: checkpoint["vocab"].update(tgt=WORDS[1][:-1]),
     r"decoder.embeddings.*: shape \(9, 5\), expected \(8, 5\)"),
])
def test_opennmt_checkpoints_refused(tmp_path, change, message):
    path = save(tmp_path / "model.pt", Made(BASE, WORDS), VOCABULARIES["3.x"](WORDS), change)
    with pytest.raises(ConversionError, match=message):
        convert(path, tmp_path / "out")


def test_opennmt_features_and_sharing(tmp_path):
    vocab = {"src": field_of(WORDS[0], features=1), "tgt": field_of(WORDS[1])}
    with pytest.raises(ConversionError, match="has features"):
        convert(save(tmp_path / "model.pt", Made(BASE, WORDS), vocab), tmp_path / "out")
    name = "generator.linear.weight"

    def apart(checkpoint: dict) -> None:
        checkpoint["generator"]["linear.weight"] = checkpoint["generator"]["linear.weight"] + 1

    with pytest.raises(ConversionError, match=f"{name}: differs from decoder.embeddings"):
        convert(save(tmp_path / "model.pt", Made(MODELS["shared"], SHARED), VOCABULARIES["3.x"](SHARED), apart),
                tmp_path / "out")


class Evil:
    """Would run code on loading."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return exec, (f"open({str(self.path)!r}, 'w').write('x')",)


@pytest.mark.parametrize("legacy", [False, True])
def test_opennmt_checkpoints_run_no_code(tmp_path, legacy):
    def poison(checkpoint: dict) -> None:
        checkpoint["optim"] = Evil(tmp_path / "ran")

    convert(save(tmp_path / "model.pt", Made(BASE, WORDS), VOCABULARIES["3.x"](WORDS), poison, legacy),
            tmp_path / "out")
    assert not (tmp_path / "ran").exists() and (tmp_path / "out").exists()


def test_opennmt_torn_checkpoints(tmp_path):
    path = save(tmp_path / "model.pt", Made(BASE, WORDS), VOCABULARIES["3.x"](WORDS))
    content = path.read_bytes()
    for damaged in (b"", b"text", content[:300], content[:len(content) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(ConversionError, match="not a whole checkpoint"):
            convert(path, tmp_path / "out")
