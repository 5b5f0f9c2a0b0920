"""The memory that a decoder attends to, and its state from step to step.
B sentences, T source tokens, H hidden, O readout."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from .encoders import State
from .vocabulary import EOS

FIRST_IDS = {"eos": EOS, "id_0": 0}  # what decoder.first_input may name besides <s> and a zero vector


@dataclass
class Memory:
    """The memory that the decoder attends to: annotations [B, T, D], keys [B, T, A], values [B, T, C], mask [B, T]
    (True: a token); for copying outputs the source's tokens as target ids, words [B, T]; for an alignment head its keys
    [B, T, alignment.size]."""

    annotations: Tensor
    keys: Tensor
    values: Tensor
    mask: Tensor
    words: Tensor | None = None
    alignment_keys: Tensor | None = None

    def select(self, rows: Tensor) -> "Memory":
        words, keys = (None if part is None else part[rows] for part in (self.words, self.alignment_keys))
        return Memory(self.annotations[rows], self.keys[rows], self.values[rows], self.mask[rows], words, keys)


@dataclass
class Past:
    """The attention of earlier steps: their number and, with coverage, their sum [B, T]."""

    step: int
    coverage: Tensor | None

    def after(self, weights: Tensor) -> "Past":
        """Adds the weights [B, T] of one step."""
        return Past(self.step + 1, None if self.coverage is None else self.coverage + weights)

    def select(self, rows: Tensor) -> "Past":
        return Past(self.step, None if self.coverage is None else self.coverage[rows])


@dataclass
class DecoderState:
    """layers: one State per layer. feed: h~ of the last step [B, O] with input feeding, else None. past: the attention
    of earlier steps (None: no attention)."""

    layers: list[State]
    feed: Tensor | None
    past: Past | None

    def select(self, rows: Tensor) -> "DecoderState":
        return DecoderState([tuple(part[rows] for part in layer) for layer in self.layers],
                            None if self.feed is None else self.feed[rows],
                            None if self.past is None else self.past.select(rows))
