"""Golden values: python3 -m weights.golden.values tests/golden

Input: the tiny vocabularies in tests/data. Output: one model folder per case (a few hundred to a few thousand random
weights) with golden.json beside its config.json: the values that PyTorch computes at every interface between modules
for a handful of sentences, each in a batch of its own. The C tests compare with them: floats within a stated tolerance,
tokens exactly. So that rounding affects neither, a case takes the first seed whose searches never choose between two
candidates closer than MIN_MARGIN, and whose log-probabilities in float32 agree with those in float64.

golden.json: {"sentences": [{
  "text", "source": ids as the encoder reads them, "words": the same as targets (outputs that copy), "annotations"
  [T][D], "keys" [T][A] (without attention [], as are all its rows), "final" [layer][h or h, c][D], "start" [layer][h or
  h, c][H], "steps": the first three, [{"previous" id, "state" [layer][h or h, c][H], "attention" [T], "readout" [O],
  "log_probs" [V]}]
           (log_probs in the first DISTRIBUTIONS sentences; state of a transformer: what the step added, of
           self-attention k and v of each layer),
  "greedy": {"tokens", "log_probs", "ended", "attention" [n][T], "text": with each <unk> replaced},
  "beam": [{"beam_size", "length_penalty", "hypotheses": [{"tokens", "log_probs", "ended", "score"}], best first}],
  "exact": {"max_length", "length_penalty", "hypotheses": the same, with "attention"},
  "sample": [{"seed", "temperature", "top_k", "top_p", "hypotheses": the same}],
  "forced": {"tokens", "log_probs", "ended", "attention"},
  "alignment_keys" [T][A], "soft_alignment" [n + 1][T] of the forced target and its </s> (models with an alignment
  head)}]}
"""

from __future__ import annotations

import argparse
import copy
import json
import os
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy
import torch

from ..command import run_command
from ..model import copies, folder, sampling, search, tokenizer
from . import quality as golden_quality
from ..model.copies import Source
from .cases import CASES, Case
from ..model.network import DecoderState, Memory, Model
from ..model.output import IMPOSSIBLE
from ..model.sampling import Sampling
from ..model.search import Hypothesis
from ..model.tokenizer import BOS, EOS, UNK, Tokenizer, load

SENTENCES = ("Stop!", "I", "This is mine.", "What did you do?", "He is here.", "Place the ladder here, Tom.")
TARGET = "C'est le mien."
BEAMS = ((5, 1.0), (5, 0.6), (2, 1.0))  # beam size, length penalty
# The search takes the first of EXACT_LENGTHS without near-ties.
EXACT, EXACT_LENGTHS = {"n_best": 2, "length_penalty": 0.3}, (3, 4, 2)
SAMPLES, SAMPLINGS = 3, (Sampling(0.7, 0, 1.0), Sampling(1.0, 8, 0.9))
DISTRIBUTIONS = 2
MIN_MARGIN = 5e-4
MIN_DRAW_MARGIN = 1e-4
MAX_ROUNDING = 5e-6
# Files in tests/data by type of tokenizer.
VOCABULARIES = {"sentencepiece": ("tiny.en.spm", "tiny.fr.spm"), "words": ("tiny.en.words", "tiny.fr.words"),
                "characters": ("tiny.en.characters", "tiny.fr.characters")}


# The standard deviation of a parameter, by the ending of its name, for inputs of variance 1. The first match counts.
GAINS = {"embedding": 2.0, "positions": 1.0, "encoder.input.weight": 0.5, "convolution.weight": 1.5,
         "weight_state": 1.5, ".weight": 3.5, "weight_input": 3.5,
         "gain_input": 2.0, "gain_state": 1.0, ".gain": 1.5, ".gain.y": 1.5, ".gain.s": 1.5, ".gain.c": 1.5, "": 0.4}
# Gains for the stack of a transformer, whose norms pass on differences between inputs only if their gains are not close
# to 0.
BLOCK_GAINS = {"embedding": 0.7, "positions": 1.0, "query.weight": 2.5, "key.weight": 2.5, "cross.output.weight": 0.8,
               "filter.output.weight": 1.0,
               "self.output.weight": 1.7, "average.output.weight": 1.7, "output.weight": 2.5, ".weight": 1.7,
               "norm.gain": 0.3, "norm.shift": 0.15, "": 0.2}
BLOCK_CENTRES = {"norm.gain": 1.0}


def _stack(config: dict, name: str) -> bool:
    """Whether the parameter belongs to the stack of a transformer."""
    side = name.partition(".")[0].replace("output", "decoder")
    return side in ("encoder", "decoder") and "transformer" in (config[side].get("type"), config[side].get("style"))


def _row(table: dict[str, float], name: str) -> float:
    return next((value for ending, value in table.items() if name.endswith(ending)), 0.0)


