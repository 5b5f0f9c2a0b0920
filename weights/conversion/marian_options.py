"""What Marian's and Nematus's options say about a model, and which of them can be converted.

Input: the text of the options (Marian's YAML, Nematus's JSON). Output of `read`: Marian's options by name, checked. One row of a table for each
option that shapes the computation: what is supported, what it is where it is not given, and why nothing else is. An option that is in no row
is refused, too, since nobody knows what it changes.
"""

from __future__ import annotations

import json
import re
from typing import Container, NamedTuple

from . import mappings
from .converted import ConversionError


class Option(NamedTuple):
    """supported: names, or a range of integers; () for any number."""

    default: str | None  # None: it must be given
    supported: Container = ()
    reason: str = ""


SWITCH = ("true", "false")
OFF, ONE, NONE, EMPTY = ("false",), ("1",), ("0",), ("",)
_CELLS = ("gru", "gru-nematus", "lstm", "tanh")
_NO_CELL = "alignd has no such cell"
_ATTENTION = "alignd's attention has one head, one hop and no projection"
_FACTORS = "alignd has no factors"
_ACTIVATIONS = ("relu", "swish", "gelu")
_NO_ACTIVATION = "alignd has no such activation"
_OTHER_FRAMEWORK = "only Marian's other transformer, of type transformer-new, has it"
RECURRENT_TYPES, TRANSFORMER = ("s2s", "amun", "nematus"), "transformer"

