"""Training: python3 -m weights.training.train RECIPE --data DIR --out DIR

Input: a recipe (weights/recipes/*.json: config.json's sections and a `training` section) and a corpus:
DIR/{train,valid}.tsv.gz, or, with the key training.corpus, the corpus of that name in weights/corpora/data.py below
DIR; training.longest: the maximum number of words per side. Output in --out: the vocabularies, checkpoint.pt
(everything that a resumed run needs), best.pt (the weights with the best validation BLEU), log.jsonl (one line per
validation). The same command resumes an interrupted run from its last checkpoint. It uses a GPU if there is one.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import sys
import time
from pathlib import Path

import numpy
import torch
from torch import nn
from torch.nn import functional
from torch.optim import swa_utils
from tqdm import tqdm

from ..command import CommandError, read_json, run_command
from ..model import config as configuration
from ..corpora import data
from ..evaluation import scores
from ..model import copies, search, tokenizer
from . import kernels, methods
from ..model.copies import Source
from .fused import CrossEntropy, Fused, supported
from .methods import Pair
from ..model.network import Memory, Model
from ..model.output import Reads
from .saved import load_saved
from .spelling import Spelling
from ..model.tokenizer import BOS, EOS, Tokenizer


REQUIRED = ("seed", "vocabulary", "epochs", "patience", "batch_tokens", "learning_rate", "warmup", "dropout",
            "label_smoothing", "clip")
DEFAULTS = {"corpus": "tsv", "min_count": 1, "embedding_deviation": 1.0, "averaging": 0.0,
            "longest": 0} | methods.DEFAULTS


def load_recipe(path: Path) -> tuple[dict, dict]:
    """Returns the validated config, and the training section with defaults filled in."""
    recipe = read_json(path)
    if not isinstance(recipe, dict) or not isinstance(recipe.get("training"), dict):
        raise CommandError(f"{path}: not a recipe: it has no section training")
    training = DEFAULTS | recipe.pop("training")
    for key in training.keys() ^ {*REQUIRED, *DEFAULTS}:
        sys.exit(f"training.{key}: {'unknown key' if key in training else 'missing'}")
    if training["corpus"] not in data.CORPORA:
        sys.exit(f"training.corpus: must be one of {', '.join(data.CORPORA)}, got {training['corpus']}")
    config = configuration.validate(recipe)
    if config["output"]["type"] == "pointer" and training["label_smoothing"] > 0:
        sys.exit("training.label_smoothing: must be 0 for a pointer, which has no vocabulary to smooth over")
    if config["alignment"]["size"] > 0:
        sys.exit("alignment: a head is trained when all else is, by weights.alignment.align_head")
    return config, training


def prepare_vocabularies(out: Path, config: dict, training: dict,
                         pairs: list[tuple[str, str]]) -> tuple[Tokenizer, Tokenizer]:
    """Trains the missing vocabularies; a resumed run reads those of the first run. Sides that share an embedding or a
    file share a vocabulary."""
    section, sides = config["tokenizer"], {"source": [p[0] for p in pairs], "target": [p[1] for p in pairs]}
    joint = config["encoder"]["embedding_shared"] or section["source"] == section["target"]
    for side, lines in sides.items():
        path = out / section[side]
        if joint and side == "target" and not path.exists():
            shutil.copyfile(out / section["source"], path)
        elif not path.exists():
            lines = sides["source"] + sides["target"] if joint else lines
            tokenizer.KINDS[section["type"]].train(lines, path, training["vocabulary"], training["min_count"],
                                                   training["seed"], tokenizer.options_of(section, side))
    if config["output"]["type"] == "characters" and not (out / tokenizer.CHARACTERS).exists():
        tokenizer.Characters.train([p[1] for p in pairs], out / tokenizer.CHARACTERS, 0, 1, training["seed"],
                                   tokenizer.options_of(section, "target"))
    return tokenizer.load(out, section)


def producible(source: Source, target: list[int], config: dict) -> bool:
    """Whether the output can produce the target: a pointer has only the source's words."""
    return config["output"]["type"] != "pointer" or set(target) <= set(source.words)


def usable(source: Source, target: list[int], config: dict) -> bool:
    """Whether the pair is not empty, within the model's limit, and can be produced by its output."""
    limit, empty = config["limits"]["max_source_tokens"], int(config["encoder"]["eos"])
    return empty < len(source.ids) <= limit and 0 < len(target) < limit and producible(source, target, config)


