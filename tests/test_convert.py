"""Recurrent models of Marian and Nematus, imported: python3 -m pytest -q tests/test_convert.py

Made-up models of every supported kind, written as Marian writes them, are compared with Marian's formulas in NumPy and
float64, which share no code with the importer; and invalid files must be refused with an error that names the reason.
tests/model/import has the cases of each reader.
"""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from imported import ALIGND, Refused, command, imported, into  # noqa: E402
from weights.model import config as configuration  # noqa: E402
from weights.conversion import convert_opennmt  # noqa: E402
from weights.evaluation import compute  # noqa: E402
from weights.model import folder, safetensors, storage  # noqa: E402
from weights.evaluation.evaluate import Daemon, open_pytorch  # noqa: E402
from weights.model.network import Model  # noqa: E402

E, D, V = 5, 4, (9, 11)  # sizes of embeddings, states and vocabularies
SOURCE, TARGET = [3, 1, 8, 3, 2, 0], [4, 10, 1, 4]


# ---- made-up models ----

class Maker:
    """The tensors of a file of type s2s, with random numbers."""

    def __init__(self, options: dict, seed: int) -> None:
        self.o, self.random, self.t = {k: str(v) for k, v in options.items()}, numpy.random.default_rng(seed), {}
        self.norm = self.flag("layer-normalization")
        self.nematus = self.o["type"] == "nematus"
        self.make()

    def flag(self, name: str) -> bool:
        return self.o.get(name) == "true"

    def number(self, name: str, default: int) -> int:
        return int(self.o.get(name, default))

    def put(self, name: str, *shape: int, around: float = 0.0) -> None:
        self.t[name] = (around + 0.9 * self.random.standard_normal(shape)).astype(numpy.float32)

    def cell(self, kind: str, prefix: str, inputs: int) -> None:
        parts = {"lstm": (("", 4),), "tanh": (("", 1),)}.get(kind, (("", 2), ("x", 1)))
        for end, gates in parts:
            self.put(f"{prefix}_U{end}", D, gates * D)
            self.put(f"{prefix}_b{end}", 1, gates * D)
            if inputs:
                self.put(f"{prefix}_W{end}", inputs, gates * D)
            for letter in "WU" if self.norm and self.nematus else "":
                if letter == "U" or inputs:
                    self.put(f"{prefix}_{letter}{end}_lns", 1, gates * D, around=1)
                    self.put(f"{prefix}_{letter}{end}_lnb", 1, gates * D)
        if self.norm and not self.nematus:
            width = sum(gates for _, gates in parts) * D
            for number in (1, 2) if inputs else (2,):
                self.put(f"{prefix}_gamma{number}", 1, width, around=1)

    def dense(self, prefix: str, number: str, inputs: int, out: int) -> None:
        self.put(f"{prefix}_W{number}", inputs, out)
        self.put(f"{prefix}_b{number}", 1, out)
        if self.norm:
            for name in ("ln_s", "ln_b") if self.nematus else ("gamma",):
                self.put(f"{prefix}_{name}{number}", 1, out, around=name != "ln_b")

    def make(self) -> None:
        together, depth = self.o.get("enc-type") == "bi-unidirectional", self.number("enc-depth", 1)
        for i in range(1, depth + 1):
            for j in range(1, self.number("enc-cell-depth", 1) + 1):
                if together and i > 1:
                    self.cell(self.o["enc-cell"], f"encoder_l{i}_cell{j}", 0 if j > 1 else 2 * D if i == 2 else D)
                    continue
                for stack in ("encoder_bi", "encoder_bi_r"):
                    name = stack + (f"_l{i}" if i > 1 else "") + (f"_cell{j}" if i > 1 or j > 1 else "")
                    self.cell(self.o["enc-cell"], name, 0 if j > 1 else E if i == 1 else D)
        self.a = D if together and depth > 1 else 2 * D
        for j in range(1, self.number("dec-cell-base-depth", 2) + 1):
            self.cell(self.o["dec-cell"], f"decoder_cell{j}", (E, self.a, 0)[min(j, 3) - 1])
        for i in range(2, self.number("dec-depth", 1) + 1):
            for j in range(1, self.number("dec-cell-high-depth", 1) + 1):
                self.cell(self.o["dec-cell"], f"decoder_l{i}_cell{j}", D if j == 1 else 0)
        for name, shape in (("Wc", (self.a, self.a)), ("W_comb", (D, self.a)), ("U", (self.a, 1)), ("b", (1, self.a))):
            self.put(f"decoder_{name}_att", *shape)
        if self.norm:
            for name in (("Wc_att_lns", "Wc_att_lnb", "W_comb_att_lns", "W_comb_att_lnb") if self.nematus
                         else ("att_gamma1", "att_gamma2")):
                self.put(f"decoder_{name}", 1, self.a, around=1)
        self.dense("decoder_ff_state", "", self.a, D)
        for i, inputs in enumerate((E, D, self.a)):
            self.dense("decoder_ff_logit_l1", str(i), inputs, E)
        if self.flag("tied-embeddings-all") or self.flag("tied-embeddings-src"):
            self.put("Wemb", V[1], E)
        else:
            self.put("encoder_Wemb", V[0], E)
            self.put("decoder_Wemb", V[1], E)
        self.put("decoder_ff_logit_l2_b", 1, V[1])
        if not (self.flag("tied-embeddings-all") or self.flag("tied-embeddings")):
            self.put("decoder_ff_logit_l2_Wt", V[1], E)