# Of every type.
COMMON: dict[str, Option] = {
    "type": Option(None, (*RECURRENT_TYPES, TRANSFORMER), "only recurrent models and transformers with one source can be converted"),
    "dim-emb": Option(None),
    "enc-depth": Option("1", range(1, 17), "alignd has 16 layers at most"),
    "dec-depth": Option("1", range(1, 17), "alignd has 16 layers at most"),
    "tied-embeddings": Option("false", SWITCH),
    "tied-embeddings-src": Option("false", SWITCH),
    "tied-embeddings-all": Option("false", SWITCH),
    "right-left": Option("false", OFF, "the model writes from right to left"),
    "special-vocab": Option("", EMPTY, "alignd has no special vocabulary"),
    "lemma-dim-emb": Option("0", NONE, _FACTORS),
    "lemma-dependency": Option("", EMPTY, _FACTORS),
    "factors-dim-emb": Option("0", NONE, _FACTORS),
    "factors-combine": Option("sum", ("sum",), _FACTORS),
    "ulr": Option("false", OFF, "alignd has no universal representations"),
}
# Of the recurrent types.
RECURRENT: dict[str, Option] = {
    "dim-rnn": Option(None),
    "enc-type": Option("bidirectional", ("bidirectional", "bi-unidirectional", "alternating"), "alignd has no such encoder"),
    "enc-cell": Option("gru", _CELLS, _NO_CELL),
    "enc-cell-depth": Option("1", range(1, 18), "alignd has 16 transitions at most"),
    "dec-cell": Option("gru", _CELLS, _NO_CELL),
    "dec-cell-base-depth": Option("2", range(2, 19), "the attention stands between the first cell and a second one"),
    "dec-cell-high-depth": Option("1", range(1, 18), "alignd has 16 transitions at most"),
    "skip": Option("false", SWITCH),
    "layer-normalization": Option("false", SWITCH),
    "output-omit-bias": Option("false", OFF, "a recurrent model's output layer has a bias"),
    "dec-attention-hops": Option("1", ONE, _ATTENTION),
    "dec-attention-heads": Option("1", ONE, _ATTENTION),
    "dec-attention-projection-dim": Option("-1", ("-1",), _ATTENTION),
    "dec-attention-bilinear-lookup": Option("false", OFF, _ATTENTION),
}
# Of type transformer. The letters of pre- and postprocess: d nothing once a model is trained, a what was read is added, n norm.
SELF_ATTENTION, AVERAGE, RNN = "self-attention", "average-attention", "rnn"
TRANSFORMERS: dict[str, Option] = {
    "transformer-heads": Option("8"),
    "transformer-dim-ffn": Option("2048"),
    "transformer-ffn-depth": Option("2", ("2",), "alignd's feed-forward has two matrices"),
    "transformer-decoder-dim-ffn": Option("0", range(0, 65537), "0 is the encoder's"),
    "transformer-decoder-ffn-depth": Option("0", ("0", "2"), "alignd's feed-forward has two matrices"),
    "transformer-ffn-activation": Option("swish", _ACTIVATIONS, _NO_ACTIVATION),
    "transformer-preprocess": Option("", ("", "d", "n", "dn", "nd"), "alignd's blocks begin with a norm or with nothing"),
    "transformer-postprocess": Option("dan", ("dan", "an", "da", "a"), "alignd's blocks end with a sum, or with a norm of it"),
    "transformer-postprocess-emb": Option("d", ("d", ""), "alignd's embeddings have no norm"),
    "transformer-postprocess-top": Option("", ("", "d", "n", "dn", "nd"), "alignd's stacks end with a norm or with nothing"),
    "transformer-decoder-autoreg": Option(SELF_ATTENTION, (SELF_ATTENTION, AVERAGE, RNN), "alignd has no such decoder"),
    "dec-cell": Option("gru", ("ssru", "gru", "lstm", "tanh", "relu", "gru-nematus", "mlstm", "mgru"), _NO_CELL),
    "layer-normalization": Option("false", SWITCH),
    "transformer-guided-alignment-layer": Option("last", ("last", *map(str, range(1, 17))), "it is a layer's number, or last"),
    "transformer-dim-aan": Option("2048"),
    "transformer-aan-depth": Option("2", ("1", "2"), "alignd's average attention has two matrices or none"),
    "transformer-aan-activation": Option("swish", _ACTIVATIONS, _NO_ACTIVATION),
    "transformer-aan-nogate": Option("false", SWITCH),
    "transformer-no-projection": Option("false", SWITCH),
    "transformer-rnn-projection": Option("false", OFF, "alignd's SSRU has no projection"),
    "transformer-pool": Option("false", OFF, "alignd's decoders look at the whole sentence"),
    "transformer-train-positions": Option("false", OFF, "Marian reads the first learned position in every step of a translation"),
    "transformer-train-position-embeddings": Option("false", SWITCH),
    "transformer-disable-position-embeddings": Option("false", OFF, "Marian then does not scale the embeddings either"),
    "transformer-attention-mask": Option("default", ("default",), _OTHER_FRAMEWORK),
    "transformer-alibi-decay": Option("0.125", ("0.125",), _OTHER_FRAMEWORK),
    "transformer-alibi-shift": Option("false", OFF, _OTHER_FRAMEWORK),
    "transformer-alibi-trainable": Option("false", OFF, _OTHER_FRAMEWORK),
    "transformer-no-bias": Option("false", OFF, _OTHER_FRAMEWORK),
    "transformer-no-affine": Option("false", OFF, _OTHER_FRAMEWORK),
    "output-omit-bias": Option("false", SWITCH),
}
TIED_LAYERS = "transformer-tied-layers"  # a list: for each layer of the decoder the one whose tensors it has
INPUT_TYPES = "input-types"  # a list; empty, or all of them `sequence`
# Options that say nothing about a model of these types: how it was trained, and what only others have.
IGNORED = {"version", "dim-vocabs", "separator-symbol", "ulr-dim-emb", "ulr-trainable-transformation", "original-type",
           "dec-attention-lookup-dim", "dec-attention-independent-heads", "dec-attention-projection-layernorm",
           "dec-attention-projection-activation"}
IGNORED_PREFIXES = ("bert-", "char-", "comet-")
# What a transformer's file says of the recurrent types; depth-scaling is how the training began.
IGNORED_IN_TRANSFORMERS = set(RECURRENT) | {"transformer-depth-scaling"}

# Theano-Nematus's MODEL.npz.json: what its keys are called in Marian, and those that must be as here.
NEMATUS = {"dim_word": "dim-emb", "dim": "dim-rnn", "embedding_size": "dim-emb", "state_size": "dim-rnn",
           "enc_recurrence_transition_depth": "enc-cell-depth", "rnn_enc_transition_depth": "enc-cell-depth",
           "dec_base_recurrence_transition_depth": "dec-cell-base-depth", "rnn_dec_base_transition_depth": "dec-cell-base-depth",
           "layer_normalisation": "layer-normalization", "rnn_layer_normalisation": "layer-normalization",
           "tie_decoder_embeddings": "tied-embeddings", "tie_encoder_decoder_embeddings": "tied-embeddings-src"}
