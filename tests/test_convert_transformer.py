"""Marian's transformers: python3 -m pytest -q tests/test_convert_transformer.py

Made-up models of every supported kind, written as Marian writes them, are compared with Marian's formulas in NumPy and
float64, which share no code with the importer; both containers; and options that must be refused with an error that
names them.
"""

import json
import math
import struct
import sys
from pathlib import Path

import numpy
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import test_convert  # noqa: E402
from imported import Refused, imported  # noqa: E402
from test_convert import forced  # noqa: E402
from weights.model import safetensors  # noqa: E402
from weights.model.network import Model  # noqa: E402

D, F, V = 8, 12, (9, 11)  # sizes of vectors, feed-forward layers and vocabularies
SOURCE, TARGET = [3, 1, 8, 3, 2, 0], [4, 7, 1, 4]
VERSION = "v1.12.43 c9f287db 2025-06-23 19:47:45 +0000"
BASE = {"type": "transformer", "dim-emb": D, "enc-depth": 2, "dec-depth": 2, "transformer-heads": 2,
        "transformer-dim-ffn": F, "version": VERSION}
ALL, RNN = {"tied-embeddings-all": "true"}, {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}
AVERAGE = {"transformer-decoder-autoreg": "average-attention", "transformer-dim-aan": 10}
PRE = {"transformer-preprocess": "n", "transformer-postprocess": "da", "transformer-postprocess-top": "n"}
MODELS = {
    "opus": BASE | ALL,
    "student": BASE | ALL | RNN | {"enc-depth": 3, "transformer-ffn-activation": "relu"},
    "average": BASE | AVERAGE | {"tied-embeddings": "true", "transformer-guided-alignment-layer": 1,
                                 "transformer-decoder-dim-ffn": 10},
    "average-square": BASE | AVERAGE | {"transformer-dim-aan": D, "transformer-aan-activation": "relu"},
    "average-mean": BASE | AVERAGE | {"transformer-aan-depth": 1, "transformer-postprocess": "an"},
    "average-ungated": BASE | AVERAGE | {"transformer-aan-nogate": "true", "transformer-aan-activation": "gelu"},
    "average-pre": BASE | AVERAGE | PRE,
    "student-pre": BASE | ALL | RNN | PRE | {"output-omit-bias": "true", "transformer-heads": 4},
    "gelu": BASE | {"transformer-ffn-activation": "gelu", "transformer-ffn-depth": 2,
                    "transformer-decoder-ffn-depth": 2},
    "tied-layers": BASE | {"dec-depth": 3, "transformer-tied-layers": "[1, 1, 3]"},
    "tied-layers-student": BASE | RNN | {"dec-depth": 2, "transformer-tied-layers": "[2, 2]"},
    "shared-source": BASE | {"tied-embeddings-src": "true"},
    "no-projection": BASE | ALL | {"transformer-no-projection": "true"},
    "positions-of-no-effect": BASE | {"transformer-train-position-embeddings": "true", "layer-normalization": "true"},
}


def shares(options: dict) -> bool:
    return "true" in (options.get("tied-embeddings-all"), options.get("tied-embeddings-src"))