# The names of these tensors in files of amun and nematus.
NEMATUS = {"encoder_Wemb": "Wemb", "decoder_Wemb": "Wemb_dec", "decoder_ff_logit_l2_b": "ff_logit_b",
           "decoder_ff_state_W": "ff_state_W", "decoder_ff_state_b": "ff_state_b",
           "decoder_ff_state_ln_s": "ff_state_ln_s",
           "decoder_ff_state_ln_b": "ff_state_ln_b", "decoder_ff_state_gamma": "ff_state_gamma"}
NEMATUS |= {f"decoder_ff_logit_l1_{end}{i}": f"ff_logit_{part}_{end}"
            for i, part in enumerate(("prev", "lstm", "ctx")) for end in ("W", "b", "ln_s", "ln_b")}
NEMATUS |= {f"decoder_ff_logit_l1_gamma{i}": f"ff_logit_l1_gamma{i}" for i in range(3)}
NEMATUS |= {f"encoder_bi_{side}gamma{i}": f"encoder_{side}gamma{i}" for side in ("", "r_") for i in (1, 2)}
for _norm in ("", "_lns", "_lnb"):
    for _letter in ("U", "Ux", "W", "Wx", "b", "bx"):
        NEMATUS[f"decoder_cell1_{_letter}{_norm}"] = f"decoder_{_letter}{_norm}"
        NEMATUS |= {f"encoder_bi_{side}{_letter}{_norm}": f"encoder_{side}{_letter}{_norm}" for side in ("", "r_")}
        _second = {"W": "Wc", "Wx": "Wcx"}.get(_letter, f"{_letter}_nl")
        NEMATUS[f"decoder_cell2_{_letter}{_norm}"] = f"decoder_{_second}{_norm}"
        for _n in (1, 2):
            NEMATUS[f"decoder_cell{_n + 2}_{_letter}{_norm}"] = f"decoder_{_letter}_nl_drt_{_n}{_norm}"
            NEMATUS |= {f"encoder_bi_{side}cell{_n + 1}_{_letter}{_norm}": f"encoder_{side}{_letter}_drt_{_n}{_norm}"
                        for side in ("", "r_")}

WORDS = ['"\\""', '":"', "on", "00", "000", "'it''s'", "é", '"\\u2581x\\n"']


def vocabulary_text(size: int) -> str:
    words = ["</s>", "<unk>", *WORDS[:-1], *(f"w{i}" for i in range(20))][:size]
    return "# made up\n" + "".join(f"{word}: {i}\n" for i, word in enumerate(words))


def options_text(options: dict) -> str:
    return ("".join(f"{name}: {value}\n" for name, value in options.items())
            + "dim-vocabs:\n  - 9\n  - 11\ninput-types:\n  []\nversion: v1.12.43 0 2026-11-20 07:56:24 +0000")


def save(path: Path, tensors: dict, options: dict | None) -> Path:
    if options is not None:
        tensors = tensors | {"special:model.yml": numpy.frombuffer(options_text(options).encode() + b"\0" * 7,
                                                                   numpy.int8)}
    numpy.savez(path, **tensors)
    return path


GRU, LSTM, TANH, NEMATUS_CELLS = ({"enc-cell": cell, "dec-cell": cell}
                                  for cell in ("gru", "lstm", "tanh", "gru-nematus"))