NEMATUS_ALWAYS = {"encoder": ("gru",), "decoder": ("gru_cond",), "enc_depth": (1,), "dec_depth": (1,), "rnn_enc_depth": (1,),
                  "rnn_dec_depth": (1,), "factors": (1,), "weight_normalisation": (False,), "decoder_deep_context": (False,),
                  "deep_fusion_lm": (None, False), "output_hidden_activation": ("tanh",), "softmax_mixture_size": (1,)}


def _of_nematus(text: str) -> dict[str, mappings.Value]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConversionError(f"the options are not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ConversionError("the options are not a JSON object")
    for key, supported in NEMATUS_ALWAYS.items():
        if found.get(key, supported[0]) not in supported:
            raise ConversionError(f"option {key}: {found[key]} is not supported; Nematus's models are converted with {supported[0]}")
    renamed = {NEMATUS[key]: str(value).lower() for key, value in found.items() if key in NEMATUS}
    return {"type": "nematus", "enc-cell": "gru-nematus", "dec-cell": "gru-nematus"} | renamed


def _rows(found: dict[str, mappings.Value]) -> dict[str, Option]:
    """Those of the model's type."""
    own = TRANSFORMERS if found.get("type") == TRANSFORMER else RECURRENT
    return COMMON | own


def _known(name: str, transformer: bool) -> bool:
    if name in COMMON or name in (INPUT_TYPES, TIED_LAYERS) or name in IGNORED or name.startswith(IGNORED_PREFIXES):
        return True
    own, other = (TRANSFORMERS, IGNORED_IN_TRANSFORMERS) if transformer else (RECURRENT, ())
    return name in own or name in other or (not transformer and name.startswith("transformer-"))


def _check(name: str, option: Option, value: mappings.Value) -> str:
    number = isinstance(value, str) and value.lstrip("-").isdigit()
    if isinstance(option.supported, range) or not option.supported:
        fits = number and (int(value) > 0 if not option.supported else int(value) in option.supported)
        wanted = f"{option.supported[0]} to {option.supported[-1]}" if option.supported else "a positive number"
    else:
        fits, wanted = (value or "") in option.supported, ", ".join(choice or "none" for choice in option.supported)
    if not fits:
        reason = f": {option.reason}" if option.reason else ""
        raise ConversionError(f"option {name}: {value} is not supported{reason} (supported: {wanted})")
    return value or ""


def _refuse(rules: tuple[tuple[bool, str], ...]) -> None:
    for broken, message in rules:
        if broken:
            raise ConversionError(message)


def _check_recurrent(options: dict[str, str]) -> None:
    normal, cells = options["layer-normalization"] == "true", {options["enc-cell"], options["dec-cell"]}
    nematus = options["type"] == "nematus"
    _refuse((
        (normal and "tanh" in cells, "option layer-normalization: true is not supported with tanh cells, whose gains Marian gives a wrong size"),
        (normal and not nematus and "gru-nematus" in cells,
         "option layer-normalization: true is not supported with gru-nematus cells in a model that is not of type nematus, where the cells are"
         " normalised in one way and all else in another"),
        (nematus and cells != {"gru-nematus"}, "option type: nematus has gru-nematus cells, and no others"),
        (nematus and options["enc-type"] != "bidirectional", "option type: nematus has a bidirectional encoder, and no other"),
        (nematus and options["dec-cell-high-depth"] != "1", "option type: nematus has no dec-cell-high-depth but 1"),
    ))


def _newer(found: dict[str, mappings.Value], date: str) -> bool:
    """The model was trained by Marian's main line, v1.12 or newer, of this day or later. (Others count their versions from 1.9 on.)"""
    match = re.match(r"v(\d+)\.(\d+)\.\d+\b.* (\d{4}-\d\d-\d\d) ", str(found.get("version", "")) + " ")
    return match is not None and (int(match[1]), int(match[2])) >= (1, 12) and match[3] >= date


def _norm(options: dict[str, str]) -> str:
    """post: behind each block; pre: before it, and on top of each stack; "": neither."""
    letters = tuple(options[f"transformer-{place}"].replace("d", "") for place in ("preprocess", "postprocess", "postprocess-top"))
    return {("", "an", ""): "post", ("n", "a", "n"): "pre"}.get(letters, "")


def _check_transformer(options: dict[str, str], found: dict[str, mappings.Value]) -> None:
    autoreg = options["transformer-decoder-autoreg"]
    norm, layer = _norm(options), options["transformer-guided-alignment-layer"]
    activations = [options["transformer-ffn-activation"]] + [options["transformer-aan-activation"]] * (autoreg == AVERAGE)
    _refuse((
        (autoreg == RNN and options["dec-cell"] != "ssru",
         f"option dec-cell: {options['dec-cell']} is not supported in a transformer's decoder: alignd has no such cell there (supported: ssru)"),
        (autoreg == RNN and options["layer-normalization"] == "true", "option layer-normalization: true is not supported: alignd's SSRU has no norm within"),
        (not norm, "options transformer-preprocess, -postprocess, -postprocess-top: are not supported together: alignd has norms behind each block (none,"
                   " dan, none) or before it and on top (n, da, n)"),
        (norm == "pre" and autoreg == SELF_ATTENTION,
         "option transformer-preprocess: n is not supported with a decoder of self-attention: Marian itself trains it in one way and translates in another"),
        (norm == "pre" and not _newer(found, ""),
         "option transformer-preprocess: n is supported only of models of Marian v1.12 or newer: older ones look at what was not normalised"),
        ("gelu" in activations and not _newer(found, "2023-04-01"),
         "option transformer-ffn-activation: gelu is supported only of models of Marian v1.12 of April 2023 or newer: older ones compute it in another way"),
        (layer != "last" and int(layer) > int(options["dec-depth"]),
         f"option transformer-guided-alignment-layer: {layer} is not supported: the decoder has {options['dec-depth']} layers"),
    ))
    options["norm"] = norm


def _tied_layers(found: dict[str, mappings.Value], depth: int) -> str:
    """For each layer of the decoder the number of that whose tensors it has."""
    layers = found.get(TIED_LAYERS) or [str(i + 1) for i in range(depth)]
    if isinstance(layers, str) or len(layers) != depth or not all(layer.isdigit() and 1 <= int(layer) <= depth for layer in layers):
        raise ConversionError(f"option {TIED_LAYERS}: {layers} is not supported: it needs one number from 1 to {depth} for each of the {depth} layers")
    return " ".join(layers)


def shares(options: dict[str, str]) -> bool:
    """Source and target have one embedding."""
    return "true" in (options["tied-embeddings-src"], options["tied-embeddings-all"])


def ties(options: dict[str, str]) -> bool:
    """The output layer's matrix is the target's embedding."""
    return "true" in (options["tied-embeddings"], options["tied-embeddings-all"])


def read(text: str, own: bool) -> tuple[dict[str, str], list[str]]:
    """own: the text is the model's, special:model.yml, in which an unknown option is an error. Otherwise it is a file of training options, or
    Nematus's JSON. -> the options of its type, the names of the others that were ignored."""
    try:
        found = _of_nematus(text) if text.lstrip().startswith("{") else mappings.read(text)
    except mappings.SyntaxFault as error:
        raise ConversionError(f"the options: {error}") from error
    rows = _rows(found)
    unknown = [name for name in found if not _known(name, found.get("type") == TRANSFORMER)]
    if own and unknown:
        raise ConversionError(f"option {unknown[0]}: unknown, and so is what it changes in the model")
    if any(kind != "sequence" for kind in found.get(INPUT_TYPES) or []):
        raise ConversionError(f"option {INPUT_TYPES}: {', '.join(found[INPUT_TYPES])} is not supported: alignd reads sentences")
    if "type" in found:
        _check("type", COMMON["type"], found["type"])
    if missing := [name for name, option in rows.items() if option.default is None and name not in found]:
        raise ConversionError(f"option {missing[0]}: missing")
    options = {name: _check(name, option, found.get(name, option.default)) for name, option in rows.items()}
    if options["type"] == TRANSFORMER:
        _check_transformer(options, found)
        options[TIED_LAYERS] = _tied_layers(found, int(options["dec-depth"]))
    else:
        _check_recurrent(options)
    return options, unknown
