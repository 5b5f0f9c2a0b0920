"""Greedy, beam and exact search and forced scoring in PyTorch:
the reference that the C server is held to (sampling: weights/model/sampling.py).

The beam search follows Marian: each step keeps the best k continuations by unnormalised sum over all open hypotheses of
the sentence, where k is the beam size less the number of finished hypotheses; the search ends when k = 0 or at the
length limit, where open hypotheses join the list unfinished; the list is sorted by log_prob / length^penalty (length
counts </s>). With defaults.finished `replaced` it follows CTranslate2: k stays the beam size, each hypothesis that ends
is replaced by one of the next k that do not end, and the search ends when as many hypotheses as the beam size have
ended.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from .network import DecoderState, Memory, Model
from .tokenizer import BOS, EOS, UNK, Tokenizer


@dataclass
class Hypothesis:
    """tokens without </s>; log_probs, with that of </s> if `ended`; attention, one row per token and one for </s>."""

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


def replace_unknowns(hypothesis: Hypothesis, texts: list[str]) -> dict[int, str]:
    """texts: the text of each source token (Tokenizer.texts), without </s>. Returns {position of <unk>: the text of the
    source token with the most attention there} (Luong et al. 2015)."""
    columns = range(len(texts))
    found = {i: texts[max(columns, key=hypothesis.attention[i].__getitem__)]
             for i, token in enumerate(hypothesis.tokens) if token == UNK and hypothesis.attention[i]}
    return {i: text for i, text in found.items() if text}


@torch.no_grad()
def spell(model: Model, source: list[int], hypothesis: Hypothesis, characters: Tokenizer | None,
          device: torch.device | str = "cpu") -> dict[int, str]:
    """Returns {position of <unk>: the word that the model spells there}, without empty words. characters None: {}."""
    if characters is None or UNK not in hypothesis.tokens:
        return {}
    ids, lengths = pad([source])
    readouts, _ = model.readouts(ids.to(device), lengths, torch.tensor([[BOS] + hypothesis.tokens], device=device))
    words = {i: model.speller.spell(readouts[0, i]) for i, token in enumerate(hypothesis.tokens) if token == UNK}
    return {i: "".join(characters.pieces[character] for character in word) for i, word in words.items() if word}


def print_unknowns(model: Model, source: list[int], hypothesis: Hypothesis, texts: list[str],
                   characters: Tokenizer | None) -> dict[int, str]:
    """The text for each <unk>: the word that the model spells, or else the source text with the most attention."""
    return replace_unknowns(hypothesis, texts) | spell(model, source, hypothesis, characters)


def max_length(config: dict, source_tokens: int) -> int:
    """The maximum target length, without </s>, for this number of source tokens, with </s>."""
    return max(1, math.floor(config["limits"]["max_target_ratio"] * source_tokens + 0.5))


def pad(sentences: list[list[int]], value: int = EOS) -> tuple[Tensor, Tensor]:
    """-> ids [B, T], lengths [B]."""
    lengths = torch.tensor([len(s) for s in sentences])
    ids = torch.full((len(sentences), int(lengths.max())), value)
    for row, sentence in enumerate(sentences):
        ids[row, :len(sentence)] = torch.tensor(sentence)
    return ids, lengths


def without_unknowns(model: Model, log_probs: Tensor) -> Tensor:
    """The distribution that a search chooses from: log-probabilities [B, V];
    if output.unknowns is false, <unk> is struck out and its probability is not handed to the others."""
    if not model.config["output"]["unknowns"]:
        log_probs[:, UNK] = -math.inf
    return log_probs


def encode(model: Model, sentences: list[list[int]], words: list[list[int]] | None,
           device: torch.device | str = "cpu") -> tuple[Memory, DecoderState]:
    """words: the sentences' tokens as target ids (weights/model/copies.py), for copying outputs."""
    ids, lengths = pad(sentences)
    return model.encode(ids.to(device), lengths, pad(words)[0].to(device) if words is not None and model.output.copies
                        else None)


@torch.no_grad()
def greedy(model: Model, sentences: list[list[int]], device: torch.device | str = "cpu",
           words: list[list[int]] | None = None) -> list[Hypothesis]:
    """sentences: source ids with </s>; words as in `encode`. Returns one hypothesis per sentence, in order; `margin` is
    the smallest gap between the best and the second token."""
    limits = [max_length(model.config, len(s)) for s in sentences]
    memory, state = encode(model, sentences, words, device)
    found = [Hypothesis([], [], False) for _ in sentences]
    rows = list(range(len(sentences)))
    tokens = torch.full((len(rows),), BOS, device=device)
    first = True
    while rows:
        log_probs, state, weights = model.step(tokens, first, state, memory)
        first = False
        best = without_unknowns(model, log_probs).topk(2, dim=1)
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
class _Open:
    sentence: int
    hypothesis: Hypothesis
    total: float = 0.0