BASE = {"type": "s2s", "dim-emb": E, "dim-rnn": D}
LN, SKIP = {"layer-normalization": "true"}, {"skip": "true"}
DEEP = {"enc-cell-depth": 3, "dec-cell-base-depth": 4}
MODELS = {
    "gru": BASE | GRU,
    "amun": BASE | GRU | {"type": "amun"},
    "amun-normalised": BASE | GRU | LN | {"type": "amun"},
    "lstm-tied": BASE | LSTM | {"tied-embeddings": "true"},
    "alternating": BASE | GRU | LN | SKIP | DEEP | {"enc-type": "alternating", "enc-depth": 2, "dec-depth": 2,
                                                    "dec-cell-high-depth": 2, "tied-embeddings-all": "true"},
    "bidirectional-deep": BASE | LSTM | LN | SKIP | {"enc-type": "bidirectional", "enc-depth": 3, "dec-depth": 3,
                                                     "dec-cell-base-depth": 3},
    "bi-unidirectional": BASE | GRU | SKIP | {"enc-type": "bi-unidirectional", "enc-depth": 3, "enc-cell-depth": 2},
    "bi-unidirectional-two": BASE | LSTM | SKIP | {"enc-type": "bi-unidirectional", "enc-depth": 2},
    "tanh": BASE | TANH | DEEP | {"enc-depth": 2, "dec-depth": 2, "dec-cell-high-depth": 3,
                                  "tied-embeddings-src": "true"},
    "mixed": BASE | {"enc-cell": "lstm", "dec-cell": "gru"},
    "gru-nematus-in-s2s": BASE | NEMATUS_CELLS | DEEP,
    "nematus": BASE | NEMATUS_CELLS | DEEP | {"type": "nematus"},
    "nematus-normalised": BASE | NEMATUS_CELLS | DEEP | LN | {"type": "nematus"},
    "nematus-layers": BASE | NEMATUS_CELLS | LN | SKIP | {"type": "nematus", "enc-depth": 2, "dec-depth": 2},
}


# ---- Marian's formulas ----

def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def normalise(x, gain, shift=0.0, epsilon=1e-9):
    x = x - x.mean(-1, keepdims=True)
    return gain * x / numpy.sqrt((x * x).mean(-1, keepdims=True) + epsilon) + shift


def softmax(x):
    x = numpy.exp(x - x.max())
    return x / x.sum()


