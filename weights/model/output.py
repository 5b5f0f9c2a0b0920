"""The outputs: from the decoder's step to log-probabilities over the vocabulary, the source's words, or both.

An output is a row of OUTPUTS; the C server has a row of the same name. Copying outputs give every source position a
score on the scale of the vocabulary's logits; the probabilities of all ways to produce a token are added, under one
softmax. `Memory.words` has the source tokens as target ids (weights/model/copies.py): the id of the word in the target
vocabulary or, if the vocabulary lacks it, a temporary id V, V + 1, ... of the sentence. The encoder's </s> stands for
the end of the target. Searches report the attention of the step, even if the scores of the positions differ from it
(pointer, copy, and pointer_generator with pointer readout).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from .config import annotation_size, readout_size

if TYPE_CHECKING:
    from .network import Memory

IMPOSSIBLE = -1e30  # stands for log 0, with a finite gradient
LEAST = 2.0**-126   # the smallest normal float32, a lower bound on attention


class Reads(NamedTuple):
    """The inputs of an output for S steps: readouts [B, S, O], the top layer's states [B, S, H], the embeddings of the
    previous tokens [B, S, E], attention [B, S, T]."""

    readouts: Tensor
    states: Tensor
    inputs: Tensor
    weights: Tensor


class Vocabulary(nn.Linear):
    """Softmax over the vocabulary."""

    copies = False

    def __init__(self, config: dict, vocabulary: int) -> None:
        super().__init__(readout_size(config), vocabulary)

    def log_probs(self, reads: Reads, memory: Memory) -> Tensor:
        """-> [B, S, V]"""
        return torch.log_softmax(self(reads.readouts), dim=-1)

    def named_tensors(self) -> dict[str, Tensor]:
        return {"output.bias": self.bias, "output.weight": self.weight}


class Copying:
    """The base of copying outputs, which define `scores`: logits [B, S, V] and the scores of the source's positions [B,
    S, T]."""

    copies = True

    def scores(self, reads: Reads, memory: Memory) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def log_probs(self, reads: Reads, memory: Memory) -> Tensor:
        """Returns [B, S, V + X], where X is the largest number of temporary ids of a sentence."""
        logits, scores = self.scores(reads, memory)
        extra = max(0, int(memory.words.max()) + 1 - logits.shape[-1])
        logits = torch.cat([logits, logits.new_full((*logits.shape[:2], extra), float("-inf"))], dim=-1)
        for j in range(scores.shape[2]):
            word = memory.words[:, None, j:j + 1].expand(-1, logits.shape[1], -1)
            logits.scatter_(-1, word, torch.logaddexp(logits.gather(-1, word), scores[:, :, j:j + 1]))
        return torch.log_softmax(logits, dim=-1)

    def marginal(self, reads: Reads, memory: Memory, wanted: Tensor) -> tuple[Tensor, Tensor]:
        """wanted [B, S] -> log P(wanted) [B, S], summed over all ways to produce it; and the mean over the vocabulary
        of the log-probability of writing a token [B, S] (without copies), which label smoothing raises."""
        logits, scores = self.scores(reads, memory)
        size = logits.shape[-1]
        same = memory.words[:, None] == wanted[:, :, None]  # [B, S, T]
        copied = torch.logsumexp(scores.masked_fill(~same, IMPOSSIBLE).clamp_min(IMPOSSIBLE), dim=-1)
        written = logits.gather(-1, wanted.clamp(max=size - 1)[:, :, None])[:, :,
                                                                            0].masked_fill(wanted >= size, IMPOSSIBLE)
        written = written.clamp_min(IMPOSSIBLE)
        total = torch.logsumexp(torch.cat([logits, scores], dim=-1), dim=-1)
        return torch.logaddexp(written, copied) - total, logits.mean(dim=-1) - total


def pointed(key: nn.Linear, queries: Tensor, memory: Memory) -> Tensor:
    """queries q [B, S, Q] -> e_j = h_j^T V q for every position [B, S, T]; key holds V^T."""
    e = queries @ key(memory.annotations).transpose(1, 2)
    return e.masked_fill(~memory.mask[:, None], float("-inf"))


class Pointer(Copying, nn.Module):
    """Softmax over the source's positions alone, e_j = h_j^T V s (Vinyals et al. 2015). Copying the source's </s> ends
    the target."""

    def __init__(self, config: dict, vocabulary: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.key = nn.Linear(annotation_size(config), config["decoder"]["hidden"], bias=False)

    def scores(self, reads: Reads, memory: Memory) -> tuple[Tensor, Tensor]:
        e = pointed(self.key, reads.states, memory)
        return e.new_full((*e.shape[:2], self.vocabulary), float("-inf")), e

    def named_tensors(self) -> dict[str, Tensor]:
        return {"output.key.weight": self.key.weight}


class PointerGenerator(Copying, Vocabulary):
    """P = P(copy) P_pointer + (1 - P(copy)) P_vocab, where P_pointer is the attention of the step and P(copy) =
    sigmoid(g), g = w [c; s; y] + b (See et al. 2017, whose p_gen is 1 - P(copy)). OpenNMT-py's variants: with gate
    readout, g = w r + b of the readout; with pointer readout, P_pointer is a separate softmax over e_j = h_j^T V r.
    With L the logsumexp of the logits, position j has the score L + g + log P_pointer(j): together with the logits
    these are P without its denominator."""

    def __init__(self, config: dict, vocabulary: int) -> None:
        super().__init__(config, vocabulary)
        decoder = config["decoder"]
        self.of_readout = config["output"]["gate"] == "readout"
        inputs = annotation_size(config) + decoder["hidden"] + decoder["embedding"]
        self.gate = nn.Linear(readout_size(config) if self.of_readout else inputs, 1)
        own = config["output"]["pointer"] == "readout"
        self.key = nn.Linear(annotation_size(config), readout_size(config), bias=False) if own else None

    def shares(self, reads: Reads, memory: Memory) -> Tensor:
        """log P_pointer [B, S, T]"""
        if self.key is not None:
            return torch.log_softmax(pointed(self.key, reads.readouts, memory), dim=-1)
        return reads.weights.clamp_min(LEAST).log().masked_fill(~memory.mask[:, None], float("-inf"))

    def scores(self, reads: Reads, memory: Memory) -> tuple[Tensor, Tensor]:
        logits = self(reads.readouts)
        inputs = ([reads.readouts] if self.of_readout else [reads.weights @ memory.annotations, reads.states,
                                                            reads.inputs])
        gate = self.gate(torch.cat(inputs, dim=-1))  # [B, S, 1]
        return logits, torch.logsumexp(logits, dim=-1, keepdim=True) + gate + self.shares(reads, memory)

    def named_tensors(self) -> dict[str, Tensor]:
        own = {"output.key.weight": self.key.weight} if self.key is not None else {}
        return super().named_tensors() | {"output.gate.weight": self.gate.weight,
                                          "output.gate.bias": self.gate.bias} | own


class Copy(Copying, Vocabulary):
    """One softmax over the vocabulary and the source's positions (Jia & Liang 2016, who use the attention's scores;
    here e_j = h_j^T V s, as in Pointer)."""

    def __init__(self, config: dict, vocabulary: int) -> None:
        super().__init__(config, vocabulary)
        self.key = nn.Linear(annotation_size(config), config["decoder"]["hidden"], bias=False)

    def scores(self, reads: Reads, memory: Memory) -> tuple[Tensor, Tensor]:
        return self(reads.readouts), pointed(self.key, reads.states, memory)

    def named_tensors(self) -> dict[str, Tensor]:
        return super().named_tensors() | {"output.key.weight": self.key.weight}


# Type characters is a vocabulary whose <unk> is spelled when it is printed (network.py's Speller).
OUTPUTS: dict[str, type[nn.Module]] = {"vocabulary": Vocabulary, "characters": Vocabulary, "pointer": Pointer,
                                       "pointer_generator": PointerGenerator, "copy": Copy}
