"""OpenNMT-py's models: python3 -m weights.conversion.convert_opennmt MODEL.pt --output FOLDER

Input: a checkpoint of a recurrent model (encoder_type rnn or brnn) as saved by OpenNMT-py 0.x to 3.x; it contains the
vocabularies. Output: a model folder for alignd whose tokens are words, because OpenNMT-py reads text that is already
tokenised, separated by white space. Options that cannot be converted are errors that name the option (OPTIONS); every
tensor of the checkpoint is either used or reported as dropped. Needs NumPy only; no code in the checkpoint is run
(weights/conversion/checkpoint.py).

The matrices are PyTorch's, [out, in], with the gates in the same order as alignd's. The source has no </s>.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from numpy import ndarray

from . import checkpoint, converted
from .checkpoint import FLOATS, Inert, Tensor
from .converted import Conversion, ConversionError, Part, Vocabulary, constant, transposed, zeros
from ..command import run_command

IMPOSSIBLE = -1e4  # the logit of a word that is never written: its exponential is negligible

def load(path: Path) -> dict:
    try:
        found = checkpoint.load(path)
    except checkpoint.FormatError as error:
        raise ConversionError(f"not a whole checkpoint: {error}") from error
    if not isinstance(found, dict) or not {"model", "generator", "vocab", "opt"} <= found.keys():
        raise ConversionError("not a checkpoint of OpenNMT-py: it has no model, generator, vocab and opt")
    for name in ("model", "generator"):
        if not isinstance(found[name], dict) or not all(isinstance(key, str) for key in found[name]):
            raise ConversionError(f"{name}: is not a mapping of names to tensors")
    return found


# ---- options ----

class Option(NamedTuple):
    """supported: the supported values; the first is the default."""

    supported: tuple
    reason: str


OPTIONS: dict[str, Option] = {
    "model_type": Option(("text", None), "alignd reads text"),
    "model_task": Option(("seq2seq", None), "only translation has a source and a target"),
    "encoder_type": Option(("rnn", "brnn"), "only recurrent models can be converted"),
    "decoder_type": Option(("rnn",), "only recurrent models can be converted"),
    "rnn_type": Option(("LSTM", "GRU"), "alignd has no such cell"),
    "brnn_merge": Option(("concat",), "alignd's annotations are both directions side by side"),
    "bridge": Option((False, None),
                     "its layer mixes the final states of all layers, and alignd's initial states do not"),
    "context_gate": Option((None, ""), "alignd has no context gate"),
    "coverage_attn": Option((False, True, None), "must be on or off"),  # has no effect, see DROPPED
    "global_attention": Option(("general", "dot", "mlp"), "alignd has no such attention"),
    "global_attention_function": Option(("softmax",), "alignd's attention is a softmax"),
    "generator_function": Option(("softmax", "log_softmax"), "alignd's output is a softmax"),
    "position_encoding": Option((False, None), "alignd's recurrent models have no positions"),
    "position_encoding_type": Option((None, "SinusoidalInterleaved"), "alignd's recurrent models have no positions"),
    "copy_attn_type": Option((None, "general", "dot", "mlp"), "alignd has no such attention"),
}


def options_of(found: dict) -> dict:
    opt = found["opt"]
    given = opt if isinstance(opt, dict) else vars(opt) if isinstance(opt, Inert) else {}
    for name, option in OPTIONS.items():
        value = given.get(name, option.supported[0])
        if value not in option.supported:
            wanted = ", ".join(str(choice) for choice in option.supported if choice is not None)
            raise ConversionError(f"option {name}: {value} is not supported: {option.reason} (supported: {wanted})")
    options = {name: option.supported[0] for name, option in OPTIONS.items()} | given
    if second_attention(options) == "mlp":
        raise ConversionError(
            "option copy_attn_type: mlp is not supported without reuse_copy_attn: alignd does not support a second"
            " additive score (supported: general, dot)")
    return options


def second_attention(options: dict) -> str:
    """The type of the separate attention that scores the words to copy; "" if the decoder's attention does so, or if
    nothing is copied."""
    if not options.get("copy_attn") or options.get("reuse_copy_attn"):
        return ""
    return options["copy_attn_type"] or options["global_attention"]


# ---- vocabularies ----

MOST_FIELDS = 8  # maximum nesting depth


def _is_pairs(value: Any) -> bool:
    return (isinstance(value, list) and all(isinstance(pair, (list, tuple)) and len(pair) == 2
                                            and isinstance(pair[0], str) for pair in value))


def _itos(field: Any, depth: int = 0) -> list[str]:
    """Returns the words of a torchtext Vocab, of a Field with a Vocab, of a field of several Fields, or of a list."""
    if isinstance(field, list) and all(isinstance(word, str) for word in field):
        return field
    if isinstance(field, Inert) and depth < MOST_FIELDS:
        inner = vars(field)
        if "itos" in inner:
            return _itos(inner["itos"] if isinstance(inner["itos"], list) else None)
        # [(name, Field)]: the field of the words, and those of their features.
        if "fields" in inner and _is_pairs(inner["fields"]) and inner["fields"]:
            if len(inner["fields"]) > 1:
                raise ConversionError("vocab: has features, which alignd does not have")
            return _itos(inner["fields"][0][1], depth + 1)
        for name in ("vocab", "base_field"):
            if name in inner:
                return _itos(inner[name], depth + 1)
    raise ConversionError("vocab: has an unknown form")


def words_of(found: dict) -> tuple[list[str], list[str]]:
    vocab = found["vocab"]
    if _is_pairs(vocab):  # 0.x: [(name, Vocab)]
        vocab = dict(vocab)
    if not isinstance(vocab, dict) or not all(isinstance(name, str) for name in vocab):
        raise ConversionError("vocab: has an unknown form")
    if features := [name for name in vocab if "feat" in name and vocab[name]]:
        raise ConversionError(f"vocab: {features[0]}: alignd does not have features")
    if vocab.get("decoder_start_token", "<s>") != "<s>":
        raise ConversionError(
            f"vocab: decoder_start_token: {vocab['decoder_start_token']} is not supported (supported: <s>)")
    sides = []
    for name in ("src", "tgt"):
        if name not in vocab:
            raise ConversionError(f"vocab: has no {name}")
        sides.append(_itos(vocab[name]))
    return sides[0], sides[1]


def _vocabularies(sides: tuple[list[str], list[str]]) -> tuple[Vocabulary, Vocabulary]:
    source, target = (converted.of_words(Path(name), words) for name, words in zip(("vocab: src", "vocab: tgt"), sides))
    for special in ("<s>", "</s>"):
        if special not in sides[1]:
            raise ConversionError(f"vocab: tgt: {special} is missing")
    return source, target


# ---- tensors ----

EMBEDDING = "{}.embeddings.make_embedding.emb_luts.0.weight"
COVERAGE, COPY = "decoder.attn.linear_cover.weight", "decoder.copy_attn."
DROPPED = {COVERAGE:
           "which nothing reads: OpenNMT-py sums the coverage for its loss and does not hand it to the attention",
           COPY
           + "linear_out.weight": ("which nothing reads: of the attention that copies only the weights are used, not "
                                   "the context")}


class Tensors:
    """The checkpoint's tensors by name; names of the generator's begin with "generator.". Each tensor must be taken,
    with its shape."""

    def __init__(self, found: dict) -> None:
        self.tensors = dict(found["model"]) | {f"generator.{name}": tensor
                                               for name, tensor in found["generator"].items()}
        for name, tensor in self.tensors.items():
            if not isinstance(tensor, Tensor):
                raise ConversionError(f"{name}: is not a tensor")
        self.left = set(self.tensors)

    def shape(self, name: str) -> tuple[int, ...]:
        if name not in self.tensors:
            raise ConversionError(f"{name}: missing from the checkpoint")
        return self.tensors[name].shape

    def has(self, name: str) -> bool:
        return name in self.tensors

    def take(self, name: str, *shape: int) -> Part:
        if self.shape(name) != shape:
            raise ConversionError(f"{name}: shape {self.shape(name)}, expected {shape}")
        if self.tensors[name].kind not in FLOATS:
            raise ConversionError(f"{name}: holds {self.tensors[name].kind} numbers; only models of floating-point "
                                  f"numbers can be converted")
        self.left.discard(name)
        return Part(shape, lambda: self._read(name))

    def _read(self, name: str) -> ndarray:
        try:
            values = self.tensors[name].array()
        except (checkpoint.FormatError, OSError, ValueError, KeyError, RuntimeError) as error:
            raise ConversionError(f"{name}: cannot be read: {error}") from error
        if not numpy.isfinite(values).all():
            raise ConversionError(f"{name}: has values that are not numbers")
        return values

    def same(self, one: str, other: str) -> None:
        """Checks that two tensors that the options declare shared are equal, if the checkpoint has both."""
        if self.has(one) and self.has(other) and not numpy.array_equal(self._read(one), self._read(other)):
            raise ConversionError(f"{one}: differs from {other}, but the options say that they are one")
        self.left.discard(one)


GATES = {"LSTM": 4, "GRU": 3}


class Converter:
    """Builds the tensors of the model folder in `made`."""

    def __init__(self, tensors: Tensors, options: dict, sizes: tuple[int, int]) -> None:
        self.tensors, self.options, self.sizes = tensors, options, sizes
        self.gates, self.feeds = GATES[options["rnn_type"]], bool(options.get("input_feed", 1))
        self.both = tensors.has("encoder.rnn.weight_ih_l0_reverse")
        self.layers = self._count("encoder.rnn.weight_ih_l{}")
        self.embeddings = tuple(tensors.shape(EMBEDDING.format(side))[1] for side in ("encoder", "decoder"))
        self.hidden = tensors.shape("decoder.attn.linear_out.weight")[0]
        self.made: dict[str, Part] = {}

    def _count(self, pattern: str) -> int:
        count = 0
        while self.tensors.has(pattern.format(count)):
            count += 1
        return count

    def _cell(self, theirs: str, ours: str, inputs: int, hidden: int) -> None:
        """theirs: OpenNMT-py's tensor name, with {} for the kind of tensor."""
        rows = self.gates * hidden
        for name, short, shape in (("weight_input", "weight_ih", (rows, inputs)),
                                   ("weight_state", "weight_hh", (rows, hidden)),
                                   ("bias_input", "bias_ih", (rows,)), ("bias_state", "bias_hh", (rows,))):
            self.made[ours + name] = self.tensors.take(theirs.format(short), *shape)

    def encoder(self) -> None:
        hidden = self.hidden // (1 + self.both)
        for i in range(self.layers):
            for direction, ending in (("forward", ""), ("backward", "_reverse"))[:1 + self.both]:
                inputs = self.embeddings[0] if i == 0 else self.hidden
                self._cell(f"encoder.rnn.{{}}_l{i}{ending}", f"encoder.layers.{i}.{direction}.", inputs, hidden)

    def decoder(self) -> int:
        """Returns the number of layers."""
        pattern = "decoder.rnn.layers.{layer}.{{}}" if self.feeds else "decoder.rnn.{{}}_l{layer}"
        count = self._count(pattern.replace("{{}}", "weight_ih").replace("{layer}", "{}"))
        for i in range(count):
            inputs = self.hidden if i > 0 else self.embeddings[1] + (self.hidden if self.feeds else 0)
            self._cell(pattern.format(layer=i), f"decoder.layers.{i}.", inputs, self.hidden)
        if count != self.layers:
            raise ConversionError(f"dec_layers: the decoder has {count} layers, the encoder {self.layers}: its states "
                                  "begin as theirs end")
        return count

    def attention(self) -> None:
        kind, n = self.options["global_attention"], self.hidden
        if kind == "general":  # h . (W s) = s . (W^T h)
            self.made["attention.key.weight"] = transposed(self.tensors.take("decoder.attn.linear_in.weight", n, n))
        elif kind == "mlp":
            self.made |= {"attention.key.weight": self.tensors.take("decoder.attn.linear_context.weight", n, n),
                          "attention.key.bias": self.tensors.take("decoder.attn.linear_query.bias", n),
                          "attention.query.weight": self.tensors.take("decoder.attn.linear_query.weight", n, n)}
            energy = self.tensors.take("decoder.attn.v.weight", 1, n)
            self.made["attention.energy"] = Part((n,), lambda: energy.make()[0])
        if self.options["coverage_attn"]:
            self.tensors.take(COVERAGE, n, 1)  # DROPPED
        self.made["readout.weight"] = self.tensors.take("decoder.attn.linear_out.weight", n, 2 * n)
        self.made["readout.bias"] = self.tensors.take("decoder.attn.linear_out.bias", n) if kind == "mlp" else zeros(n)

    def embed(self) -> None:
        source, target = (EMBEDDING.format(side) for side in ("encoder", "decoder"))
        if self.shares():
            self.tensors.same(source, target)
        else:
            self.made["encoder.embedding"] = self.tensors.take(source, self.sizes[0], self.embeddings[0])
        self.made["decoder.embedding"] = self.tensors.take(target, self.sizes[1], self.embeddings[1])

    def output(self, padding: int) -> None:
        """padding: the id of <blank>, which a copying generator never writes; -1 if there is none."""
        if self.options.get("copy_attn"):
            self._copying(padding)
            return
        name = "generator." if self.tensors.has("generator.weight") else "generator.0."
        self._matrix(f"{name}weight")
        self.made["output.bias"] = self.tensors.take(f"{name}bias", self.sizes[1])

    def _matrix(self, name: str) -> None:
        if self._ties():
            self.tensors.same(name, EMBEDDING.format("decoder"))
        else:
            self.made["output.weight"] = self.tensors.take(name, self.sizes[1], self.hidden)

    def _copying(self, padding: int) -> None:
        bias = numpy.zeros(self.sizes[1], numpy.float32)
        if padding >= 0:
            bias[padding] = IMPOSSIBLE
        self.made["output.bias"] = constant(bias)
        self._matrix("generator.linear.weight")
        self.made |= {"output.gate.weight": self.tensors.take("generator.linear_copy.weight", 1, self.hidden),
                      "output.gate.bias": self.tensors.take("generator.linear_copy.bias", 1)}
        if kind := second_attention(self.options):
            n = self.hidden
            self.tensors.take(COPY + "linear_out.weight", n, 2 * n)  # DROPPED
            self.made["output.key.weight"] = (transposed(self.tensors.take(COPY + "linear_in.weight", n, n))
                                              if kind == "general"
                                              else constant(numpy.eye(n, dtype=numpy.float32)))

    def shares(self) -> bool:
        return bool(self.options.get("share_embeddings"))

    def _ties(self) -> bool:
        return bool(self.options.get("share_decoder_embeddings"))

    def config(self) -> dict:
        """The sections of config.json that the model determines."""
        cell, mlp = self.options["rnn_type"].lower(), self.options["global_attention"] == "mlp"
        pointer = "readout" if second_attention(self.options) else "attention"
        output = ({"type": "pointer_generator", "gate": "readout", "pointer": pointer} if self.options.get("copy_attn")
                  else {})
        return {
            "encoder": {"cell": cell, "layers": self.layers, "bidirectional": self.both,
                        "embedding": self.embeddings[0],
                        "hidden": self.hidden // (1 + self.both), "eos": False, "embedding_shared": self.shares()},
            "attention": {"score": "additive", "size": self.hidden} if mlp
            else {"score": self.options["global_attention"]},
            "decoder": {"style": "luong", "cell": cell, "layers": self.layers, "embedding": self.embeddings[1],
                        "hidden": self.hidden,
                        "input_feeding": self.feeds, "initial_state": "last", "readout": "linear" if mlp
                        else "attentional", "readout_size": self.hidden, "first_input": "bos"},
            "output": output | {"tied": self._ties()},
        }


# ---- all of it ----

def convert(found: dict, head: dict, origin: str, unknowns: bool = True) -> Conversion:
    """head: the keys of config.json that do not follow from the model."""
    options, sides = options_of(found), words_of(found)
    tensors = Tensors(found)
    converter = Converter(tensors, options, (len(sides[0]), len(sides[1])))
    converter.encoder()
    converter.decoder()
    converter.attention()
    converter.embed()
    converter.output(sides[1].index("<blank>") if "<blank>" in sides[1] else -1)
    if tensors.left:
        raise ConversionError(f"{min(tensors.left)}: unknown, so the options do not describe this model")
    section, files = converted.tokenizer_of(*_vocabularies(sides))
    if converter.shares() and len(files) > 1:
        raise ConversionError(
            "option share_embeddings: source and target have one embedding, but their vocabularies differ")
    config = head | converter.config() | {"tokenizer": section}
    config["output"]["unknowns"] = unknowns
    return Conversion(converted.validated(config), converter.made, files, origin,
                      "weights/conversion/convert_opennmt.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="MODEL.pt")
    parser.add_argument("--ban-unknowns", action="store_true",
                        help="searches never choose <unk>, as with OpenNMT-py's -ban_unk_token")
    converted.add_arguments(parser)
    arguments = parser.parse_args()
    try:
        found = load(arguments.model)
        conversion = convert(found, converted.head_of(arguments), arguments.model.name, not arguments.ban_unknowns)
        converted.write(arguments.output, conversion, arguments.storage)
    except ConversionError as error:
        raise ConversionError(f"{arguments.model}: {error}") from error
    for name in sorted(DROPPED.keys() & found["model"].keys()):
        print(f"dropped: {name}, {DROPPED[name]}")
    converted.report(arguments.output, conversion)


if __name__ == "__main__":
    run_command(main)