class Marian:
    """Processes one sentence at a time. All states are pairs (h, c)."""

    def __init__(self, made: Maker) -> None:
        self.made, self.o = made, made.o
        self.t = {name: tensor.astype(numpy.float64) for name, tensor in made.t.items()}

    def get(self, name: str):
        tensor = self.t[name]
        return tensor[0] if tensor.shape[0] == 1 else tensor

    def gru(self, p: str, x, h, final: bool):
        """A GRU step from its products (gates, candidate), normalised as in the model; the bias enters before or after
        normalisation."""
        plain = not self.made.norm
        products = {"W": None if x is None else [x @ self.t[f"{p}_W{e}"] for e in ("", "x")],
                    "U": [h @ self.t[f"{p}_U{e}"] for e in ("", "x")]}
        bias = [self.get(f"{p}_b{e}") for e in ("", "x")]
        if self.made.norm and self.made.nematus:
            encoder, transition = p.startswith("encoder"), x is None
            if x is not None and not final:
                products["W"] = [y + b for y, b in zip(products["W"], bias)]
            if not encoder and (final or transition):
                products["U"] = [y + b for y, b in zip(products["U"], bias)]
            for letter, parts in products.items():
                if parts is not None:
                    products[letter] = [normalise(y, self.get(f"{p}_{letter}{e}_lns"), self.get(f"{p}_{letter}{e}_lnb"),
                                                  1e-5)
                                        for y, e in zip(parts, ("", "x"))]
            bias = bias if encoder and transition else [0, 0]
        elif not plain:
            for number, letter in ((1, "W"), (2, "U")):
                if products[letter] is not None:
                    whole = normalise(numpy.concatenate(products[letter]), self.get(f"{p}_gamma{number}"))
                    products[letter] = [whole[:2 * D], whole[2 * D:]]
        w, u = products["W"] or [0, 0], products["U"]
        gates = sigmoid(w[0] + u[0] + bias[0])
        r, z = gates[:D], gates[D:]
        n = numpy.tanh(w[1] + r * (u[1] + bias[1])) if final else numpy.tanh(w[1] + r * u[1] + bias[1])
        return (1 - z) * n + z * h

    def cell(self, kind: str, p: str, x, state, final: bool):
        h, c = state
        if kind.startswith("gru"):
            return self.gru(p, x, h, final), c
        xw, hu = 0 if x is None else x @ self.t[f"{p}_W"], h @ self.t[f"{p}_U"]
        if self.made.norm:
            xw, hu = xw if x is None else normalise(xw, self.get(f"{p}_gamma1")), normalise(hu, self.get(f"{p}_gamma2"))
        y = xw + hu + self.get(f"{p}_b")
        if kind == "tanh":
            return numpy.tanh(y), c
        f, i, g, o = y.reshape(4, D)
        c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(g)
        return sigmoid(o) * numpy.tanh(c), c

    def layer(self, kind: str, names: list[str], xs, backward: bool):
        state, out = (numpy.zeros(D), numpy.zeros(D)), [None] * len(xs)
        for t in range(len(xs))[::-1] if backward else range(len(xs)):
            for j, name in enumerate(names):
                state = self.cell(kind, name, xs[t] if j == 0 else None, state, False)
            out[t] = state[0]
        return numpy.array(out)

    def stack(self, prefix: str, layers: range, xs, backward: bool, alternating: bool):
        for i in layers:
            numbers = range(1, self.made.number("enc-cell-depth", 1) + 1)
            names = [prefix + (f"_l{i}" if i > 1 else "") + (f"_cell{j}" if i > 1 or j > 1 else "") for j in numbers]
            out = self.layer(self.o["enc-cell"], names, xs, backward != (alternating and (i - layers[0]) % 2 == 1))
            xs = out + xs if self.made.flag("skip") and i > layers[0] else out
        return xs

    def encode(self, ids):
        xs = self.t["Wemb" if "Wemb" in self.t else "encoder_Wemb"][ids]
        depth, kind = self.made.number("enc-depth", 1), self.o.get("enc-type", "bidirectional")
        below = range(1, 2 if kind == "bi-unidirectional" else depth + 1)
        h = numpy.concatenate([self.stack(name, below, xs, backward, kind == "alternating")
                               for name, backward in (("encoder_bi", False), ("encoder_bi_r", True))], axis=-1)
        return h if len(below) == depth else self.stack("encoder", range(2, depth + 1), h, False, False)

    def dense(self, prefix: str, number: str, x):
        y, bias = x @ self.t[f"{prefix}_W{number}"], self.get(f"{prefix}_b{number}")
        if not self.made.norm:
            return y + bias
        if self.made.nematus:
            return normalise(y + bias, self.get(f"{prefix}_ln_s{number}"), self.get(f"{prefix}_ln_b{number}"), 1e-5)
        return normalise(y, self.get(f"{prefix}_gamma{number}"), bias)

    def attend(self, h, s):
        keys, query, bias = h @ self.t["decoder_Wc_att"], s @ self.t["decoder_W_comb_att"], self.get("decoder_b_att")
        if self.made.norm and self.made.nematus:
            keys, query = (normalise(x, self.get(f"decoder_{name}_lns"), self.get(f"decoder_{name}_lnb"), 1e-5)
                           for x, name in ((keys + bias, "Wc_att"), (query, "W_comb_att")))
        elif self.made.norm:
            keys, query = normalise(keys, self.get("decoder_att_gamma1"),
                                    bias), normalise(query, self.get("decoder_att_gamma2"))
        else:
            keys = keys + bias
        return softmax(numpy.tanh(keys + query) @ self.t["decoder_U_att"][:, 0])

    def forced(self, source, target):
        """Returns the log-probabilities of the target and </s>, and the attention."""
        h, kind = self.encode(source), self.o["dec-cell"]
        start = numpy.tanh(self.dense("decoder_ff_state", "", h.mean(0)))
        states = [(start, start)] * self.made.number("dec-depth", 1)
        embedding = self.t["Wemb" if "Wemb" in self.t else "decoder_Wemb"]
        output = self.t.get("decoder_ff_logit_l2_Wt", embedding)
        y, scores, rows = numpy.zeros(E), [], []
        for token in [*target, 0]:
            state = self.cell(kind, "decoder_cell1", y, states[0], False)
            weights = self.attend(h, state[0])
            context = weights @ h
            for j in range(2, self.made.number("dec-cell-base-depth", 2) + 1):
                state = self.cell(kind, f"decoder_cell{j}", context if j == 2 else None, state, True)
            states[0], x = state, state[0]
            for i in range(2, len(states) + 1):
                state = states[i - 1]
                for j in range(1, self.made.number("dec-cell-high-depth", 1) + 1):
                    state = self.cell(kind, f"decoder_l{i}_cell{j}", x if j == 1 else None, state, False)
                states[i - 1], x = state, state[0] + x if self.made.flag("skip") else state[0]
            readout = numpy.tanh(sum(self.dense("decoder_ff_logit_l1", str(i), v)
                                     for i, v in enumerate((y, x, context))))
            scores.append(numpy.log(softmax(output @ readout + self.get("decoder_ff_logit_l2_b")))[token])
            rows.append(weights)
            y = embedding[token]
        return numpy.array(scores), numpy.array(rows)