class Maker:
    """The tensors of a file, with random numbers."""

    def __init__(self, options: dict, seed: int = 3) -> None:
        self.o, self.random, self.t = {k: str(v) for k, v in options.items()}, numpy.random.default_rng(seed), {}
        self.pre = self.o.get("transformer-preprocess") == "n"
        self.make()

    def put(self, name: str, *shape: int, around: float = 0.0) -> None:
        self.t[name] = (around + 0.7 * self.random.standard_normal(shape)).astype(numpy.float32)

    def norm(self, name: str, top: bool = False) -> None:
        end = "_pre" * (self.pre and not top)
        self.put(f"{name}_ln_scale{end}", 1, D, around=1)
        self.put(f"{name}_ln_bias{end}", 1, D)

    def heads(self, name: str) -> None:
        for letter in "qkv" + "o" * (self.o.get("transformer-no-projection") != "true"):
            self.put(f"{name}_W{letter}", D, D)
            self.put(f"{name}_b{letter}", 1, D)
        self.norm(f"{name}_Wo")

    def filter(self, name: str, size: int) -> None:
        for number, shape in ((1, (D, size)), (2, (size, D))):
            self.put(f"{name}_W{number}", *shape)
            self.put(f"{name}_b{number}", 1, shape[1])
        self.norm(f"{name}_ffn")

    def mixer(self, p: str) -> None:
        kind = self.o.get("transformer-decoder-autoreg", "self-attention")
        if kind == "self-attention":
            self.heads(f"{p}_self")
        elif kind == "rnn":
            self.put(f"{p}_rnn_W", D, D)
            self.put(f"{p}_rnn_Wf", D, D)
            self.put(f"{p}_rnn_bf", 1, D)
            self.norm(f"{p}_rnn" + "_ffn" * (not self.pre))
        else:
            size = int(self.o["transformer-dim-aan"])
            names = ((("1", (D, size)), ("2", (size, D)))[:2 if size != D else 1] if self.o.get("transformer-aan-depth")
                     != "1" else ())
            gates = (("i", (D, D)), ("f", (D, D))) if self.o.get("transformer-aan-nogate") != "true" else ()
            for end, shape in (*names, *gates):
                self.put(f"{p}_aan_W{end}", *shape)
                self.put(f"{p}_aan_b{end}", 1, shape[1])
            self.norm(f"{p}_aan_ffn")

    def layers(self) -> list[int]:
        tied = self.o.get("transformer-tied-layers")
        return json.loads(tied) if tied else list(range(1, int(self.o["dec-depth"]) + 1))

    def make(self) -> None:
        for i in range(1, int(self.o["enc-depth"]) + 1):
            self.heads(f"encoder_l{i}_self")
            self.filter(f"encoder_l{i}_ffn", F)
        for i in sorted(set(self.layers())):
            self.mixer(f"decoder_l{i}")
            self.heads(f"decoder_l{i}_context")
            self.filter(f"decoder_l{i}_ffn", int(self.o.get("transformer-decoder-dim-ffn", F)))
        if self.pre:
            self.norm("encoder_top", True)
            self.norm("decoder_top", True)
        for name in ("Wemb",) if shares(self.o) else ("encoder_Wemb", "decoder_Wemb"):
            self.put(name, V[0] if name == "encoder_Wemb" else V[1], D)
        if self.o.get("output-omit-bias") != "true":
            self.put("decoder_ff_logit_out_b", 1, V[1])
        if "true" not in (self.o.get("tied-embeddings-all"), self.o.get("tied-embeddings")):
            self.put("decoder_ff_logit_out_Wt", V[1], D)


# ---- Marian's formulas ----

def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def softmax(x):
    x = numpy.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


ACTIVATE = {"relu": lambda x: numpy.maximum(x, 0), "swish": lambda x: x * sigmoid(x),
            "gelu": lambda x: x * 0.5 * (1 + numpy.vectorize(math.erf)(x / math.sqrt(2)))}