def randomise(model: Model, random: numpy.random.Generator) -> None:
    """Draws weights large enough that gates, attention and choices change from step to step, with recurrences small
    enough that rounding errors decay. <s> is never chosen; <unk> only by models of words."""
    tensors = {}
    for name, parameter in model.named_tensors().items():
        shape = tuple(parameter.shape)
        in_stack = _stack(model.config, name)
        gain = _row(BLOCK_GAINS if in_stack else GAINS, name) / (shape[-1] ** 0.5 if ".weight" in name else 1)
        tensors[name] = (_row(BLOCK_CENTRES, name) * in_stack
                         + gain * random.standard_normal(shape)).astype(numpy.float32)
    if "output.bias" in tensors:
        tensors["output.bias"][[UNK, BOS]] = -8
        if model.config["tokenizer"]["type"] == "words":
            tensors["output.bias"][UNK] = 3
        tensors["output.bias"][EOS] = random.uniform(0, 6)
    if model.speller:
        tensors["speller.output.bias"][EOS] = 3
    folder.load_tensors(model, tensors)


@torch.no_grad()
def _gaps(model: Model, sources: list[Source]) -> list[list[float]]:
    """For each sentence and step, by how much the best token exceeds </s>, in a greedy search that never ends."""
    memory, state = search.encode(model, [source.ids for source in sources], [source.words for source in sources])
    tokens, gaps = torch.full((len(sources),), BOS), []
    for i in range(max(search.max_length(model.config, len(source.ids)) for source in sources)):
        log_probs, state, _ = model.step(tokens, i == 0, state, memory)
        ends = log_probs[:, EOS].clone()
        log_probs[:, EOS] = -torch.inf
        best = search.without_unknowns(model, log_probs).max(dim=1)
        gaps.append(best.values - ends)
        tokens = best.indices
    limits = [search.max_length(model.config, len(source.ids)) for source in sources]
    return [row[:limit] for row, limit in zip(torch.stack(gaps, 1).tolist(), limits)]


def ends_apart(model: Model, sources: list[Source]) -> bool:
    """Sets the bias of </s> such that greedy translations end after different numbers of steps. Returns whether there
    is such a bias."""
    gaps = _gaps(model, sources)
    thresholds, best, bias = sorted({gap for row in gaps for gap in row}), 0.0, 0.0
    for below, above in zip(thresholds, thresholds[1:]):
        ends = [next((t for t, gap in enumerate(row) if gap <= below), None) for row in gaps]
        ended = [t for t in ends if t is not None]
        if (len(set(ended)) > 2 and len(ended) > 3 and sum(t is None or t > 1 for t in ends) > 4
            and above - below > best):
            best, bias = above - below, (above + below) / 2
    with torch.no_grad():
        model.output.bias[EOS] += bias
    return best > MIN_MARGIN


def _searches_of(model: Model, source: Source) -> tuple[Hypothesis, list[list[Hypothesis]]]:
    words = [source.words]
    return search.greedy(model, [source.ids], words=words)[0], [search.beam(model, [source.ids], *beam, words=words)[0]
                                                                for beam in BEAMS]


def _exact(model: Model, source: Source) -> tuple[int, list[Hypothesis]]:
    """Returns the first of EXACT_LENGTHS without near-ties, and the hypotheses."""
    found = ((longest, search.exact(model, source.ids, longest, **EXACT, words=source.words))
             for longest in EXACT_LENGTHS)
    return next((longest, hypotheses) for longest, hypotheses in found if hypotheses[0].margin > MIN_MARGIN)


def _sample(model: Model, source: Source, way: Sampling) -> dict:
    """Samples with the first seed, and the first top_k from the configured one on, without near-ties."""
    for seed in count(1):
        samples = sampling.sample(model, source.ids, SAMPLES, way, seed, source.words)
        if samples[0].margin > MIN_DRAW_MARGIN:
            return {"seed": seed, **vars(way),
                    "hypotheses": [_hypothesis(h, score=rounded(h.score(1.0))) for h in samples]}
        way = replace(way, top_k=way.top_k + (way.top_k > 0))
    raise AssertionError("unreachable: count() does not end")


def _margin(greedy: Hypothesis, beams: list[list[Hypothesis]]) -> float:
    """The smallest gap of any choice or ranking."""
    gaps = [greedy.margin]
    for (_, penalty), hypotheses in zip(BEAMS, beams):
        scores = [h.score(penalty) for h in hypotheses]
        gaps += [hypotheses[0].margin] + [better - worse for better, worse in zip(scores, scores[1:])]
    return min(gaps)