# ---- conversion ----

def sizes_of(options: dict) -> tuple[int, int]:
    shared = "true" in (options.get("tied-embeddings-all"), options.get("tied-embeddings-src"))
    return (V[1], V[1]) if shared else V


def vocabularies(tmp_path: Path, options: dict) -> tuple[Path, Path]:
    paths = tmp_path / "source.yml", tmp_path / "target.yml"
    for path, size in zip(paths, sizes_of(options)):
        path.write_text(vocabulary_text(size), encoding="utf-8")
    return paths


def convert(path: Path, sides: tuple[Path, Path], out: Path, kind: str = "float32") -> Path:
    return imported(path, *sides, out=out, flags=("--storage", kind))


def made_model(tmp_path: Path, options: dict, seed: int = 1) -> tuple[Maker, Path, tuple[Path, Path]]:
    made = Maker(options, seed)
    tensors = (made.t if options["type"] == "s2s"
               else {NEMATUS.get(name, name): tensor for name, tensor in made.t.items()})
    if options["type"] == "amun":
        tensors |= {"decoder_c_tt": numpy.zeros((1, 0), numpy.float32)}
    return made, save(tmp_path / "model.npz", tensors, options), vocabularies(tmp_path, options)


def load(out: Path, sizes: tuple[int, int]) -> Model:
    model = Model(configuration.validate(json.loads((out / "config.json").read_text(encoding="utf-8"))), *sizes).eval()
    folder.load_tensors(model, storage.expand(safetensors.read(out / "model.safetensors")[0]))
    return model.double()


@torch.no_grad()
def forced(model: Model, source: list[int], target: list[int]) -> tuple[numpy.ndarray, numpy.ndarray]:
    memory, state = model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    reads = model.teach(torch.tensor([[0, *target]]), state, memory)  # the first input is zero for any id
    log_probs = model.output.log_probs(reads, memory)[0]
    return log_probs[range(len(target) + 1), [*target, 0]].numpy(), reads.weights[0].numpy()


@pytest.mark.parametrize("name", MODELS)
def test_marian_formulas(tmp_path, name):
    made, path, sides = made_model(tmp_path, MODELS[name])
    model = load(convert(path, sides, tmp_path / "out"), sizes_of(MODELS[name]))
    scores, rows = forced(model, SOURCE, TARGET)
    wanted, attention = Marian(made).forced(SOURCE, TARGET)
    assert numpy.ptp(attention, axis=0).max() > 0.01 and numpy.ptp(wanted) > 0.5  # the values are not all alike
    numpy.testing.assert_allclose(scores, wanted, atol=1e-6)
    numpy.testing.assert_allclose(rows, attention, atol=1e-6)
    assert model.config["output"]["unknowns"] is False


