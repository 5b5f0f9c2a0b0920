"""The model configuration: one description of every key, its type and its choices.

Input: a dictionary as in config.json. Output of `validate`: the same dictionary with defaults filled in, or ConfigError
naming the key. Keys and rules are read from config.def, which is also built into the C server (model/weights/config.c).
"""

from __future__ import annotations

import copy
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..command import CommandError


class ConfigError(CommandError):
    """The configuration is invalid; the message starts with the key."""


@dataclass(frozen=True)
class Key:
    """One key: its JSON type, the allowed values (a set of names or an inclusive range), and its default (None:
    required).

    only: the values of the section's `type` or `style`, which comes first, for which the key exists; for others it is
    neither required nor filled in.
    """

    kind: type
    allowed: tuple = ()
    default: Any = None
    only: tuple[str, ...] = ()
    file: bool = False  # a name within the model folder


KINDS = {"string": str, "file": str, "integer": int, "boolean": bool, "number": float}
NO_FILE = "none"
# Keys that were added after the first release of the format.
YOUNG = ("alignment.size", "tokenizer.pieces", "tokenizer.target_pieces", "tokenizer.preparation", "tokenizer.capitals",
         "decoder.alignment_trained", "defaults.compute",
         "defaults.shortlist", "defaults.beam_size", "defaults.length_penalty", "defaults.finished", "decoder.prefix",
         "encoder.position_offset", "encoder.epsilon", "decoder.position_offset", "decoder.epsilon", "limits.doubt",
         "encoder.bos", "encoder.padded_to", "decoder.query",
         *(f"{side}.{name}" for side in ("encoder", "decoder") for name in (
             "norm_type", "gated", "embedding_norm", "rotary_size", "rotary_pairs", "rotary_base", "head_size",
             "biases", "scaled_scores", "relative_buckets", "relative_distance", "relative_shared")))
COPYING = ("pointer", "pointer_generator", "copy")  # outputs that can copy words of the source
SECTIONS: dict[str, dict[str, Key]] = {name: {} for name in ("encoder", "attention", "decoder", "alignment", "output",
                                                             "tokenizer", "limits", "defaults")}
TOP: dict[str, Key] = {}
RULES: list[tuple[str, str, str]] = []  # message, when, unless


def _value(kind: type, text: str) -> Any:
    return text == "true" if kind is bool else kind(text)


def _key(type_name: str, default: str, allowed: str, only: str) -> Key:
    kind = KINDS[type_name]
    choices = (tuple(kind(bound) for bound in allowed.split(" to ")) if kind in (int, float)
               else tuple(allowed.split(", ")) if allowed else ())
    return Key(kind, choices, _value(kind, default) if default else None, tuple(only.split(", ")) if only else (),
               type_name == "file")


def _read(text: str) -> None:
    """Fills TOP, SECTIONS and RULES from the lines of config.def."""
    for line in text.splitlines():
        texts = re.findall(r'"([^"]*)"', line)
        if line.startswith("RULE("):
            RULES.append((texts[0], texts[1], texts[2]))
        elif line.startswith("KEY("):
            path, _, kind = line[len("KEY("):].split(", ")[:3]
            section, _, name = path.rpartition(".")
            (SECTIONS[section] if section else TOP)[name] = _key(kind, *texts)


_read((Path(__file__).parent.parent / "config.def").read_text(encoding="utf-8"))
FORMAT = TOP["format"].allowed[0]


def _check(path: str, value: Any, key: Key) -> Any:
    kind = "number" if key.kind is float else {str: "string", int: "integer", bool: "boolean"}[key.kind]
    if key.kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, key.kind) or (key.kind is int and isinstance(value, bool)):
        raise ConfigError(f"{path}: must be of type {kind}")
    if key.kind is str and key.allowed and value not in key.allowed:
        raise ConfigError(f"{path}: must be one of {', '.join(key.allowed)}, got {value}")
    if key.file and (value in ("", ".", "..") or "/" in value):
        raise ConfigError(f"{path}: must be the name of a file in the model folder, got {value}")
    if key.kind in (int, float) and key.allowed and not key.allowed[0] <= value <= key.allowed[1]:
        raise ConfigError(f"{path}: must be between {key.allowed[0]} and {key.allowed[1]}, got {value}")
    return value