def interesting(model: Model, sources: list[Source]) -> bool:
    """Whether most sentences end by themselves after different numbers of tokens, a beam improves on greedy search, and
    there are no near-ties; and also, in models of words, whether <unk> is chosen, and, if the output copies, whether a
    word outside the vocabulary is copied."""
    greedy = search.greedy(model, [source.ids for source in sources], words=[source.words for source in sources])
    lengths = {len(h.tokens) for h in greedy if h.ended}
    if len(lengths) < 3 or sum(h.ended for h in greedy) < 4 or sum(len(h.tokens) > 1 for h in greedy) < 5:
        return False
    if (model.config["tokenizer"]["type"] == "words" and model.config["output"]["unknowns"]
        and sum(UNK in h.tokens for h in greedy) < 2):
        return False
    if (model.output.copies and not any(token >= model.decoder.embedding.num_embeddings for h in greedy
                                        for token in h.tokens)):
        return False
    found = [_searches_of(model, source) for source in sources]
    improved = sum(beams[0][0].tokens != best.tokens for best, beams in found)
    reordered = sum([h.tokens for h in beams[0]] != [h.tokens for h in beams[1]] for _, beams in found)
    return improved > 0 and reordered > 0 and all(_margin(*searches) > MIN_MARGIN for searches in found)


def _log_probs(model: Model, source: Source, target: list[int]) -> list[float]:
    """The log-probability of every token in every search's hypotheses and in the forced target."""
    greedy, beams = _searches_of(model, source)
    hypotheses = [greedy, search.forced(model, source.ids, target, source.words), *_exact(model, source)[1],
                  *(h for n_best in beams for h in n_best)]
    return [log_prob for hypothesis in hypotheses for log_prob in hypothesis.log_probs]


@torch.no_grad()
def steady(model: Model, sources: list[Source], targets: list[list[int]]) -> bool:
    """Whether rounding errors do not accumulate: float64 gives the same keys within twice MAX_ROUNDING, and the same
    log-probabilities within MAX_ROUNDING, relative above 1."""
    exact = copy.deepcopy(model).double()
    keys = [[search.encode(m, [source.ids], [source.words])[0].keys for source in sources] for m in (model, exact)]
    return (all(torch.allclose(a.double(), b, 2 * MAX_ROUNDING, 2 * MAX_ROUNDING) for a, b in zip(*keys))
            and all(abs(a - b) <= MAX_ROUNDING * max(1, abs(a))
               for source, target in zip(sources, targets, strict=True)
               for a, b in zip(_log_probs(model, source, target), _log_probs(exact, source, target), strict=True)))


def rounded(value):
    """Converts nested tensors and floats to lists of floats with nine significant digits, which identify every
    float32."""
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _states(layers: list[tuple[torch.Tensor, ...]]) -> list:
    """The states of the only sentence."""
    return rounded([[part[0] for part in layer] for layer in layers])


def _hypothesis(hypothesis: Hypothesis, **other) -> dict:
    return {"tokens": hypothesis.tokens, "log_probs": rounded(hypothesis.log_probs), "ended": hypothesis.ended, **other}


def _steps(model: Model, state: DecoderState, memory, previous: list[int], distributions: bool) -> list[dict]:
    steps = []
    for i, token in enumerate(previous):
        reads, state = model.look(torch.tensor([token]), i == 0, state, memory)
        log_probs = model.output.log_probs(reads, memory)[0, 0].clamp_min(IMPOSSIBLE)  # JSON has no infinity
        steps.append({"previous": token, "state": _states(model.decoder.added(state)),
                      "attention": rounded(reads.weights[0, 0]),
                      "readout": rounded(reads.readouts[0, 0])} | ({"log_probs": rounded(log_probs)} if distributions
                                                                   else {}))
    return steps


def _alignment(model: Model, memory: Memory, start: DecoderState, target: list[int]) -> dict:
    """The alignment head's rows for the target."""
    states = model.teach(torch.tensor([[BOS, *target]]), start, memory).states
    return {"alignment_keys": rounded(memory.alignment_keys[0]),
            "soft_alignment": rounded(model.align(torch.tensor([[*target, EOS]]), states, memory)[0])}