def test_marian_older_output_matrix(tmp_path):
    """The older matrix is [e, V], as in Nematus."""
    options = BASE | NEMATUS_CELLS | {"type": "nematus"}
    made, _, sides = made_model(tmp_path, options)
    tensors = {NEMATUS.get(name, name): tensor for name, tensor in made.t.items()}
    tensors["ff_logit_W"] = tensors.pop("decoder_ff_logit_l2_Wt").T.copy()
    # Nematus stores vectors with one dimension.
    tensors = {name: tensor[0] if tensor.shape[0] == 1 else tensor for name, tensor in tensors.items()}
    tensors |= {"uidx": numpy.array(3), "history_errs": numpy.zeros(4)}
    save(tmp_path / "old.npz", tensors, None)
    (tmp_path / "old.npz.json").write_text(json.dumps({"dim_word": E, "dim": D, "encoder": "gru", "decoder": "gru_cond",
                                                       "lrate": 0.1}))
    model = load(convert(tmp_path / "old.npz", sides, tmp_path / "out"), V)
    numpy.testing.assert_allclose(forced(model, SOURCE, TARGET)[0], Marian(made).forced(SOURCE, TARGET)[0], atol=1e-6)


@pytest.mark.parametrize("kind, far", [("float16", 0.02), ("bfloat16", 0.2), ("int8", 0.2)])
def test_marian_storages(tmp_path, kind, far):
    made, path, sides = made_model(tmp_path, MODELS["gru"])
    out = convert(path, sides, tmp_path / "out", kind)
    numpy.testing.assert_allclose(forced(load(out, V), SOURCE, TARGET)[0], Marian(made).forced(SOURCE, TARGET)[0],
                                  atol=far)
    assert f"stored as | {kind}" in (out / "README.md").read_text(encoding="utf-8")


def test_readme_lists_every_option():
    readme = (Path(__file__).parent.parent / "weights" / "CONVERT.md").read_text(encoding="utf-8")
    table = (Path(__file__).parent.parent / "model" / "import" / "marian_options.def").read_text(encoding="utf-8")
    marian = re.findall(r'^OPTION\(\w+, "([^"]*)",.*, "([^"]*)"\)$', table, re.MULTILINE)
    assert len(marian) > 50
    for name, reason in [*marian, *((name, option.reason) for name, option in convert_opennmt.OPTIONS.items())]:
        assert re.search(rf"^\| `{name}` \|.*\| {re.escape(reason)} \|$", readme, re.MULTILINE), name


def test_pytorch_refuses_the_vocabularies(tmp_path):
    _, path, sides = made_model(tmp_path, MODELS["gru"])
    out = convert(path, sides, tmp_path / "out")
    with pytest.raises(SystemExit,
                       match=("source.vocab: PyTorch needs <unk>, <s>, </s> at 0, 1, 2, and this has <unk> at 1, no "
                              "<s>, </s> at 0")):
        open_pytorch(out)


@pytest.mark.skipif(not ALIGND.exists(), reason="the server is not built")
@pytest.mark.parametrize("name", ["amun", "alternating", "nematus-normalised"])
def test_marian_served(tmp_path, name):
    """The command line, and the server's scores and attention for a given target."""
    made, path, sides = made_model(tmp_path, MODELS[name], seed=3)
    assert "dropped: special:model.yml" in command(path, *sides, *into(tmp_path / "model"), "--from", "en", "--to",
                                                   "fr").stdout
    words = ["</s>", "unheard", '"', ":", "on", "00", "000", "it's", "é", "w0", "w1"]
    texts = [" ".join(words[i] for i in ids) for ids in (SOURCE[:-1], TARGET)]
    with compute.daemon(ALIGND, tmp_path / "model", compute.Variant(name, [])) as url:
        reply = Daemon(url, "model").request("/attention", {"text": texts[0], "translation": texts[1],
                                                            "include": ["log_probs", "attention", "eos"], "digits": 9})
    sentence, (scores, attention) = reply["results"][0]["sentences"][0], Marian(made).forced(SOURCE, TARGET)
    numpy.testing.assert_allclose(sentence["log_probs"], scores, atol=1e-4)
    numpy.testing.assert_allclose(sentence["attention"], attention, atol=1e-5)


@pytest.mark.skipif(not ALIGND.exists(), reason="the server is not built")
def test_first_input_needs_its_token(tmp_path):
    _, path, sides = made_model(tmp_path, MODELS["gru"])
    config = convert(path, sides, tmp_path / "out") / "config.json"
    config.write_text(config.read_text().replace('"first_input": "zero"', '"first_input": "bos"'))
    (tmp_path / "out" / "manifest.json").unlink()
    done = subprocess.run([ALIGND, "translate", "--model", tmp_path / "out"], input=b"", capture_output=True)
    assert done.returncode != 0 and b"first_input is bos, but the target vocabulary has no <s>" in done.stderr


