"""Greedy search, beam search and forced scoring in PyTorch: the reference that the C server is held to.

The beam follows Marian: each step keeps the best k continuations on unnormalised sums over all open hypotheses of the sentence, where k is
the beam size less the finished ones; a hypothesis that ends gives up its place; the search ends when k = 0 or at the length limit, where
open hypotheses join the list as they stand; the list is sorted by log_prob / length^penalty (length counts </s>).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from .model import Model
from .tokenizer import BOS, EOS


@dataclass
class Hypothesis:
    """tokens without </s>; log_probs with that of </s> when `ended`; attention rows, one a token and one for </s>."""

    tokens: list[int]
    log_probs: list[float]
    ended: bool
    attention: list[list[float]] = field(default_factory=list)
    margin: float = math.inf

    @property
    def log_prob(self) -> float:
        return sum(self.log_probs)

    def score(self, length_penalty: float) -> float:
        return self.log_prob / max(1, len(self.log_probs)) ** length_penalty


def max_length(config: dict, source_tokens: int) -> int:
    """The longest target, </s> not counted, for a source of so many tokens (its </s> counted)."""
    return max(1, math.floor(config["limits"]["max_target_ratio"] * source_tokens + 0.5))


def pad(sentences: list[list[int]], value: int = EOS) -> tuple[Tensor, Tensor]:
    """-> ids [B, T], lengths [B]."""
    lengths = torch.tensor([len(s) for s in sentences])
    ids = torch.full((len(sentences), int(lengths.max())), value)
    for row, sentence in enumerate(sentences):
        ids[row, :len(sentence)] = torch.tensor(sentence)
    return ids, lengths


@torch.no_grad()
def greedy(model: Model, sentences: list[list[int]], device: torch.device | str = "cpu") -> list[Hypothesis]:
    """sentences: source ids with </s>. One hypothesis each, in order; `margin` is the smallest gap between best and second."""
    ids, lengths = pad(sentences)
    limits = [max_length(model.config, len(s)) for s in sentences]
    memory, state = model.encode(ids.to(device), lengths)
    found = [Hypothesis([], [], False) for _ in sentences]
    rows = list(range(len(sentences)))
    tokens = torch.full((len(rows),), BOS, device=device)
    first = True
    while rows:
        log_probs, state, weights = model.step(tokens, first, state, memory)
        first = False
        best = log_probs.topk(2, dim=1)
        scores, choice, keep = best.values.tolist(), best.indices[:, 0].tolist(), []
        attention = weights.tolist()
        for i, row in enumerate(rows):
            hypothesis = found[row]
            hypothesis.log_probs.append(scores[i][0])
            hypothesis.margin = min(hypothesis.margin, scores[i][0] - scores[i][1])
            hypothesis.attention.append(attention[i][:len(sentences[row])])
            if choice[i] == EOS:
                hypothesis.ended = True
                continue
            hypothesis.tokens.append(choice[i])
            if len(hypothesis.tokens) < limits[row]:
                keep.append(i)
        if len(keep) < len(rows):
            selected = torch.tensor(keep, dtype=torch.long, device=device)
            memory, state, best_indices = memory.select(selected), state.select(selected), best.indices[selected]
            rows = [rows[i] for i in keep]
        else:
            best_indices = best.indices
        tokens = best_indices[:, 0]
    return found


@dataclass
class _Step:
    """What one step of a beam kept, N candidates of all sentences, in order of their sentence and then best first."""

    sentence: Tensor   # [N]
    row: Tensor        # [N] the live row that each continues
    token: Tensor      # [N]
    log_prob: Tensor   # [N]
    done: Tensor       # [N] ended, or as long as the sentence allows
    attention: Tensor  # [R, T] of the live rows


def _choose(log_probs: Tensor, totals: Tensor, sentence: Tensor, places: Tensor, margins: Tensor) -> tuple[Tensor, ...]:
    """The best `places` [B] continuations of each sentence. log_probs [R, V] and totals [R] of the live rows, which stand in the order
    of their sentences [R]. -> sentence, row, token, log-probability, total, [N] each; margins [B] are lowered in place."""
    size = int(places.max())
    best = log_probs.topk(min(size + 1, log_probs.shape[1]), dim=1)
    rows = torch.bincount(sentence, minlength=len(places))
    first = rows.cumsum(0) - rows
    slot = torch.arange(len(sentence), device=sentence.device) - first[sentence]
    table = totals.new_full((len(places), int(rows.max()), best.values.shape[1]), -math.inf)
    table[sentence, slot] = totals[:, None] + best.values
    ranked = table.flatten(1).topk(min(size + 1, table[0].numel()), dim=1)
    kept = (torch.arange(ranked.values.shape[1], device=sentence.device) < places[:, None]) & ranked.values.isfinite()
    cut = (places[:, None] - 1 + torch.arange(2, device=sentence.device)).clamp(0, ranked.values.shape[1] - 1)
    gap = ranked.values.gather(1, cut)
    cut_off = (places > 0) & (places < ranked.values.shape[1]) & gap[:, 0].isfinite()
    margins[cut_off] = torch.minimum(margins, gap[:, 0] - gap[:, 1])[cut_off]
    owner, rank = kept.nonzero(as_tuple=True)
    flat = ranked.indices[owner, rank]
    row = first[owner] + flat // table.shape[2]
    choice = flat % table.shape[2]
    return owner, row, best.indices[row, choice], best.values[row, choice], ranked.values[owner, rank]


@torch.no_grad()
def beam(model: Model, sentences: list[list[int]], size: int = 5, length_penalty: float = 1.0,
         device: torch.device | str = "cpu") -> list[list[Hypothesis]]:
    """n-best lists, best first. `margin` of the best: the gap to the second, and of every cut between kept and dropped, the least."""
    ids, lengths = pad(sentences)
    limits = torch.tensor([max_length(model.config, len(s)) for s in sentences], device=device)
    memory, state = model.encode(ids.to(device), lengths)
    sentence = torch.arange(len(sentences), device=device)  # [R] of each live row
    totals = torch.zeros(len(sentences), dtype=torch.float64, device=device)
    places = torch.full((len(sentences),), size, device=device)  # [B] the beam size less the finished ones
    margins = torch.full((len(sentences),), math.inf, dtype=torch.float64, device=device)
    tokens = torch.full((len(sentences),), BOS, device=device)
    steps: list[_Step] = []
    while len(sentence):
        log_probs, state, attention = model.step(tokens, not steps, state, memory)
        owner, row, token, log_prob, total = _choose(log_probs, totals, sentence, places, margins)
        done = (token == EOS) | (limits[owner] == len(steps) + 1)
        steps.append(_Step(owner, row, token, log_prob, done, attention))
        places = places - torch.bincount(owner[done], minlength=len(sentences))
        selected, tokens, totals = row[~done], token[~done], total[~done]
        if not torch.equal(owner[~done], sentence):  # rows of one sentence share its memory: copied only when their numbers change
            memory = memory.select(selected)
        sentence, state = owner[~done], state.select(selected)
    return _collect(steps, sentences, margins.tolist(), length_penalty)


def _collect(steps: list[_Step], sentences: list[list[int]], margins: list[float], length_penalty: float) -> list[list[Hypothesis]]:
    """Follows every finished candidate back to its beginning."""
    finished: list[list[Hypothesis]] = [[] for _ in sentences]
    live: list[Hypothesis] = [Hypothesis([], [], False) for _ in sentences]
    for step in steps:
        attention = step.attention.tolist()
        old, live = live, []
        columns = (column.tolist() for column in (step.sentence, step.row, step.token, step.log_prob, step.done))
        for sentence, row, token, log_prob, done in zip(*columns):
            parent, weights = old[row], attention[row][:len(sentences[sentence])]
            tokens = parent.tokens if token == EOS else parent.tokens + [token]
            hypothesis = Hypothesis(tokens, parent.log_probs + [log_prob], token == EOS, parent.attention + [weights])
            (finished[sentence] if done else live).append(hypothesis)
    for hypotheses, margin in zip(finished, margins):
        hypotheses.sort(key=lambda h: -h.score(length_penalty))
        scores = [h.score(length_penalty) for h in hypotheses[:2]]
        hypotheses[0].margin = min([margin] + ([scores[0] - scores[1]] if len(scores) > 1 else []))
    return finished


@torch.no_grad()
def forced(model: Model, source: list[int], target: list[int]) -> Hypothesis:
    """Scores a given target (without </s>)."""
    ids, lengths = pad([source])
    readouts, weights = model.readouts(ids, lengths, torch.tensor([[BOS] + target]))
    log_probs = torch.log_softmax(model.output(readouts[0]), dim=-1)
    wanted = target + [EOS]
    return Hypothesis(target, [log_probs[i, t].item() for i, t in enumerate(wanted)], True, weights[0].tolist())
