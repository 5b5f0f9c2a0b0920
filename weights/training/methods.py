"""Training methods beside plain teacher forcing, each switched on by a key of the recipe's `training` section.

    scheduled_sampling  the model's own previous word is fed instead of the reference's, with a probability that grows
                        from 0 to this value along the planned steps (Bengio et al. 2015; the word is the best one, and
                        no gradient passes through the choice)
    subword_sampling    each epoch reads other segmentations of the same text, drawn by SentencePiece's unigram model
                        with their probabilities to the power of this value (Kudo 2018; alpha there): the smaller, the
                        shorter the pieces
    coverage_loss       weight of sum_j min(a_ij, c_ij), c_i the sum of the attention before step i (See et al. 2017)
    coverage_loss_from  the share of the planned steps before which it is left out: attention has to be learned first
                        (See et al. add it for the last percent)
    guided_attention    weight of the cross-entropy between an alignment and the attention (Chen et al. 2016)
    guide               that alignment: "diagonal", "lexical" (weights/alignment/lexicon.py, both directions, learned
                        from the training pairs) or "aligner" (weights/gibbs, learned from them too, pieces taken for
                        words)

Input: a model, a batch of padded ids. Output: other decoder inputs, or a loss to add. Whatever is drawn comes from
PyTorch's generator, whose state is in the checkpoint.
"""

from __future__ import annotations

import sys

import numpy
import torch
from torch import Tensor

from ..alignment import lexicon
from ..model import search
from ..model.config import attends
from ..model.copies import Source
from ..model.network import Model

Pair = tuple[Source, list[int]]  # the target without </s>

DEFAULTS = {"scheduled_sampling": 0.0, "subword_sampling": 0.0, "coverage_loss": 0.0, "coverage_loss_from": 0.0,
            "guided_attention": 0.0, "guide": "diagonal"}
NEEDS_ATTENTION = ("coverage_loss", "guided_attention")
GUIDES = {"diagonal": lexicon.Diagonal, "lexical": lexicon.Lexical, "aligner": lexicon.Aligned}
SMALLEST = 1e-9  # added to the attention, so that its logarithm is finite


@torch.no_grad()
def own_words(model: Model, batch: list[Pair], inputs: Tensor, probability: float) -> Tensor:
    """inputs [B, S], the reference's words after bos -> the same, with each word but the first replaced, with this
    probability, by the model's own choice, which depends on its earlier choices."""
    chosen = torch.rand(inputs.shape).to(inputs.device) < probability
    model.eval()
    memory, state = search.encode(model, [s.ids for s, _ in batch], [s.words for s, _ in batch], inputs.device)
    mixed = inputs.clone()
    for i in range(inputs.shape[1] - 1):
        log_probs, state, _ = model.step(mixed[:, i], i == 0, state, memory)
        mixed[:, i + 1] = torch.where(chosen[:, i + 1], log_probs.argmax(dim=1), inputs[:, i + 1])
    model.train()
    return mixed


def coverage_loss(weights: Tensor, real: Tensor) -> Tensor:
    """weights [B, S, T], real [B, S] (True: a target token) -> sum over real steps of sum_j min(a_ij, c_ij)."""
    weights = weights * real[:, :, None]
    before = weights.cumsum(1) - weights
    return torch.minimum(weights, before).sum()


def guided_loss(weights: Tensor, guide: Tensor) -> Tensor:
    """weights, guide [B, S, T]; the guide's rows sum to 1, or to 0 without a guide -> cross-entropy summed over all
    rows."""
    return -(guide * (weights + SMALLEST).log()).sum()


class Methods:
    """The methods of one run. config: the model's. training: the recipe's section with defaults filled in. pairs: the
    training pairs."""

    def __init__(self, config: dict, training: dict, pairs: list[Pair]) -> None:
        self.training, self.reads_eos = training, config["encoder"]["eos"]
        for key in NEEDS_ATTENTION:
            if training[key] and not attends(config):
                sys.exit(f"training.{key}: needs attention")
        if (training["subword_sampling"] and (config["tokenizer"]["type"] != "sentencepiece" or config["output"]["type"]
                                              != "vocabulary")):
            sys.exit("training.subword_sampling: needs tokenizer.type sentencepiece and output.type vocabulary")
        if training["guide"] not in GUIDES:
            sys.exit(f"training.guide: must be one of {', '.join(GUIDES)}, got {training['guide']}")
        self.guide = (GUIDES[training["guide"]]([self._words(pair) for pair in pairs]) if training["guided_attention"]
                      else None)

    def _words(self, pair: Pair) -> lexicon.Pair:
        return (pair[0].ids[:-1] if self.reads_eos else pair[0].ids), pair[1]

    def inputs(self, model: Model, batch: list[Pair], inputs: Tensor, progress: float) -> Tensor:
        """progress: 0 at the first step, 1 at the last planned step."""
        probability = self.training["scheduled_sampling"] * progress
        return own_words(model, batch, inputs, probability) if probability > 0 else inputs

    def guide_of(self, batch: list[Pair], shape: torch.Size) -> Tensor:
        """Returns [B, S, T]; </s> is guided to the source's </s>."""
        guide = numpy.zeros(shape, numpy.float32)
        for row, pair in zip(guide, batch):
            source, target = self._words(pair)
            row[:len(target), :len(source)] = self.guide.of(source, target)
            if self.reads_eos:
                row[len(target), len(source)] = 1
        return torch.from_numpy(guide)

    def attention_loss(self, weights: Tensor, batch: list[Pair], real: Tensor, progress: float) -> Tensor | float:
        """The contribution of the attention [B, S, T] to the loss, summed over target tokens. real [B, S]; progress as
        in `inputs`."""
        loss = 0.0
        if self.training["coverage_loss"] and progress >= self.training["coverage_loss_from"]:
            loss = loss + self.training["coverage_loss"] * coverage_loss(weights, real)
        if self.guide:
            loss = loss + self.training["guided_attention"] * guided_loss(weights,
                                                                          self.guide_of(batch, weights.shape)
                                                                          .to(weights.device))
        return loss