def test_command_line_refuses(tmp_path):
    tensors = Maker(MODELS["gru"], 1).t
    path, sides = save(tmp_path / "model.npz", tensors,
                       MODELS["gru"] | {"type": "multi-s2s"}), vocabularies(tmp_path, MODELS["gru"])
    done = command(path, *sides, *into(tmp_path / "out"))
    assert (done.returncode == 1 and done.stderr
            == (f"alignd: {path}: option type: multi-s2s is not supported: only recurrent models and transformers"
                " with one source can be converted (supported: s2s, amun, nematus, transformer)\n"))


# ---- refused files ----

def refused(tmp_path: Path, tensors: dict, options: dict = MODELS["gru"]) -> str:
    sides = vocabularies(tmp_path, options)
    path = save(tmp_path / "model.npz", tensors, options)
    with pytest.raises(Refused) as error:
        convert(path, sides, tmp_path / "out")
    return str(error.value)


def test_tensors_are_refused_by_name(tmp_path):
    tensors = Maker(MODELS["gru"], 1).t
    assert refused(tmp_path, tensors | {"decoder_secret": numpy.zeros((1, 2), numpy.float32)}).startswith(
        "decoder_secret: unknown")
    assert (refused(tmp_path, {k: v for k, v in tensors.items() if k != "encoder_bi_r_Ux"})
            == "encoder_bi_r_Ux: missing from the file")
    assert (refused(tmp_path, tensors | {"decoder_b_att": numpy.zeros((1, 7), numpy.float32)})
            == "decoder_b_att: shape (1, 7), expected (8,)")
    assert ("decoder_cell1_W: shape (6, 8), expected (5, 8)"
            == refused(tmp_path, tensors | {"decoder_cell1_W": numpy.zeros((6, 8), numpy.float32)}))
    assert ("encoder_bi_b: has values that are not numbers"
            == refused(tmp_path, tensors | {"encoder_bi_b": numpy.full((1, 8), numpy.nan, numpy.float32)}))
    assert "encoder_bi_U: holds int8" in refused(tmp_path,
                                                 tensors | {"encoder_bi_U": tensors["encoder_bi_U"].astype(numpy.int8)})
    assert "decoder_U: must hold plain numbers" in refused(tmp_path,
                                                           tensors | {"decoder_U": numpy.array([{}], dtype=object)})
    assert "is another name of" in refused(tmp_path, Maker(MODELS["amun"], 1).t
                                           | {"Wemb": numpy.zeros((9, 5), numpy.float32)}, MODELS["amun"])
    assert "decoder_cell1_gamma1: unknown" in refused(tmp_path, tensors
                                                      | {"decoder_cell1_gamma1": numpy.ones((1, 12), numpy.float32)})


def test_corrupt_files_are_refused(tmp_path):
    path, sides = made_model(tmp_path, MODELS["gru"])[1:]
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        inside = archive.getinfo("decoder_Wemb.npy")
    data = inside.header_offset + 30 + len(inside.filename) + 200
    broken = {"torn": content[:len(content) // 2], "empty": b"", "no zip": b"\x93NUMPY" + content[6:300],
              "decoder_Wemb": content[:data] + bytes([content[data] ^ 1]) + content[data + 1:]}
    for name, damaged in broken.items():
        path.write_bytes(damaged)
        with pytest.raises(Refused, match=name if name == "decoder_Wemb" else "not a whole .npz file"):
            convert(path, sides, tmp_path / "out")
    for place in range(0, len(content), 237):  # wherever it is damaged, it fails with an error
        path.write_bytes(content[:place])
        with pytest.raises(Refused):
            convert(path, sides, tmp_path / "out")


def test_what_is_shared_and_what_is_there(tmp_path):
    options = MODELS["alternating"]
    _, path, sides = made_model(tmp_path, options)
    sides[1].write_text(vocabulary_text(11).replace("w0", "v0"), encoding="utf-8")
    with pytest.raises(Refused, match="one embedding, but their vocabularies differ"):
        convert(path, sides, tmp_path / "out")
    (tmp_path / "out").mkdir()
    with pytest.raises(Refused, match="already exists"):
        convert(path, sides, tmp_path / "out")
    with pytest.raises(Refused, match="the model's configuration: name: must be shorter than 64 bytes"):
        convert(path, (sides[0],) * 2, tmp_path / ("x" * 70))
