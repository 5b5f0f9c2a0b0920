"""The model configuration: one description of every key, its type and its choices.

Input: a dictionary as in config.json. Output of `validate`: the same dictionary with defaults filled in, or ConfigError
naming the key. The C server checks the same rules in model/config.c and config_rules.c; tests/test_weights.py and tests/test_config.c hold both to
the same list of wrong configurations.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

FORMAT = 1


class ConfigError(ValueError):
    """A configuration that cannot be built; the message starts with the key."""


@dataclass(frozen=True)
class Key:
    """One key: its JSON type, the values allowed (a set of names or an inclusive range), and its default (None: required).

    only: the type (the section's key `type`, which comes first) that has such a key at all; for others it is neither needed nor filled in.
    """

    kind: type
    allowed: tuple = ()
    default: Any = None
    only: str = ""


CELLS = ("gru", "lstm", "rnn")
NORMALIZATIONS = ("none", "layer", "gates")
COPYING = ("pointer", "pointer_generator", "copy")  # outputs that can produce words of the source
SECTIONS: dict[str, dict[str, Key]] = {
    "encoder": {
        "type": Key(str, ("recurrent", "convolutional"), "recurrent"),
        "cell": Key(str, CELLS, only="recurrent"),
        "layers": Key(int, (1, 16), 1),
        "bidirectional": Key(bool, (), True, only="recurrent"),
        "embedding": Key(int, (1, 65536)),
        "hidden": Key(int, (1, 65536)),
        "eos": Key(bool, (), True),
        "residual": Key(bool, (), False, only="recurrent"),
        "width": Key(int, (1, 31), only="convolutional"),
        "normalization": Key(str, NORMALIZATIONS, "none", only="recurrent"),
        "transitions": Key(int, (0, 16), 0, only="recurrent"),
        "stack": Key(str, ("joined", "separate", "alternating", "forward"), "joined", only="recurrent"),
        "embedding_shared": Key(bool, (), False),
    },
    "attention": {
        "score": Key(str, ("dot", "general", "additive", "scaled_dot", "location")),
        "size": Key(int, (0, 65536), 0),
        "scale": Key(str, ("fixed", "learned"), "fixed"),
        "keys": Key(str, ("identity", "learned"), "identity"),
        "values": Key(str, ("identity", "learned"), "identity"),
        "value_size": Key(int, (0, 65536), 0),
        "window": Key(str, ("global", "local_m", "local_p"), "global"),
        "half_width": Key(int, (0, 1000), 0),
        "source_depth": Key(int, (0, 1000), 0),
        "coverage": Key(bool, (), False),
        "normalization": Key(str, NORMALIZATIONS, "none"),
    },
    "decoder": {
        "style": Key(str, ("luong", "conditional", "bahdanau", "fixed")),
        "cell": Key(str, CELLS),
        "layers": Key(int, (1, 16), 1),
        "embedding": Key(int, (1, 65536)),
        "hidden": Key(int, (1, 65536)),
        "input_feeding": Key(bool, (), False),
        "initial_state": Key(str, ("zero", "last", "mean"), "last"),
        "initial_projection": Key(bool, (), False),
        "readout": Key(str, ("attentional", "tanh", "concat", "maxout", "linear"), "attentional"),
        "readout_size": Key(int, (0, 65536), 0),
        "first_input": Key(str, ("bos", "zero"), "bos"),
        "residual": Key(bool, (), False),
        "normalization": Key(str, NORMALIZATIONS, "none"),
        "transitions": Key(int, (0, 16), 0),
        "upper_transitions": Key(int, (0, 16), 0),
        "initial_cell": Key(str, ("zero", "state"), "zero"),
    },
    "output": {
        "type": Key(str, ("vocabulary", "characters", *COPYING), "vocabulary"),
        "tied": Key(bool, (), False),
        "character_embedding": Key(int, (0, 65536), 0),
        "unknowns": Key(bool, (), True),
        "gate": Key(str, ("inputs", "readout"), "inputs"),
        "pointer": Key(str, ("attention", "readout"), "attention"),
    },
    "tokenizer": {
        "type": Key(str, ("sentencepiece", "words", "characters"), "sentencepiece"),
        "source": Key(str, (), "source.spm"),
        "target": Key(str, (), "target.spm"),
        "lowercase": Key(str, ("none", "source", "both"), "none"),
        "punctuation": Key(str, ("none", "source", "both"), "none"),
    },
    "limits": {
        "max_source_tokens": Key(int, (1, 1000), 100),
        "max_target_ratio": Key(float, (0.1, 20.0), 3.0),
    },
}
TOP: dict[str, Key] = {
    "format": Key(int, (FORMAT, FORMAT)),
    "name": Key(str),
    "source": Key(str),
    "target": Key(str),
    "task": Key(str, ("translation", "parsing"), "translation"),
}


def _check(path: str, value: Any, key: Key) -> Any:
    kind = "number" if key.kind is float else {str: "string", int: "integer", bool: "boolean"}[key.kind]
    if key.kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, key.kind) or (key.kind is int and isinstance(value, bool)):
        raise ConfigError(f"{path}: must be of type {kind}")
    if key.kind is str and key.allowed and value not in key.allowed:
        raise ConfigError(f"{path}: must be one of {', '.join(key.allowed)}, got {value}")
    if key.kind in (int, float) and key.allowed and not key.allowed[0] <= value <= key.allowed[1]:
        raise ConfigError(f"{path}: must be between {key.allowed[0]} and {key.allowed[1]}, got {value}")
    return value


def _fill(section: dict, keys: dict[str, Key], prefix: str) -> None:
    for name in section:
        if name not in keys and not (prefix == "" and name in SECTIONS):
            raise ConfigError(f"{prefix}{name}: unknown key")
    for name, key in keys.items():
        if key.only and key.only != section["type"]:
            if name in section:
                raise ConfigError(f"{prefix}{name}: belongs to type {key.only}, and only there")
        elif name in section:
            section[name] = _check(prefix + name, section[name], key)
        elif key.default is None:
            raise ConfigError(f"{prefix}{name}: missing")
        else:
            section[name] = key.default


def annotation_size(config: dict) -> int:
    """D: the size of one annotation."""
    encoder = config["encoder"]
    return encoder["hidden"] * (2 if encoder.get("bidirectional") and encoder["stack"] != "forward" else 1)


def context_size(config: dict) -> int:
    """C: the size of one context, and of a value V h_j; that of an annotation unless attention.value_size says otherwise."""
    return (config["attention"] or {}).get("value_size") or annotation_size(config)


def positions(config: dict) -> int:
    """The tokens of the longest source sentence, </s> counted."""
    return config["limits"]["max_source_tokens"] + 1


def readout_size(config: dict) -> int:
    """O: the size of the vector that the output layer reads."""
    decoder = config["decoder"]
    return decoder["readout_size"] if decoder["readout"] != "concat" else context_size(config) + decoder["hidden"]


def validate(config: dict) -> dict:
    """Returns a deep copy with defaults filled in; raises ConfigError naming the first wrong key."""
    config = copy.deepcopy(config)
    for name, keys in SECTIONS.items():
        section = config.setdefault(name, {})
        if not isinstance(section, dict) and not (name == "attention" and section is None):
            raise ConfigError(f"{name}: must be an object")
    _fill(config, TOP, "")
    for name, keys in SECTIONS.items():
        if config[name] is not None:
            _fill(config[name], keys, name + ".")
    encoder, decoder, tokenizer, output = (config[name] for name in ("encoder", "decoder", "tokenizer", "output"))
    attention = config["attention"] or {name: key.default for name, key in SECTIONS["attention"].items()}
    convolutional, fixed, pointer = encoder["type"] == "convolutional", decoder["style"] == "fixed", output["type"] == "pointer"
    rules = (
        (convolutional and encoder["width"] % 2 == 0, "encoder.width: must be odd"),
        (not convolutional and encoder["residual"] and encoder["layers"] == 1, "encoder.residual: needs two layers or more"),
        (decoder["residual"] and decoder["layers"] == 1, "decoder.residual: needs two layers or more"),
        (decoder["upper_transitions"] > 0 and decoder["layers"] == 1, "decoder.upper_transitions: needs two layers or more"),
        (not convolutional and encoder["normalization"] == "gates" and encoder["cell"] != "gru",
         "encoder.normalization: gates needs the gru cell"),
        (decoder["normalization"] == "gates" and decoder["cell"] != "gru", "decoder.normalization: gates needs the gru cell"),
        (not convolutional and encoder["stack"] != "joined" and not (encoder["bidirectional"] and encoder["layers"] > 1),
         "encoder.stack: all but joined need a bidirectional encoder of two layers or more"),
        (encoder["embedding_shared"] and encoder["embedding"] != decoder["embedding"],
         "encoder.embedding_shared: needs encoder.embedding and decoder.embedding of one size"),
        (fixed and config["attention"] is not None, "attention: must be null with decoder.style fixed"),
        (not fixed and config["attention"] is None, "attention: may be null with decoder.style fixed only"),
        (fixed and decoder["initial_state"] != "last", "decoder.initial_state: style fixed needs last"),
        (convolutional and decoder["initial_state"] == "last", "decoder.initial_state: last needs a recurrent encoder"),
        (attention["score"] in ("dot", "scaled_dot") and attention["keys"] == "identity"
         and annotation_size(config) != decoder["hidden"],
         f"attention.score: {attention['score']} needs annotations ({annotation_size(config)}) as large as decoder.hidden ({decoder['hidden']})"),
        ((attention["score"] == "additive") != (attention["size"] > 0),
         "attention.size: belongs to the additive score, and only there"),
        (attention["scale"] == "learned" and attention["score"] != "scaled_dot",
         "attention.scale: belongs to the scaled_dot score"),
        (attention["keys"] == "learned" and attention["score"] not in ("dot", "scaled_dot"),
         "attention.keys: learned keys belong to the dot and scaled_dot scores; the others have matrices of their own"),
        (attention["value_size"] > 0 and attention["values"] == "identity",
         "attention.value_size: belongs to learned values"),
        ((attention["window"] == "global") != (attention["half_width"] == 0),
         "attention.half_width: belongs to the windows local_m and local_p, and only there"),
        (attention["source_depth"] > 0 and attention["window"] != "global",
         "attention.source_depth: belongs to the window global"),
        (attention["coverage"] and attention["score"] != "additive",
         "attention.coverage: needs the additive score"),
        (attention["normalization"] != "none" and attention["score"] != "additive",
         "attention.normalization: belongs to the additive score"),
        (decoder["input_feeding"] and (decoder["style"] != "luong" or decoder["readout"] not in ("attentional", "linear")),
         "decoder.input_feeding: needs style luong and readout attentional or linear"),
        ((decoder["readout"] == "concat") != (decoder["readout_size"] == 0),
         "decoder.readout_size: every readout but concat needs one"),
        (config["output"]["tied"] and readout_size(config) != decoder["embedding"],
         "output.tied: the readout must be as large as decoder.embedding"),
        (decoder["initial_state"] == "zero" and decoder["initial_projection"],
         "decoder.initial_projection: a zero state has nothing to project"),
        (decoder["initial_state"] == "last" and not decoder["initial_projection"] and encoder.get("stack") == "forward",
         "decoder.initial_projection: without one, all layers of the encoder must be of one size, which encoder.stack forward's are not"),
        (decoder["initial_state"] != "zero" and not decoder["initial_projection"] and annotation_size(config) != decoder["hidden"],
         "decoder.initial_projection: without one, annotations must be as large as decoder.hidden"),
        (decoder["initial_state"] == "last" and not decoder["initial_projection"]
         and (decoder["layers"] != encoder["layers"] or decoder["cell"] != encoder.get("cell")),
         "decoder.initial_projection: without one, encoder and decoder need the same cell and number of layers"),
        (decoder["initial_cell"] == "state" and decoder["cell"] != "lstm", "decoder.initial_cell: state belongs to the cell lstm"),
        (decoder["initial_cell"] == "state" and not decoder["initial_projection"],
         "decoder.initial_cell: state needs decoder.initial_projection"),
        (tokenizer["lowercase"] != "none" and tokenizer["type"] == "sentencepiece",
         "tokenizer.lowercase: a SentencePiece vocabulary has its own normalisation"),
        (tokenizer["punctuation"] != "none" and tokenizer["type"] != "words", "tokenizer.punctuation: belongs to words, and only there"),
        (output["type"] == "characters" and tokenizer["type"] != "words",
         "output.type: characters spell words, so tokenizer.type must be words"),
        ((output["type"] == "characters") != (output["character_embedding"] > 0),
         "output.character_embedding: belongs to the type characters, and only there"),
        (output["type"] == "characters" and not output["unknowns"],
         "output.unknowns: the type characters spells the words that come out as <unk>"),
        (output["type"] in COPYING and fixed, "output.type: copying needs a decoder with attention"),
        (output["gate"] == "readout" and output["type"] != "pointer_generator", "output.gate: belongs to the type pointer_generator"),
        (output["pointer"] == "readout" and output["type"] != "pointer_generator", "output.pointer: belongs to the type pointer_generator"),
        (pointer and not encoder["eos"], "encoder.eos: a pointer ends by pointing at the source's </s>"),
        (pointer and output["tied"], "output.tied: a pointer has no output matrix"),
        (pointer and not decoder["input_feeding"] and decoder["readout"] != "concat",
         "decoder.readout: must be concat, since a pointer reads none, unless decoder.input_feeding does"),
    )
    for broken, message in rules:
        if broken:
            raise ConfigError(message)
    return config
