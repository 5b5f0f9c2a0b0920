"""A model folder beside the program that its checkpoint is from: where their forward passes first differ.

Input: a function of that program, function(checkpoint, source, target) -> {name of a joint: tensor}. checkpoint: the
content of the file; source: the ids of a sentence as the program's encoder reads them; target: the ids that its decoder
reads, from the first one (<s>) on. The joints of this sentence, T source tokens and S steps, all of them or some:

encoder [T, D] annotations; initial [layers, H] the h of the decoder before the first step; energies [S, T] of the
attention before the softmax, whatever is the same for all tokens of a step left out; attention [S, T]; context [S, C];
state [S, H] what the top layer puts out; logits [S, V].

A transformer has encoder, attention (of the head that config.json names), state and logits.
"""

from __future__ import annotations

import importlib
import random
from pathlib import Path
from typing import Any, Callable

import torch
from torch import Tensor

from ..model import folder as folders
from ..model.network import Model
from ..model.vocabulary import BOS, EOS, UNK
from .converted import ConversionError

TOLERANCE = 1e-4
BEFORE, STEPS = ("encoder", "initial"), ("energies", "attention", "context", "state", "logits")
LENGTHS = ((1, 2), (4, 6), (8, 5))  # words of the random sentences, and of their translations


def find(name: str) -> Callable:
    """MODULE:FUNCTION -> the function."""
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function, None)
    except ModuleNotFoundError as error:
        if error.name is None or not (module + ".").startswith(error.name + "."):
            raise
        found = None
    if not module or not callable(found):
        raise ConversionError(f"--check: {name} is not MODULE:FUNCTION, a function that Python finds from this folder")
    return found


@torch.no_grad()
def ours(model: Model, source: list[int], target: list[int]) -> dict[str, Tensor]:
    """The joints of a model of the family."""
    kept: dict[str, list[Tensor]] = {"energies": [], "context": []}
    ids, lengths = torch.tensor([source]), torch.tensor([len(source)])
    annotations, finals = model.encoder(ids, lengths)
    memory = model.decoder.memory(annotations, lengths, finals)
    state = model.decoder.start(memory, finals)
    attention = getattr(model.decoder, "attention", None)
    found = {"encoder": annotations[0]}
    hook = None
    if attention is not None:
        score = attention.scorer.score

        def recorded(query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
            kept["energies"].append(score(query, keys, coverage)[0, -1])
            return kept["energies"][-1][None, None]

        attention.scorer.score = recorded
        hook = attention.register_forward_hook(lambda _, __, out: kept["context"].append(out[0][0, -1]))
    if model.config["decoder"]["style"] != "transformer":
        found["initial"] = torch.stack([layer[0][0] for layer in state.layers])
    steps = []
    for i, token in enumerate(target):
        y = model.decoder.embedding(torch.tensor([token]))
        y = torch.zeros_like(y) if i == 0 and model.config["decoder"]["first_input"] == "zero" else y
        reads, state = model.decoder.step(y, state, memory)
        steps.append(reads)
    if hook:
        hook.remove()
        del attention.scorer.score
    found |= {name: torch.stack(parts) for name, parts in kept.items() if parts}
    found |= {"attention": torch.stack([reads.weights[0] for reads in steps]),
              "state": torch.stack([reads.states[0] for reads in steps]),
              "logits": torch.stack([model.output(reads.readouts)[0] for reads in steps])}
    return found


def _same_scale(name: str, x: Tensor) -> Tensor:
    """The softmax does not depend on what all energies of a step have in common."""
    return x - x.mean(-1, keepdim=True) if name == "energies" else x


def _checked(theirs: Any, name: str, mine: dict[str, Tensor], words: int) -> dict[str, Tensor]:
    if not isinstance(theirs, dict) or not theirs.keys() & mine.keys():
        raise ConversionError(f"--check: {name} must return a dictionary with some of {', '.join(mine)}")
    if strange := theirs.keys() - mine.keys():
        raise ConversionError(f"--check: {name} returns {min(strange)}; this model has {', '.join(mine)}")
    mine["logits"] = mine["logits"][:, :words]  # without the <unk> that was added
    found = {}
    for joint, x in theirs.items():
        found[joint] = torch.as_tensor(x).detach().float().cpu()
        if found[joint].shape != mine[joint].shape:
            raise ConversionError(f"--check: {name} returns {joint} of the shape {tuple(found[joint].shape)}, expected "
                                  f"{tuple(mine[joint].shape)}")
    return found


def _in_order(mine: dict[str, Tensor], theirs: dict[str, Tensor]):
    """Yields name, place and both values in the order in which they are computed."""
    for name in BEFORE:
        for i in range(len(theirs.get(name, ()))):
            yield name, i, mine[name][i], theirs[name][i]
    for i in range(len(mine["logits"])):
        for name in (joint for joint in STEPS if joint in theirs):
            yield name, i, *(_same_scale(name, joints[name][i]) for joints in (mine, theirs))


PLACES = {"encoder": "source token", "initial": "layer"}


def compare(folder: Path, function: Callable[[list[int], list[int]], Any], own: dict[str, int], name: str,
            tolerance: float = TOLERANCE) -> None:
    """Compares random sentences, and prints the largest difference of each joint. Raises ConversionError where they
    first differ. own: the numbers of words that the program has; name: the function's."""
    model, source, target = folders.read(folder, searches=False)
    config, draw, largest = model.config, random.Random(1), {}
    first = {"bos": target.special[BOS], "eos": target.special[EOS]}.get(config["decoder"]["first_input"],
                                                                        target.special[UNK])
    words = [[i for i in range(own[which]) if i not in side.special] for which, side in (("source", source),
                                                                                         ("target", target))]
    for read, written in LENGTHS:
        ids = draw.choices(words[0], k=read) + [source.special[EOS]] * config["encoder"]["eos"]
        inputs = [first, *draw.choices(words[1], k=written)]
        mine = ours(model, ids, inputs)
        theirs = _checked(function(ids, inputs), name, mine, own["target"])
        for joint, place, a, b in _in_order(mine, theirs):
            difference = (a - b).abs()
            worst = float(difference.max())
            largest[joint] = max(largest.get(joint, 0.0), worst)
            if not worst <= tolerance:
                at = int(difference.argmax())
                raise ConversionError(
                    f"{folder}: {joint} differs first, at {PLACES.get(joint, 'step')} {place} of the source {ids} and "
                    f"target {inputs}: element {at} is {float(a[at]):.6g}, and {float(b[at]):.6g} by {name}")
    print("same as " + name + ", with the largest differences: "
          + ", ".join(f"{joint} {worst:.1g}" for joint, worst in largest.items()))