def encode_pairs(pairs: list[tuple[str, str]], source: Tokenizer, target: Tokenizer, config: dict,
                 spelling: Spelling | None = None) -> list[Pair]:
    """Encodes pairs; those that are empty, over the model's limit or impossible for its output are left out. spelling:
    encodes the targets of an output that spells."""
    sources = [copies.source_of(a, source, target, config) for a, _ in pairs]
    encoded = [(s, spelling.encode(b) if spelling else copies.target_ids(b, target, s))
               for s, (_, b) in zip(sources, pairs)]
    return [pair for pair in encoded if usable(*pair, config)]


def sample_pairs(pairs: list[tuple[str, str]], source: Tokenizer, target: Tokenizer, config: dict, alpha: float,
                 seed: int) -> list[Pair]:
    """Like encode_pairs, with sampled segmentations (`subword_sampling`)."""
    end = [EOS] if config["encoder"]["eos"] else []
    sources, targets = (side.sample([pair[i] for pair in pairs], alpha, 2 * seed + i)
                        for i, side in enumerate((source, target)))
    encoded = [(Source(s + end, [], []), t) for s, t in zip(sources, targets, strict=True)]
    return [pair for pair in encoded if usable(*pair, config)]


@torch.no_grad()
def shrink_embeddings(model: Model, deviation: float) -> None:
    """Scales the embeddings' initial values, drawn from N(0, 1), to this standard deviation. With 1, an embedding of
    dimension d that is also the output layer begins with logits of standard deviation d^0.5; with d^-0.5 they have
    1."""
    # Modules may share a weight.
    for weight in {module.weight for module in model.modules() if isinstance(module, nn.Embedding)}:
        weight.mul_(deviation)


def averaged(model: Model, share: float) -> swa_utils.AveragedModel:
    """A second model whose weights are a moving average of the model's: each update_parameters moves them towards it by
    `share` of the difference. Until 1 / share updates they are a plain mean, so that the random initialisation is soon
    forgotten."""
    return swa_utils.AveragedModel(model, avg_fn=lambda mean, now, count: mean + max(share, 1 / (int(count) + 1))
                                   * (now - mean))


def learning_rate(step: int, training: dict, total: int) -> float:
    """Linear warm-up, then a linear decay to 1% at the planned end."""
    warmup = training["warmup"]
    if step < warmup:
        return training["learning_rate"] * (step + 1) / warmup
    left = max(0.0, (total - step) / max(1, total - warmup))
    return training["learning_rate"] * max(0.01, left)


def written_loss(model: Model, reads: Reads, wanted: torch.Tensor, real: torch.Tensor,
                 smoothing: float) -> torch.Tensor:
    """The loss of a softmax over the vocabulary. wanted, real [B, S] (True: a target token)."""
    readouts = model.dropout(reads.readouts[real])  # padding never reaches the output layer
    if kernels.suits(readouts):
        return CrossEntropy.apply(kernels.plain_kernels(), readouts, model.output.weight, model.output.bias,
                                  wanted[real], smoothing)[0]
    return functional.cross_entropy(model.output(readouts), wanted[real], reduction="sum", label_smoothing=smoothing)


def copied_loss(model: Model, reads: Reads, memory: Memory, wanted: torch.Tensor, real: torch.Tensor,
                smoothing: float) -> torch.Tensor:
    """-log of the probability of producing the wanted token in any way; smoothed over the vocabulary's tokens."""
    reads = reads._replace(readouts=model.dropout(reads.readouts))
    produced, written = model.output.marginal(reads, memory, wanted.clamp_min(0))
    loss = -produced[real].sum()
    return (1 - smoothing) * loss - smoothing * written[real].sum() if smoothing > 0 else loss


def loss_of(model: Model, batch: list[Pair], method: methods.Methods, progress: float, device: torch.device,
            spelling: Spelling | None = None, fast: Fused | None = None) -> tuple[torch.Tensor, int]:
    """Returns the loss, summed over target tokens (</s> included), and their number. progress: 0 at the first step, 1
    at the last planned step. spelling: maps target ids past the vocabulary to words. fast: computes the same loss in
    less time."""
    inputs = search.pad([[BOS] + t for _, t in batch])[0].to(device)
    words = search.pad([t + [EOS] for _, t in batch], value=-100)[0].to(device)
    wanted, real = words, words != -100
    if spelling:
        inputs, wanted = spelling.hide(inputs), spelling.hide(wanted)
    inputs = method.inputs(model, batch, inputs, progress)
    if fast:
        loss, _, attention = fast.loss(*search.pad([s.ids for s, _ in batch]), inputs, wanted,
                                       method.training["label_smoothing"])
        return loss + method.attention_loss(attention, batch, real, progress), int(real.sum())
    memory, state = search.encode(model, [s.ids for s, _ in batch], [s.words for s, _ in batch], device)
    reads = model.teach(inputs, state, memory)
    if model.output.copies:
        loss = copied_loss(model, reads, memory, wanted, real, method.training["label_smoothing"])
    else:
        loss = written_loss(model, reads, wanted, real, method.training["label_smoothing"])
    loss = loss + method.attention_loss(reads.weights, batch, real, progress)
    if spelling:
        loss = loss + spelling.loss(model, reads.readouts[real], words[real])
    return loss, int(real.sum())


