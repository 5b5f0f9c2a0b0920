"""What Marian's and Nematus's options say about a model, and which of them can be converted.

Input: the text of the options (Marian's YAML, Nematus's JSON). Output of `read`: Marian's options by name, checked. One row of OPTIONS for each
option that shapes the computation: what is supported, what it is where it is not given, and why nothing else is. An option that is in no row
is refused, too, since nobody knows what it changes.
"""

from __future__ import annotations

import json
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
OPTIONS: dict[str, Option] = {
    "type": Option(None, ("s2s", "amun", "nematus"), "only recurrent models with one source can be converted"),
    "dim-emb": Option(None),
    "dim-rnn": Option(None),
    "enc-type": Option("bidirectional", ("bidirectional", "bi-unidirectional", "alternating"), "alignd has no such encoder"),
    "enc-cell": Option("gru", _CELLS, _NO_CELL),
    "enc-depth": Option("1", range(1, 17), "alignd has 16 layers at most"),
    "enc-cell-depth": Option("1", range(1, 18), "alignd has 16 transitions at most"),
    "dec-cell": Option("gru", _CELLS, _NO_CELL),
    "dec-depth": Option("1", range(1, 17), "alignd has 16 layers at most"),
    "dec-cell-base-depth": Option("2", range(2, 19), "the attention stands between the first cell and a second one"),
    "dec-cell-high-depth": Option("1", range(1, 18), "alignd has 16 transitions at most"),
    "skip": Option("false", SWITCH),
    "layer-normalization": Option("false", SWITCH),
    "tied-embeddings": Option("false", SWITCH),
    "tied-embeddings-src": Option("false", SWITCH),
    "tied-embeddings-all": Option("false", SWITCH),
    "right-left": Option("false", OFF, "the model writes from right to left"),
    "output-omit-bias": Option("false", OFF, "alignd's output layer has a bias"),
    "special-vocab": Option("", EMPTY, "alignd has no special vocabulary"),
    "lemma-dim-emb": Option("0", NONE, _FACTORS),
    "lemma-dependency": Option("", EMPTY, _FACTORS),
    "factors-dim-emb": Option("0", NONE, _FACTORS),
    "ulr": Option("false", OFF, "alignd has no universal representations"),
    "dec-attention-hops": Option("1", ONE, _ATTENTION),
    "dec-attention-heads": Option("1", ONE, _ATTENTION),
    "dec-attention-projection-dim": Option("-1", ("-1",), _ATTENTION),
    "dec-attention-bilinear-lookup": Option("false", OFF, _ATTENTION),
}
INPUT_TYPES = "input-types"  # a list; empty, or all of them `sequence`
# Options that say nothing about a model of these types: how it was trained, and what only others have.
IGNORED = {"version", "dim-vocabs", "factors-combine", "separator-symbol", "ulr-dim-emb", "ulr-trainable-transformation", "original-type",
           "dec-attention-lookup-dim", "dec-attention-independent-heads", "dec-attention-projection-layernorm",
           "dec-attention-projection-activation"}
IGNORED_PREFIXES = ("transformer-", "bert-", "char-", "comet-")

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
    except ValueError as error:
        raise ConversionError(f"the options are not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ConversionError("the options are not a JSON object")
    for key, supported in NEMATUS_ALWAYS.items():
        if found.get(key, supported[0]) not in supported:
            raise ConversionError(f"option {key}: {found[key]} is not supported; Nematus's models are converted with {supported[0]}")
    renamed = {NEMATUS[key]: str(value).lower() for key, value in found.items() if key in NEMATUS}
    return {"type": "nematus", "enc-cell": "gru-nematus", "dec-cell": "gru-nematus"} | renamed


def _known(name: str) -> bool:
    return name in OPTIONS or name == INPUT_TYPES or name in IGNORED or name.startswith(IGNORED_PREFIXES)


def _check(name: str, value: mappings.Value) -> str:
    option = OPTIONS[name]
    number = isinstance(value, str) and value.lstrip("-").isdigit()
    if isinstance(option.supported, range) or not option.supported:
        fits = number and int(value) > 0 and (not option.supported or int(value) in option.supported)
        wanted = f"{option.supported[0]} to {option.supported[-1]}" if option.supported else "a positive number"
    else:
        fits, wanted = (value or "") in option.supported, ", ".join(option.supported)
    if not fits:
        reason = f": {option.reason}" if option.reason else ""
        raise ConversionError(f"option {name}: {value} is not supported{reason} (supported: {wanted or 'none'})")
    return value or ""


def _check_together(options: dict[str, str]) -> None:
    normal, cells = options["layer-normalization"] == "true", {options["enc-cell"], options["dec-cell"]}
    nematus = options["type"] == "nematus"
    rules = (
        (normal and "tanh" in cells, "option layer-normalization: true is not supported with tanh cells, whose gains Marian gives a wrong size"),
        (normal and not nematus and "gru-nematus" in cells,
         "option layer-normalization: true is not supported with gru-nematus cells in a model that is not of type nematus, where the cells are"
         " normalised in one way and all else in another"),
        (nematus and cells != {"gru-nematus"}, "option type: nematus has gru-nematus cells, and no others"),
        (nematus and options["enc-type"] != "bidirectional", "option type: nematus has a bidirectional encoder, and no other"),
        (nematus and options["dec-cell-high-depth"] != "1", "option type: nematus has no dec-cell-high-depth but 1"),
    )
    for broken, message in rules:
        if broken:
            raise ConversionError(message)


def read(text: str, own: bool) -> tuple[dict[str, str], list[str]]:
    """own: the text is the model's, special:model.yml, in which an unknown option is an error. Otherwise it is a file of training options, or
    Nematus's JSON. -> the options of OPTIONS, the names of the others that were ignored."""
    try:
        found = _of_nematus(text) if text.lstrip().startswith("{") else mappings.read(text)
    except mappings.SyntaxFault as error:
        raise ConversionError(f"the options: {error}") from error
    unknown = [name for name in found if not _known(name)]
    if own and unknown:
        raise ConversionError(f"option {unknown[0]}: unknown, and so is what it changes in the model")
    if any(kind != "sequence" for kind in found.get(INPUT_TYPES) or []):
        raise ConversionError(f"option {INPUT_TYPES}: {', '.join(found[INPUT_TYPES])} is not supported: alignd reads sentences")
    if missing := [name for name, option in OPTIONS.items() if option.default is None and name not in found]:
        raise ConversionError(f"option {missing[0]}: missing")
    options = {name: _check(name, found.get(name, option.default)) for name, option in OPTIONS.items()}
    _check_together(options)
    return options, unknown