@torch.no_grad()
def golden_values(model: Model, sides: tuple[Tokenizer, Tokenizer], characters: Tokenizer | None, text: str,
                  distributions: bool) -> dict:
    """The content of golden.json for one sentence."""
    source = copies.source_of(text, *sides, model.config)
    target = forced_target(model.config, source, sides[1])
    ids, lengths = search.pad([source.ids])
    annotations, finals = model.encoder(ids, lengths)
    memory, start = search.encode(model, [source.ids], [source.words])
    greedy, beams = _searches_of(model, source)
    longest, exact = _exact(model, source)
    forced = search.forced(model, source.ids, target, source.words)
    unknowns = search.print_unknowns(model, source.ids, greedy, sides[0].texts(text), characters)
    return {
        "text": text, "source": source.ids, **({"words": source.words} if model.output.copies else {}),
        "annotations": rounded(annotations[0]), "keys": rounded(memory.keys[0]),
        "final": _states(finals), "start": _states(model.decoder.added(start)),
        "steps": _steps(model, start, memory, [BOS] + target[:2], distributions),
        "greedy": _hypothesis(greedy, attention=rounded(greedy.attention),
                              text=copies.decode(greedy.tokens, sides[1], source, unknowns)),
        "beam": [{"beam_size": size, "length_penalty": penalty,
                  "hypotheses": [_hypothesis(h, score=rounded(h.score(penalty))) for h in hypotheses]}
                 for (size, penalty), hypotheses in zip(BEAMS, beams)],
        "exact": {"max_length": longest, "length_penalty": EXACT["length_penalty"],
                  "hypotheses": [_hypothesis(h, score=rounded(h.score(EXACT["length_penalty"])),
                                             attention=rounded(h.attention)) for h in exact]},
        "sample": [_sample(model, source, way) for way in SAMPLINGS],
        "forced": _hypothesis(forced, attention=rounded(forced.attention)),
    } | (_alignment(model, memory, start, target) if model.head else {})


def link_vocabularies(case: Path, config: dict, data: Path) -> None:
    """Creates relative symbolic links to the vocabularies, so that they work in any clone and are stored once."""
    case.mkdir(parents=True, exist_ok=True)
    section = config["tokenizer"]
    links = dict(zip((section["source"], section["target"]), VOCABULARIES[section["type"]]))
    if config["output"]["type"] == "characters":
        links[tokenizer.CHARACTERS] = VOCABULARIES["characters"][1]
    for name, vocabulary in links.items():
        (case / name).unlink(missing_ok=True)
        (case / name).symlink_to(os.path.relpath(data / vocabulary, case))


def forced_target(config: dict, source: Source, target: Tokenizer) -> list[int]:
    """A target that the output can produce; copying outputs get temporary ids, too."""
    copied = [word for word in reversed(source.words) if word != EOS] * 3
    return copied[:5] if config["output"]["type"] == "pointer" else copied[:3] + target.encode(TARGET)


def write_model(case: Case, out: Path, sides: tuple[Tokenizer, Tokenizer]) -> tuple[Model, int]:
    """Writes the model of the first seed that is interesting and steady. Returns the model as read back from its file,
    and the seed."""
    sources = [copies.source_of(text, *sides, case.config) for text in SENTENCES]
    targets = [forced_target(case.config, source, sides[1]) for source in sources]
    for seed in count(case.seed):
        model = Model(case.config, **tokenizer.vocabulary_sizes(out, case.config))
        randomise(model, numpy.random.default_rng(seed))
        if case.config["decoder"]["style"] == "transformer" and not ends_apart(model, sources):
            continue
        folder.write(out, model, case.storage, {"seed": str(seed)})
        model, _, _ = folder.read(out)
        if interesting(model, sources) and steady(model, sources, targets):
            return model, seed
    raise AssertionError("unreachable: count() does not end")


def write_values(model: Model, out: Path, sides: tuple[Tokenizer, Tokenizer]) -> None:
    """Writes golden.json for the model of a folder."""
    characters = tokenizer.load_characters(out, model.config)
    values = [golden_values(model, sides, characters, text, i < DISTRIBUTIONS) for i, text in enumerate(SENTENCES)]
    lines = ",\n".join(json.dumps(value, separators=(",", ":"), ensure_ascii=False) for value in values)
    (out / "golden.json").write_text(f'{{"sentences":[\n{lines}\n]}}\n', encoding="utf-8")


def write_case(case: Case, out: Path, data: Path) -> int:
    """Writes the model folder with golden.json. Returns the seed."""
    link_vocabularies(out, case.config, data)
    sides = load(out, case.config["tokenizer"])
    model, seed = write_model(case, out, sides)
    write_values(model, out, sides)
    return seed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="the folder that gets one folder a case")
    parser.add_argument("--data", type=Path, default=Path("tests/data"), help="folder of the tiny vocabularies")
    parser.add_argument("--case", choices=[case.name for case in CASES], action="append",
                        help="only this case (repeatable)")
    parser.add_argument("--values", action="store_true", help="only golden.json, of the models that are there")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for case in CASES:
        if arguments.case is not None and case.name not in arguments.case:
            continue
        out = arguments.out / case.name
        if arguments.values:
            model, *sides = folder.read(out)
            write_values(model, out, tuple(sides))
        else:
            print(f"{case.name}: seed {write_case(case, out, arguments.data)}", flush=True)
    if arguments.case is None and not arguments.values:
        golden_quality.write(arguments.data / "golden_quality.json")


if __name__ == "__main__":
    run_command(main)