def validate(model: Model, sentences: list[Source], references: list[str], target: Tokenizer, device: torch.device,
             characters: Tokenizer | None = None) -> float:
    """Returns the BLEU of greedy search. characters: those with which the model spells."""
    model.eval()
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i].ids))
    outputs = [""] * len(sentences)
    for begin in range(0, len(order), 100):
        chunk = order[begin:begin + 100]
        ids, words = ([sentences[i].ids for i in chunk], [sentences[i].words for i in chunk])
        for index, hypothesis in zip(chunk, search.greedy(model, ids, device, words)):
            source = sentences[index]
            spelled = search.spell(model, source.ids, hypothesis, characters, device)
            outputs[index] = copies.decode(hypothesis.tokens, target, source, spelled)
    model.train()
    return scores.bleu(outputs, references)


def save(path: Path, content: dict) -> None:
    """Writes a temporary file and renames it, so that an interruption leaves the old file intact."""
    temporary = path.with_suffix(".tmp")
    torch.save(content, temporary)
    temporary.replace(path)


class Trainer:
    """One run: its model, optimiser, position and best score; everything in `checkpoint.pt`."""

    def __init__(self, recipe: Path, data_folder: Path, out: Path, flip: bool) -> None:
        self.config, self.training = load_recipe(recipe)
        self.out = out
        out.mkdir(parents=True, exist_ok=True)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        for seeded in (random.seed, numpy.random.seed, torch.manual_seed):
            seeded(self.training["seed"])
        corpus = data.CORPORA[self.training["corpus"]]
        pairs = data.short(corpus.read(data_folder, "train", flip), self.training["longest"])
        self.source, self.target = prepare_vocabularies(out, self.config, self.training, pairs)
        self.characters = tokenizer.load_characters(out, self.config)
        self.spelling = Spelling(self.characters, self.target) if self.characters else None
        self.texts = pairs
        self.pairs = encode_pairs(pairs, self.source, self.target, self.config, self.spelling)
        self.methods = methods.Methods(self.config, self.training, self.pairs)
        valid = corpus.read(data_folder, "valid", flip)
        self.valid_sources = [copies.source_of(s, self.source, self.target, self.config) for s, _ in valid]
        fold = tokenizer.lower if tokenizer.options_of(self.config["tokenizer"], "target")["lowercase"] else str
        self.valid_references = [fold(t) for _, t in valid]
        sizes = tokenizer.vocabulary_sizes(out, self.config)
        self.model = Model(self.config, dropout=self.training["dropout"], **sizes).to(self.device)
        shrink_embeddings(self.model, self.training["embedding_deviation"])
        self.average = averaged(self.model, self.training["averaging"]) if self.training["averaging"] else None
        self.fast = Fused(self.model, half=False) if supported(self.config) and self.device.type == "cpu" else None
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-8)
        self.step = self.epoch = self.batch = 0
        self.best, self.stale = -1.0, 0
        self.seconds = -time.process_time()  # plus process_time(): CPU seconds since the run's first start

    @property
    def kept(self) -> Model:
        """The model that is validated and exported."""
        return self.average.module if self.average else self.model

    def state(self) -> dict:
        return {"config": self.config, "training": self.training, "model": self.model.state_dict(),
                "average": self.average and self.average.state_dict(),
                "optimizer": self.optimizer.state_dict(), "random": torch.get_rng_state(), "torch": torch.__version__,
                "position": (self.step, self.epoch, self.batch, self.best, self.stale),
                "seconds": self.seconds + time.process_time()}

    def resume(self) -> None:
        path = self.out / "checkpoint.pt"
        if not path.exists():
            return
        saved = load_saved(path, self.device)
        # A key that is newer than the checkpoint gets its default.
        if configuration.validate(saved["config"]) != self.config:
            sys.exit(f"{path} was trained with another configuration; remove it or choose another --out")
        if bool(saved.get("average")) != bool(self.average):
            sys.exit(f"{path} was trained {'without' if self.average else 'with'} averaging; remove it or choose "
                     f"another --out")
        self.model.load_state_dict(saved["model"])
        if self.average:
            self.average.load_state_dict(saved["average"])
        self.optimizer.load_state_dict(saved["optimizer"])
        torch.set_rng_state(saved["random"].cpu())
        self.step, self.epoch, self.batch, self.best, self.stale = saved["position"]
        self.seconds = saved.get("seconds", 0.0) - time.process_time()
        print(f"resumed at epoch {self.epoch + 1}, step {self.step}", flush=True)

    def update(self, batch: list[Pair], total: int) -> tuple[float, int]:
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.step, self.training, total)
        self.optimizer.zero_grad(set_to_none=True)
        loss, tokens = loss_of(self.model, batch, self.methods, min(1.0, self.step / total), self.device, self.spelling,
                               self.fast)
        (loss / tokens).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.training["clip"])
        self.optimizer.step()
        if self.average:
            self.average.update_parameters(self.model)
        self.step += 1
        return loss.item(), tokens

    def finish_epoch(self, loss: float) -> None:
        bleu = validate(self.kept, self.valid_sources, self.valid_references, self.target, self.device, self.characters)
        self.epoch, self.batch = self.epoch + 1, 0
        self.stale = 0 if bleu > self.best else self.stale + 1
        if bleu > self.best:
            self.best = bleu
            save(self.out / "best.pt", {"config": self.config, "training": self.training,
                                        "model": self.kept.state_dict(), "epoch": self.epoch, "valid_bleu": bleu})
        save(self.out / "checkpoint.pt", self.state())
        with open(self.out / "log.jsonl", "a", encoding="utf-8") as log:
            log.write(json.dumps({"epoch": self.epoch, "step": self.step, "loss": round(loss, 4),
                                  "valid_bleu": round(bleu, 2),
                                  "time": round(time.time()), "seconds": round(self.seconds + time.process_time())})
                      + "\n")
        print(f"epoch {self.epoch}: loss {loss:.3f}, validation BLEU (greedy) {bleu:.2f}, best {self.best:.2f}",
              flush=True)

    def finished(self) -> bool:
        return self.epoch >= self.training["epochs"] or self.stale >= self.training["patience"]

    def epoch_pairs(self, epoch: int) -> tuple[list[Pair], list[list[int]]]:
        """Returns the pairs of an epoch, and its batches as lists of indices. Both depend on (seed, epoch) alone, so
        that a resumed run reads the same."""
        pairs, alpha, seed = self.pairs, self.training["subword_sampling"], self.training["seed"]
        if alpha:
            pairs = sample_pairs(self.texts, self.source, self.target, self.config, alpha, seed * 1009 + epoch)
        lengths = [(len(s.ids), len(t) + 1) for s, t in pairs]
        return pairs, data.make_batches(lengths, self.training["batch_tokens"], seed, epoch)

    def run(self, save_every: float, until: float = math.inf) -> None:
        """Trains to the planned end, or until time.monotonic() passes `until`; then the checkpoint is saved, and the
        run can be resumed."""
        total = len(self.epoch_pairs(0)[1]) * self.training["epochs"]
        saved = time.monotonic()
        while not self.finished():
            pairs, batches = self.epoch_pairs(self.epoch)
            loss_sum, tokens = 0.0, 0
            bar = tqdm(batches[self.batch:], desc=f"epoch {self.epoch + 1}/{self.training['epochs']}",
                       initial=self.batch, total=len(batches), mininterval=5, unit="batch")
            for batch in bar:
                loss, count = self.update([pairs[i] for i in batch], total)
                loss_sum, tokens, self.batch = loss_sum + loss, tokens + count, self.batch + 1
                bar.set_postfix(loss=f"{loss_sum / tokens:.3f}", refresh=False)
                now = time.monotonic()
                if now - saved > save_every or now > until:
                    save(self.out / "checkpoint.pt", self.state())
                    saved = now
                if now > until:
                    return
            self.finish_epoch(loss_sum / max(1, tokens))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--data", type=Path, required=True,
                        help="folder with train.tsv.gz and valid.tsv.gz, or of all corpora")
    parser.add_argument("--out", type=Path, required=True, help="run folder: vocabularies, checkpoints, log")
    parser.add_argument("--flip", action="store_true", help="translate the second column into the first")
    parser.add_argument("--save-every", type=float, default=300, help="seconds between checkpoints")
    parser.add_argument("--budget", type=float, default=math.inf, help="stop after so many seconds, to be resumed")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    trainer = Trainer(arguments.recipe, arguments.data, arguments.out, arguments.flip)
    parameters = sum(p.numel() for p in trainer.model.parameters())
    print(f"{parameters:,} parameters, {len(trainer.pairs):,} of {len(trainer.texts):,} pairs (the others are too "
          f"long, or the output "
          f"cannot produce them), {trainer.device}, torch {torch.__version__}", flush=True)
    trainer.resume()
    trainer.run(arguments.save_every, time.monotonic() + arguments.budget)


if __name__ == "__main__":
    run_command(main)