class Marian:
    """Processes one sentence, one step at a time; each step reads the whole history of its layers."""

    def __init__(self, made: Maker) -> None:
        self.made, self.o = made, made.o
        self.t = {name: tensor.astype(numpy.float64) for name, tensor in made.t.items()}

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        end = "_pre" * (f"{name}_ln_scale_pre" in self.t)
        return self.t[f"{name}_ln_scale{end}"][0] * x / numpy.sqrt((x * x).mean(-1, keepdims=True)
                                                                   + 1e-6) + self.t[f"{name}_ln_bias{end}"][0]

    def before(self, x, name):
        return self.norm(x, name) if self.made.pre else x

    def after(self, y, x, name):
        return x + y if self.made.pre else self.norm(x + y, name)

    def affine(self, x, name, number):
        return x @ self.t[f"{name}_W{number}"] + self.t[f"{name}_b{number}"][0]

    def heads(self, x, m, name):
        """x [D], m [T, D] -> y [D], the weights of the first head."""
        q, k, v = self.affine(x, name, "q"), self.affine(m, name, "k"), self.affine(m, name, "v")
        size = D // int(self.o["transformer-heads"])
        weights = [softmax(k[:, h:h + size] @ q[h:h + size] / math.sqrt(size)) for h in range(0, D, size)]
        y = numpy.concatenate([w @ v[:, i * size:(i + 1) * size] for i, w in enumerate(weights)])
        return (self.affine(y, name, "o") if f"{name}_Wo" in self.t else y), weights[0]

    def filter(self, x, name):
        act = ACTIVATE[self.o.get("transformer-ffn-activation", "swish")]
        return self.after(self.affine(act(self.affine(self.before(x, f"{name}_ffn"), name, 1)), name, 2), x,
                          f"{name}_ffn")

    def place(self, x, pos):
        half = D // 2
        angle = pos * numpy.exp(-numpy.arange(half) * math.log(10000) / (half - 1))
        return math.sqrt(D) * x + numpy.concatenate([numpy.sin(angle), numpy.cos(angle)])

    def encode(self, ids):
        table = self.t["Wemb" if "Wemb" in self.t else "encoder_Wemb"]
        xs = numpy.array([self.place(table[token], pos) for pos, token in enumerate(ids)])
        for i in range(1, int(self.o["enc-depth"]) + 1):
            name = f"encoder_l{i}_self"
            u = self.before(xs, f"{name}_Wo")
            xs = numpy.array([self.after(self.heads(a, u, name)[0], x, f"{name}_Wo") for a, x in zip(u, xs)])
            xs = numpy.array([self.filter(x, f"encoder_l{i}_ffn") for x in xs])
        return self.norm(xs, "encoder_top") if self.made.pre else xs

    def mix(self, history, p):
        """history [t + 1, D]: the layer's inputs so far, the current one last."""
        x, kind = history[-1], self.o.get("transformer-decoder-autoreg", "self-attention")
        if kind == "self-attention":
            return self.after(self.heads(x, history, f"{p}_self")[0], x, f"{p}_self_Wo")
        if kind == "rnn":
            c, name = numpy.zeros(D), f"{p}_rnn" + "_ffn" * (not self.made.pre)
            for past in history:
                u = self.before(past, name)
                gate = sigmoid(u @ self.t[f"{p}_rnn_Wf"] + self.t[f"{p}_rnn_bf"][0])
                c = gate * c + (1 - gate) * (u @ self.t[f"{p}_rnn_W"])
            return self.after(numpy.maximum(c, 0), x, name)
        y, name = self.before(history.mean(0), f"{p}_aan_ffn"), f"{p}_aan"
        if f"{name}_W1" in self.t:
            y = ACTIVATE[self.o.get("transformer-aan-activation", "swish")](self.affine(y, name, 1))
            y = self.affine(y, name, 2) if f"{name}_W2" in self.t else y
        if f"{name}_Wi" in self.t:
            y = sigmoid(self.affine(x, name, "i")) * x + sigmoid(self.affine(y, name, "f")) * y
        return self.after(y, x, f"{name}_ffn")

    def forced(self, source, target):
        """Returns the log-probabilities of the target and </s>, and the attention."""
        memory, layers = self.encode(source), self.made.layers()
        table = self.t["Wemb" if "Wemb" in self.t else "decoder_Wemb"]
        output, bias = self.t.get("decoder_ff_logit_out_Wt",
                                  table), self.t.get("decoder_ff_logit_out_b", numpy.zeros((1, V[1])))[0]
        shown = self.o.get("transformer-guided-alignment-layer", "last")
        histories, scores, rows, y = [numpy.zeros((0, D)) for _ in layers], [], [], numpy.zeros(D)
        for t, token in enumerate([*target, 0]):
            x, seen = self.place(y, t), []
            for i, number in enumerate(layers):
                histories[i] = numpy.vstack([histories[i], x])
                x, p = self.mix(histories[i], f"decoder_l{number}"), f"decoder_l{number}_context"
                c, weights = self.heads(self.before(x, f"{p}_Wo"), memory, p)
                x = self.filter(self.after(c, x, f"{p}_Wo"), f"decoder_l{number}_ffn")
                seen.append(weights)
            x = self.norm(x, "decoder_top") if self.made.pre else x
            scores.append(numpy.log(softmax(output @ x + bias))[token])
            rows.append(seen[-1 if shown == "last" else int(shown) - 1])
            y = table[token]
        return numpy.array(scores), numpy.array(rows)