def _fill(section: dict, keys: dict[str, Key], prefix: str) -> None:
    for name in section:
        if name not in keys and not (prefix == "" and (name in SECTIONS or name == "languages")):
            raise ConfigError(f"{prefix}{name}: unknown key")
    chooser = "style" if "style" in keys else "type"
    for name, key in keys.items():
        if key.only and section[chooser] not in key.only:
            if name in section:
                raise ConfigError(f"{prefix}{name}: allowed only for {chooser} {', '.join(key.only)}")
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
    """C: the size of a context and of a value V h_j; that of an annotation unless attention.value_size is set."""
    return (config["attention"] or {}).get("value_size") or annotation_size(config)


def attends(config: dict) -> bool:
    """Whether the decoder attends to the source's tokens; only style fixed does not."""
    return config["decoder"]["style"] != "fixed"


def positions(config: dict) -> int:
    """The number of tokens of the longest source sentence, </s> included."""
    return config["limits"]["max_source_tokens"] + 1


def target_positions(config: dict) -> int:
    """The maximum number of steps of that sentence's translation."""
    return max(1, math.floor(config["limits"]["max_target_ratio"] * positions(config) + 0.5))


def readout_size(config: dict) -> int:
    """O: the size of the vector that the output layer reads."""
    decoder = config["decoder"]
    if decoder["style"] == "transformer":
        return decoder["hidden"]
    sides = {"concat": context_size(config) + decoder["hidden"], "state": decoder["hidden"]}
    return sides.get(decoder["readout"], decoder["readout_size"])


def _text(config: dict, operand: str) -> str:
    """The value of a key or of a derived size, in the notation of the rules; "" if it has none."""
    if operand in ("annotation", "readout"):
        return str({"annotation": annotation_size, "readout": readout_size}[operand](config))
    section, _, name = operand.partition(".")
    key, values = SECTIONS[section][name], config[section] or {}
    value = values.get(name, None if key.only else key.default)
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _equals(config: dict, text: str, value: str) -> bool:
    if value == "even":
        return text != "" and int(text) % 2 == 0
    if ":" in value:
        relation, _, other = value.partition(":")
        numbers = text, _text(config, other)
        return ("" not in numbers and (int(text) < int(numbers[1]) if relation == "below"
                                       else int(text) % int(numbers[1]) == 0))
    return text == ("" if value == "nothing" else _text(config, value) if "." in value else value)


def _holds(config: dict, condition: str) -> bool:
    for clause in condition.split(" and "):
        operand, values = clause.split(" is ")
        wanted = not values.startswith("not ")
        text = _text(config, operand)
        if wanted != any(_equals(config, text, value) for value in values.removeprefix("not ").split(" or ")):
            return False
    return True


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
    for message, when, unless in RULES:
        if _holds(config, when) and not (unless and _holds(config, unless)):
            raise ConfigError(re.sub(r"{([^}]*)}", lambda operand: _text(config, operand[1]), message))
    return config


def _is_young_default(section: str, name: str, value: Any) -> bool:
    return f"{section}.{name}" in YOUNG and value == SECTIONS[section][name].default


def text_of(config: dict) -> str:
    """The text of config.json for a validated configuration. Keys that older servers do not know are left out if they
    have their default."""
    kept = {name: {key: value for key, value in section.items() if not _is_young_default(name, key, value)}
            if isinstance(section, dict) else section
            for name, section in config.items()}
    kept = {name: section for name, section in kept.items() if section != {}}
    return json.dumps(kept, indent=2, ensure_ascii=False) + "\n"