@torch.no_grad()
def beam(model: Model, sentences: list[list[int]], size: int = 5, length_penalty: float = 1.0,
         device: torch.device | str = "cpu", words: list[list[int]] | None = None) -> list[list[Hypothesis]]:
    """Returns n-best lists, best first; words as in `encode`. `margin` of the best: the smallest gap between kept and
    dropped candidates, or between the best two hypotheses."""
    limits = [max_length(model.config, len(s)) for s in sentences]
    replaces = model.config["defaults"]["finished"] == "replaced"
    memory, state = encode(model, sentences, words, device)
    finished: list[list[Hypothesis]] = [[] for _ in sentences]
    margins = [math.inf] * len(sentences)
    rows = [_Open(i, Hypothesis([], [], False)) for i in range(len(sentences))]
    tokens = torch.full((len(rows),), BOS, device=device)
    first = True
    while rows:
        log_probs, state, weights = model.step(tokens, first, state, memory)
        first = False
        attention = weights.tolist()
        best = without_unknowns(model, log_probs).topk(min((2 * size if replaces else size) + 1, log_probs.shape[1]),
                                                       dim=1)
        values, indices = best.values.tolist(), best.indices.tolist()
        by_sentence: dict[int, list[int]] = {}
        for i, row in enumerate(rows):
            by_sentence.setdefault(row.sentence, []).append(i)
        parents, chosen, new_rows = [], [], []
        for sentence, members in by_sentence.items():
            k = size if replaces else size - len(finished[sentence])
            candidates = sorted(((rows[i].total + values[i][j], i, indices[i][j], values[i][j])
                                 for i in members for j in range(len(values[i])) if values[i][j] > -math.inf),
                                key=lambda c: (-c[0], c[1], c[2]))
            if len(candidates) > k:
                margins[sentence] = min(margins[sentence], candidates[k - 1][0] - candidates[k][0])
            taken = candidates[:k]
            if replaces and len(rows[members[0]].hypothesis.tokens) + 1 < limits[sentence]:
                ended, others = sum(c[2] == EOS for c in taken), [c for c in candidates[k:2 * k] if c[2] != EOS]
                taken += others[:ended]
                if 0 < ended < len(others):
                    margins[sentence] = min(margins[sentence], others[ended - 1][0] - others[ended][0])
            for total, i, token, log_prob in taken:
                old = rows[i].hypothesis
                hypothesis = Hypothesis(old.tokens + ([token] if token != EOS else []), old.log_probs + [log_prob],
                                        token == EOS, old.attention + [attention[i][:len(sentences[sentence])]])
                if token == EOS or len(hypothesis.tokens) == limits[sentence]:
                    finished[sentence].append(hypothesis)
                    continue
                parents.append(i)
                chosen.append(token)
                new_rows.append(_Open(sentence, hypothesis, total))
        if replaces:
            goes_on = [len(finished[row.sentence]) < size for row in new_rows]
            parents, chosen, new_rows = ([item for item, on in zip(items, goes_on) if on]
                                         for items in (parents, chosen, new_rows))
        selected = torch.tensor(parents, dtype=torch.long, device=device)
        if [row.sentence for row in new_rows] != [row.sentence for row in rows]:  # rows of a sentence share a memory
            memory = memory.select(selected)
        state = state.select(selected)
        tokens = torch.tensor(chosen, dtype=torch.long, device=device)
        rows = new_rows
    for sentence, hypotheses in enumerate(finished):
        hypotheses.sort(key=lambda h: -h.score(length_penalty))
        if len(hypotheses) > size:  # several may end in the same step
            margins[sentence] = min(margins[sentence], hypotheses[size - 1].score(length_penalty)
                                    - hypotheses[size].score(length_penalty))
            del hypotheses[size:]
        scores = [h.score(length_penalty) for h in hypotheses[:2]]
        hypotheses[0].margin = min([margins[sentence]] + ([scores[0] - scores[1]] if len(scores) > 1 else []))
    return finished


@torch.no_grad()
def exact(model: Model, source: list[int], longest: int, n_best: int = 1, length_penalty: float = 1.0,
          words: list[int] | None = None) -> list[Hypothesis]:
    """The best of all translations of at most `longest` tokens, best first. Depth-first search with likely tokens
    first; a path is pruned if no continuation can score higher than the last of the best so far (Stahlberg and Byrne
    2019). `margin` of the best: the smallest gap between neighbours in the list, including the first translation that
    was left out."""
    memory, start = encode(model, [source], None if words is None else [words])
    found: list[Hypothesis] = []

    def complete(path: Hypothesis) -> None:
        found.append(path)
        found.sort(key=lambda h: -h.score(length_penalty))
        del found[n_best + 1:]

    def visit(path: Hypothesis, token: int, state: DecoderState) -> None:
        log_probs, state, weights = model.step(torch.tensor([token]), not path.log_probs, state, memory)
        values, indices = without_unknowns(model, log_probs)[0].sort(descending=True, stable=True)
        for log_prob, token in zip(values.tolist(), indices.tolist()):
            child = Hypothesis(path.tokens + [token] * (token != EOS), path.log_probs + [log_prob], token == EOS,
                               path.attention + weights.tolist())
            bound = child.log_prob / longest ** length_penalty
            if log_prob == -math.inf or (len(found) > n_best and bound <= found[-1].score(length_penalty)):
                break
            if child.ended or len(child.tokens) == longest:
                complete(child)
            else:
                visit(child, token, state)

    visit(Hypothesis([], [], False), BOS, start)
    scores = [h.score(length_penalty) for h in found]
    found[0].margin = min((better - worse for better, worse in zip(scores, scores[1:])), default=math.inf)
    return found[:n_best]


@torch.no_grad()
def forced(model: Model, source: list[int], target: list[int], words: list[int] | None = None) -> Hypothesis:
    """Scores a given target (without </s>)."""
    memory, state = encode(model, [source], None if words is None else [words])
    reads = model.teach(torch.tensor([[BOS] + target]), state, memory)
    log_probs = model.output.log_probs(reads, memory)[0]
    wanted = target + [EOS]
    return Hypothesis(target, [log_probs[i, t].item() for i, t in enumerate(wanted)], True, reads.weights[0].tolist())