# ---- files ----

def options_text(options: dict) -> bytes:
    return ("".join(f"{name}: {value}\n" for name, value in options.items())
            + "dim-vocabs:\n  - 9\n  - 11\ninput-types:\n  []\n").encode()


def save_npz(path: Path, tensors: dict, options: dict) -> Path:
    numpy.savez(path, **tensors, **{"special:model.yml": numpy.frombuffer(options_text(options) + b"\0", numpy.int8)})
    return path


INT8, FLOAT32, BYTES = 0x4101, 0x0404, 0x0101


def item(tensor: numpy.ndarray, name: str, kind: int) -> tuple[tuple, bytes, tuple[int, ...], bytes]:
    """The entry of a float32 tensor in a .bin file, with its data padded."""
    data = tensor.tobytes()
    if kind == INT8:
        multiplier = numpy.float32(127 / numpy.abs(tensor).max())
        values = numpy.rint(tensor * multiplier).clip(-127, 127).astype(numpy.int8)
        data = (values if "Wemb" in name else values.T).tobytes() + multiplier.tobytes()
    data += b"\x55" * (-len(data) % 256 if kind != BYTES else 0)
    raw = name.encode() + b"\0"
    return (len(raw), kind, tensor.ndim, len(data)), raw, tensor.shape, data


def save_bin(path: Path, tensors: dict, options: dict, int8: bool = False) -> Path:
    """Writes a .bin file as Bergamot's fork does."""
    items = [item(tensor, name, INT8 if int8 and ("_W" in name[-3:] or "_W" in name[-4:-1] or "Wemb" in name)
                  else FLOAT32)
             for name, tensor in sorted(tensors.items())]
    items.append(item(numpy.frombuffer(options_text(options) + b"\0", numpy.int8), "special:model.yml", BYTES))
    head = struct.pack("<QQ", 1, len(items)) + b"".join(struct.pack("<4Q", *head) for head, *_ in items)
    head += b"".join(raw for _, raw, _, _ in items) + b"".join(struct.pack(f"<{len(shape)}i", *shape)
                                                               for _, _, shape, _ in items)
    padding = ((len(head) + 8) // 256 + 1) * 256 - (len(head) + 8)
    path.write_bytes(head + struct.pack("<Q", padding) + b"\0" * padding + b"".join(data for *_, data in items))
    return path


def lists(tmp_path: Path, options: dict) -> tuple[Path, Path]:
    sizes = (V[1], V[1]) if shares(options) else V
    paths = tmp_path / "source.txt", tmp_path / "target.txt"
    for path, size in zip(paths, sizes):
        path.write_text("".join(f"{word}\n" for word in ["</s>", "<unk>", *(f"w{i}" for i in range(size - 2))]),
                        encoding="utf-8")
    return paths


def convert(path: Path, sides: tuple[Path, Path], out: Path, kind: str = "float32") -> Path:
    return imported(path, *sides, out=out, flags=("--storage", kind))


def load(out: Path, options: dict) -> Model:
    return test_convert.load(out, (V[1], V[1]) if shares(options) else V)


@pytest.mark.parametrize("name", MODELS)
def test_formulas(tmp_path, name):
    options = MODELS[name]
    made = Maker(options)
    model = load(convert(save_npz(tmp_path / "model.npz", made.t, options), lists(tmp_path, options), tmp_path / "out"),
                 options)
    scores, rows = forced(model, SOURCE, TARGET)
    wanted, attention = Marian(made).forced(SOURCE, TARGET)
    assert numpy.ptp(attention, axis=0).max() > 0.001 and numpy.ptp(wanted) > 0.5  # the values are not all alike
    numpy.testing.assert_allclose(scores, wanted, atol=2e-6)
    numpy.testing.assert_allclose(rows, attention, atol=1e-6)
    assert model.config["output"]["unknowns"] is False


def test_older_output_matrix(tmp_path):
    """The older matrix is [in, out]."""
    made = Maker(BASE)
    wanted, _ = Marian(made).forced(SOURCE, TARGET)
    made.t["decoder_ff_logit_out_W"] = made.t.pop("decoder_ff_logit_out_Wt").T.copy()
    model = load(convert(save_npz(tmp_path / "model.npz", made.t, BASE), lists(tmp_path, BASE), tmp_path / "out"), BASE)
    numpy.testing.assert_allclose(forced(model, SOURCE, TARGET)[0], wanted, atol=2e-6)


def stored(out: Path) -> dict:
    return safetensors.read(out / "model.safetensors")[0]


def test_both_containers_give_the_same(tmp_path):
    made = Maker(MODELS["student"])
    sides = lists(tmp_path, MODELS["student"])
    one = stored(convert(save_npz(tmp_path / "model.npz", made.t, MODELS["student"]), sides, tmp_path / "npz"))
    other = stored(convert(save_bin(tmp_path / "model.bin", made.t, MODELS["student"]), sides, tmp_path / "bin"))
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        numpy.testing.assert_array_equal(tensor, other[name], err_msg=name)


REFUSED = [
    ({"type": "multi-transformer"}, "option type: multi-transformer is not supported"),
    ({"transformer-ffn-depth": 3},
     "option transformer-ffn-depth: 3 is not supported: alignd's feed-forward has two matrices"),
    ({"transformer-decoder-ffn-depth": 1}, "option transformer-decoder-ffn-depth: 1"),
    ({"transformer-ffn-activation": "tanh"},
     "option transformer-ffn-activation: tanh is not supported: alignd has no such activation"),
    ({"transformer-ffn-activation": "gelu", "version": "v1.9.56 4cf7c7c5 2024-05-01 10:00:00 +0000"},
     "option transformer-ffn-activation: gelu is supported only"),
    ({"transformer-ffn-activation": "gelu", "version": "v1.12.0 4cf7c7c5 2023-02-11 10:00:00 +0000"},
     "option transformer-ffn-activation: gelu is supported only"),
    ({"transformer-postprocess": "danh"}, "option transformer-postprocess: danh"),
    ({"transformer-postprocess": "r"}, "option transformer-postprocess: r"),
    ({"transformer-postprocess": "da"},
     "transformer-preprocess, -postprocess, -postprocess-top: are not supported together"),
    ({"transformer-postprocess-top": "n"},
     "transformer-preprocess, -postprocess, -postprocess-top: are not supported together"),
    (PRE, "option transformer-preprocess: n is not supported with a decoder of self-attention"),
    (PRE | RNN | {"version": "v1.9.56 4cf7c7c5 2024-05-01 10:00:00 +0000"},
     "option transformer-preprocess: n is supported only of models of Marian v1.12"),
    ({"transformer-postprocess-emb": "dn"}, "option transformer-postprocess-emb: dn"),
    ({"transformer-decoder-autoreg": "rnn"}, "option dec-cell: gru is not supported in a transformer's decoder"),
    (RNN | {"layer-normalization": "true"},
     "option layer-normalization: true is not supported: alignd's SSRU has no norm within"),
    (RNN | {"transformer-rnn-projection": "true"}, "option transformer-rnn-projection: true"),
    ({"transformer-decoder-autoreg": "average-attention", "transformer-aan-depth": 3},
     "option transformer-aan-depth: 3"),
    ({"transformer-pool": "true"}, "option transformer-pool: true"),
    ({"transformer-train-positions": "true"}, "option transformer-train-positions: true"),
    ({"transformer-disable-position-embeddings": "true"}, "option transformer-disable-position-embeddings: true"),
    ({"transformer-attention-mask": "alibi"},
     "option transformer-attention-mask: alibi is not supported: only Marian's other transformer"),
    ({"transformer-no-bias": "true"}, "option transformer-no-bias: true"),
    ({"transformer-no-affine": "true"}, "option transformer-no-affine: true"),
    ({"transformer-guided-alignment-layer": 3},
     "option transformer-guided-alignment-layer: 3 is not supported: the decoder has 2 layers"),
    ({"transformer-tied-layers": "[1]"}, ("option transformer-tied-layers: \\[1\\] is not supported: it needs one "
                                          "number from 1 to 2 for each of the 2 layers")),
    ({"transformer-tied-layers": "[1, 5]"}, "option transformer-tied-layers"),
    ({"transformer-new-idea": "true"}, "option transformer-new-idea: unknown"),
    ({"right-left": "true"}, "option right-left: true"),
    ({"lemma-dim-emb": 4}, "option lemma-dim-emb: 4"),
    ({"factors-combine": "concat"}, "option factors-combine: concat"),
    ({"ulr": "true"}, "option ulr: true"),
    ({"enc-depth": 17}, "option enc-depth: 17 is not supported: alignd has 16 layers at most"),
]


@pytest.mark.parametrize("change, message", REFUSED, ids=lambda value: str(value)[:40])
def test_options_that_are_refused(tmp_path, change, message):
    with pytest.raises(Refused, match=message):
        convert(save_npz(tmp_path / "model.npz", Maker(BASE).t, BASE | change), lists(tmp_path, BASE), tmp_path / "out")


def test_a_model_of_other_heads_is_refused(tmp_path):
    options = BASE | {"transformer-heads": 3}
    with pytest.raises(Refused, match="encoder.heads: must divide encoder.hidden"):
        convert(save_npz(tmp_path / "model.npz", Maker(BASE).t, options), lists(tmp_path, options), tmp_path / "out")


@pytest.mark.parametrize("change, message", [
    (lambda t: t.update(Wpos=numpy.zeros((5, D), numpy.float32)), "Wpos: learned positions are not supported"),
    (lambda t: t.update(more=numpy.zeros((5, D), numpy.float32)),
     "more: unknown, so the options do not describe this model"),
    (lambda t: t.pop("encoder_l2_ffn_b1"), "encoder_l2_ffn_b1: missing from the file"),
    (lambda t: t.update(encoder_l1_self_Wq=numpy.zeros((D, D + 1), numpy.float32)),
     r"encoder_l1_self_Wq: shape \(8, 9\), expected \(8, 8\)"),
    (lambda t: t.update(encoder_l1_self_Wq=numpy.zeros((D, D), numpy.int8)), "encoder_l1_self_Wq: holds int8"),
    (lambda t: t.update(decoder_l1_ffn_b1=numpy.full((1, F), numpy.nan, numpy.float32)),
     "decoder_l1_ffn_b1: has values that are not numbers"),
])
def test_tensors_that_are_refused(tmp_path, change, message):
    made = Maker(BASE)
    change(made.t)
    with pytest.raises(Refused, match=message):
        convert(save_npz(tmp_path / "model.npz", made.t, BASE), lists(tmp_path, BASE), tmp_path / "out")
