"""Training of general models: python3 -m weights.training.broad RECIPE --data CORPORA --out DIR [--from MODEL_FOLDER]
[--cool STEPS]

Input: a recipe (config.json's sections and a `training` section with the keys of DEFAULTS), and the folder of all
corpora and links. training.pair names the corpora; source and target give the direction. training.sources limits the
sources, and training.weights {source: weight} overrides weights of weights/corpora/sources.tsv. The examples come from
weights/training/mixture.py, the arithmetic from weights/training/fused.py. Output in --out: the vocabulary,
checkpoint.pt (everything that a resumed run needs), best.pt (the averaged weights with the best mean validation chrF,
as weights/training/export.py reads them), log.jsonl and samples.txt (the translations of each validation).

A run with training.tokens ends after this number of target tokens; in the last quarter the rate falls linearly to 1%.
Without it a run has no planned end: after the warm-up the learning rate stays constant for `hold` steps and then falls
with the inverse square root of the steps; the result is a moving average of the weights. --cool lets the rate fall
linearly to 1% from the current step on, and then ends the run; another --cool may follow. An interrupted run resumes
from its last checkpoint with the same command, bit for bit. --from starts from an exported model with the same
configuration and a new optimiser. A model of the same pair brings its vocabulary; from one of another pair the
embeddings of known pieces are taken over (carried_over).
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import shutil
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import torch
from numpy import ndarray
from torch import Tensor
from tqdm import tqdm

from ..command import read_json, run_command
from ..model import config as configuration
from ..evaluation import scores
from ..model import folder, rejoined, safetensors, search, tokenizer
from . import fused, hiding, methods, mixture
from .mixture import Encoded
from ..model.network import Model
from ..model.tokenizer import BOS, EOS, SPACE
from .saved import load_saved
from .train import save, shrink_embeddings

DEFAULTS = {"seed": 1, "pair": "en-fr", "vocabulary": 8000, "batch_tokens": 3000, "learning_rate": 0.002, "warmup": 400,
            "hold": 4000, "dropout": 0.1,
            "label_smoothing": 0.1, "clip": 1.0, "embedding_deviation": 0.0625, "averaging": 0.001,
            "guided_attention": 0.4, "sources": [], "weights": {}, "hiding": False, "tokens": 0, "phrases": 0.2}
BETAS, EPSILON = (0.9, 0.98), 1e-8
VOCABULARY_LINES = 300_000
REPORT = 100  # steps
# Early models repeat themselves up to the length limit; without a lower limit, validation would take longer than
# training.
VALID_RATIO = 1.6
# Characters that every vocabulary has; others are split into bytes.
REQUIRED = ("".join(map(chr, range(0x21, 0x7f))) + "".join(map(chr, range(0xa1, 0x100)))
            + "ŒœŸ‘’‚‛“”„‹›–—…•€₹₽₿™℠№℃′″†‡‰←↑→↓↔⇒≈≠≤≥−√∞•●○■□▲▼►★☆✓✔✗☐♥♪½")
COOLED = 0.25  # share of a run with planned tokens, at its end, in which the learning rate falls to 1%


def load_recipe(path: Path) -> tuple[dict, dict]:
    """Returns the validated config, and the training section with defaults filled in."""
    recipe = read_json(path)
    training = recipe.pop("training")
    if unknown := training.keys() - DEFAULTS.keys():
        sys.exit(f"training.{min(unknown)}: unknown key")
    config = configuration.validate(recipe)
    if (not fused.supported(config) or config["tokenizer"]["source"] != config["tokenizer"]["target"]
        or not config["encoder"]["eos"]):
        sys.exit("this configuration cannot be trained here: weights/training/fused.py says what can; one vocabulary "
                 "for both sides, encoder.eos true")
    if not is_of_pair(config, (DEFAULTS | training)["pair"]):
        sys.exit("source and target must be the languages of training.pair")
    return config, DEFAULTS | training


def is_of_pair(config: dict, pair: str) -> bool:
    return {config["source"], config["target"]} == set(pair.split("-"))


def is_flipped(config: dict, training: dict) -> bool:
    """Whether the pair's second language is translated into its first."""
    return training["pair"] != f"{config['source']}-{config['target']}"


def train_vocabulary(kept: mixture.Cache, training: dict, path: Path) -> None:
    """Trains one vocabulary for both languages on the mixture's weighted texts, with byte fallback, so that <unk> never
    occurs, and with digits as separate pieces."""
    size, seed = training["vocabulary"], training["seed"]
    stream = mixture.Mixture(kept, training["pair"], False, seed, None, 0, chunk=VOCABULARY_LINES // 2,
                             weights=training["weights"])
    lines = [text for one in stream.examples(0) for text in (one.source, one.target) if not hiding.ALWAYS.search(text)]
    made = path.with_suffix(".model")  # renamed at the end: an interrupted run trains it again
    tokenizer.train_unigram(lines, made, size, seed, character_coverage=0.9998, byte_fallback=True, split_digits=True,
                            required_chars=REQUIRED)
    rejoined.rejoin(made, lines[:20000])
    made.rename(path)


def chosen(kept: mixture.Cache, training: dict) -> mixture.Cache:
    """The corpora that training.sources names, or all if it is empty."""
    for key in ("sources", "weights"):
        if unknown := set(training[key]) - kept.corpora.keys():
            sys.exit(f"training.{key}: {min(unknown)} is unknown")
    names = training["sources"]
    return (mixture.Cache({name: pairs for name, pairs in kept.corpora.items() if name in names}, kept.names) if names
            else kept)


def described(start: Path) -> str:
    """Describes an exported model and its training so far, for the card of a model that began from it."""
    metadata = safetensors.read(start / "model.safetensors")[1]
    steps, tokens = (metadata.get(key, "unknown").removeprefix("step ") for key in ("epoch", "tokens"))
    earlier = f", itself from {metadata['began']}" if metadata.get("began") else ""
    return f"{folder.read_config(start)['name']} ({steps} steps, {tokens} target tokens{earlier})"


def carried_over(start: Path, side: tokenizer.SentencePiece, wanted: Collection[str]) -> dict[str, ndarray]:
    """The wanted tensors of an exported model for the vocabulary `side`. A piece that the model lacks gets the mean row
    of the pieces into which the model splits it."""
    model, old, _ = folder.read(start)
    spelt = [[old.find(piece)] if old.find(piece) >= 0 or i in side.special
             else old.processor.encode(piece.replace(SPACE, " "))
             for i, piece in enumerate(side.pieces)]
    spelt = [ids if min(ids, default=-1) >= 0 else [0] for ids in spelt]
    for special, theirs in zip(side.special, old.special):
        spelt[special] = [theirs]
    tensors = {name: tensor.detach() for name, tensor in model.named_tensors().items() if name in wanted}
    for name in ("encoder.embedding", "decoder.embedding", "output.weight", "output.bias"):
        if name in tensors and side.pieces != old.pieces:
            tensors[name] = torch.stack([tensors[name][ids].mean(0) for ids in spelt])
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def planned_fall(tokens: int, training: dict) -> float:
    """The factor of the learning rate after this number of target tokens in a run with planned tokens; 0 ends the
    run."""
    planned = training["tokens"]
    return min(1.0, max(0.0, planned - tokens) / (COOLED * planned)) if planned else 1.0


def learning_rate(step: int, training: dict, cool: tuple[int, int] | None = None) -> float:
    """Linear warm-up, a plateau, then the inverse square root. cool: (first step, number of steps) of the final decay,
    which may begin later."""
    warmup, hold = training["warmup"], training["hold"]
    rate = training["learning_rate"] * min(1.0, (step + 1) / warmup, math.sqrt(hold / max(step, 1)))
    return rate if cool is None else rate * max(0.01, 1 - max(0, step - cool[0]) / cool[1])


def guide_of(batch: list[Encoded], steps: int, tokens: int) -> Tensor:
    """Returns [B, S, T]: for each target token equal weights for its links, which sum to 1, or to 0 without links."""
    guide = torch.zeros(len(batch), steps, tokens)
    places = torch.tensor([(b, j, i) for b, one in enumerate(batch) for i, j in one.links]).t()
    guide[tuple(places)] = 1
    return guide / guide.sum(2, keepdim=True).clamp_min(1)


class Run:
    """One run: its model, averaged weights, moments and position."""

    def __init__(self, recipe: Path, root: Path, out: Path, start: Path | None, cache: Path | None) -> None:
        self.config, self.training = load_recipe(recipe)
        self.out, self.pair, flip = out, self.training["pair"], is_flipped(self.config, self.training)
        out.mkdir(parents=True, exist_ok=True)
        kept = chosen(mixture.cache(root, self.pair, cache or out / "cache.pickle"), self.training)
        path = out / self.config["tokenizer"]["source"]
        if not path.exists() and start and is_of_pair(folder.read_config(start), self.pair):
            shutil.copyfile(start / folder.read_config(start)["tokenizer"]["source"], path)
        elif not path.exists():
            train_vocabulary(kept, self.training, path)
        self.side = tokenizer.SentencePiece(path, {})
        self.limit = self.config["limits"]["max_source_tokens"]
        self.stream = mixture.Mixture(kept, self.pair, flip, self.training["seed"], self.side, self.limit,
                                      weights=self.training["weights"],
                                      hides=self.training["hiding"], share=self.training["phrases"])
        torch.manual_seed(self.training["seed"])
        self.model = Model(self.config, **tokenizer.vocabulary_sizes(out, self.config),
                           dropout=self.training["dropout"])
        shrink_embeddings(self.model, self.training["embedding_deviation"])
        if start and not (out / "checkpoint.pt").exists():
            folder.load_tensors(self.model, carried_over(start, self.side, self.model.named_tensors().keys()))
        self.began = described(start) if start else ""
        self.fused = fused.Fused(self.model)
        self.parameters = dict(self.model.named_parameters())
        self.average, self.first, self.second = ({name: p.detach().clone() if like else torch.zeros_like(p)
                                                  for name, p in self.parameters.items()}
                                                 for like in (True, False, False))
        self.valid = mixture.held_out(root, self.pair, flip)
        self.step = self.chunk = self.batch = self.tokens = 0
        self.best = -1.0
        self.cool: tuple[int, int] | None = None
        self.seconds = -time.process_time()

    def state(self) -> dict:
        return {"config": self.config, "training": self.training, "model": self.model.state_dict(),
                "average": self.average, "first": self.first,
                "second": self.second, "random": torch.get_rng_state(), "torch": torch.__version__, "cool": self.cool,
                "position": (self.step, self.chunk, self.batch, self.tokens, self.best), "began": self.began,
                "seconds": self.seconds + time.process_time()}

    def resume(self) -> None:
        path = self.out / "checkpoint.pt"
        if not path.exists():
            return
        saved = load_saved(path)
        if configuration.validate(saved["config"]) != self.config:
            sys.exit(f"{path} was trained with another configuration; remove it or choose another --out")
        self.model.load_state_dict(saved["model"])
        for name in ("average", "first", "second"):
            for key, tensor in getattr(self, name).items():
                tensor.copy_(saved[name][key])
        torch.set_rng_state(saved["random"])
        self.step, self.chunk, self.batch, self.tokens, self.best = saved["position"]
        self.cool, self.began, self.seconds = saved["cool"], saved.get("began",
                                                                       self.began), saved[
                                                                           "seconds"] - time.process_time()
        print(f"resumed at step {self.step}, chunk {self.chunk}", flush=True)

    def update(self, batch: list[Encoded]) -> tuple[float, float, int]:
        """Returns per target token the plain loss and the guide's cross-entropy, and the number of target tokens."""
        ids, lengths = search.pad([one.source for one in batch])
        inputs = search.pad([[BOS] + one.target for one in batch])[0]
        wanted = search.pad([one.target + [EOS] for one in batch], value=-100)[0]
        loss, plain, attention = self.fused.loss(ids, lengths, inputs, wanted, self.training["label_smoothing"])
        guided = methods.guided_loss(attention, guide_of(batch, inputs.shape[1], ids.shape[1]))
        count = int((wanted != -100).sum())
        self.model.zero_grad()
        ((loss + self.training["guided_attention"] * guided) / count).backward()
        self.descend()
        return plain.item() / count, guided.item() / count, count

    def rate(self, step: int) -> float:
        return learning_rate(step, self.training, self.cool) * max(0.01, planned_fall(self.tokens, self.training))

    def descend(self) -> None:
        gradients = [p.grad for p in self.parameters.values()]
        norm = math.sqrt(sum(float(g.norm()) ** 2 for g in gradients))
        if not math.isfinite(norm):
            sys.exit(f"step {self.step}: the gradient is not finite; the last checkpoint stands")
        self.step += 1
        # Averages roughly the last tenth of the steps at first.
        (beta1, beta2), share = BETAS, max(self.training["averaging"], 10 / (self.step + 9))
        rate = self.rate(self.step - 1) / (1 - beta1 ** self.step)
        for name, p in self.parameters.items():
            self.fused.kernels.call("adam", p.numel(), p.detach(), p.grad.contiguous(), self.first[name],
                                    self.second[name], self.average[name], rate,
                                    (1 - beta2 ** self.step) ** -0.5, beta1, beta2, EPSILON,
                                    min(1.0, self.training["clip"] / (norm + 1e-6)), share)

    def averaged(self) -> Model:
        with torch.random.fork_rng():  # the initial values are drawn and discarded
            model = Model(copy.deepcopy(self.config), **tokenizer.vocabulary_sizes(self.out, self.config)).eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(self.average[name])
        return model

    def translate(self, model: Model, texts: list[str]) -> list[str]:
        """Translates by greedy search."""
        ids = [self.side.encode(text)[:self.limit] + [EOS] for text in texts]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        outputs = [""] * len(ids)
        for begin in range(0, len(order), 100):
            chunk = order[begin:begin + 100]
            for i, hypothesis in zip(chunk, search.greedy(model, [ids[i] for i in chunk], torch.device("cpu"))):
                outputs[i] = self.side.decode(hypothesis.tokens)
        return outputs

    def validate(self, loss: float, guided: float) -> None:
        model = self.averaged()
        model.config["limits"]["max_target_ratio"] = VALID_RATIO
        line: dict = {"step": self.step, "tokens": self.tokens,
                      "passes": round(self.chunk * self.stream.chunk / self.stream.size, 3),
                      "loss": round(loss, 4), "guided": round(guided, 4), "rate": self.rate(self.step),
                      "core_seconds": round(self.seconds + time.process_time())}
        shown = []
        for name, pairs in self.valid.items():
            outputs, references = self.translate(model, [a for a, _ in pairs]), [b for _, b in pairs]
            line[name] = [round(scores.bleu(outputs, references), 1), round(scores.chrf(outputs, references), 1)]
            shown += [f"{name}\t{a}\n\t{output}\n\t({b})\n"
                      for (a, b), output in list(zip(pairs, outputs))[::max(1, len(pairs) // 8)]]
        mean = sum(line[name][1] for name in self.valid) / len(self.valid)
        line["mean_chrf"] = round(mean, 2)
        with (self.out / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        (self.out / "samples.txt").write_text(f"step {self.step}\n" + "".join(shown), encoding="utf-8")
        print(json.dumps(line), flush=True)
        if mean > self.best:
            self.best = mean
            save(self.out / "best.pt", {"config": self.config, "training": self.training, "model": model.state_dict(),
                                        "epoch": self.step,
                                        "valid_bleu": line["flores"][0], "tokens": self.tokens,
                                        "core_seconds": line["core_seconds"], "began": self.began})

    def updates(self) -> Iterator[list[Encoded]]:
        while True:
            batches = self.stream.batches(self.chunk, self.training["batch_tokens"])
            while self.batch < len(batches):
                self.batch += 1
                yield batches[self.batch - 1]
            self.chunk, self.batch = self.chunk + 1, 0

    def run(self, save_every: float, validate_every: float, until: float = math.inf, last: float = math.inf) -> None:
        """Trains until time.monotonic() passes `until`, step `last` is reached or cooling ends, and then saves the
        checkpoint. validate_every: in CPU seconds, so that a run with little CPU time does not spend it on
        validation."""
        saved, validated = time.monotonic(), time.process_time()
        sums, recent = [0.0, 0.0, 0], [0.0, 0.0, 0]
        bar = tqdm(self.updates(), mininterval=20, unit="step", initial=self.step)
        for batch in bar:
            loss, guided, count = self.update(batch)
            self.tokens += count
            for total in (sums, recent):
                total[:] = total[0] + loss * count, total[1] + guided * count, total[2] + count
            if self.step % REPORT == 0:
                bar.write(f"step {self.step}: loss {recent[0] / recent[2]:.4f}, guided {recent[1] / recent[2]:.4f}, "
                          f"{self.tokens:,} tokens, "
                          f"{self.seconds + time.process_time():.0f} core seconds", file=sys.stdout)
                recent[:] = 0.0, 0.0, 0
            now = time.monotonic()
            over = planned_fall(self.tokens, self.training) == 0
            done = now > until or self.step >= last or over or (self.cool is not None and self.step >= sum(self.cool))
            if time.process_time() - validated > validate_every or done:
                self.validate(sums[0] / sums[2], sums[1] / sums[2])
                sums, validated = [0.0, 0.0, 0], time.process_time()
            if now - saved > save_every or done:
                save(self.out / "checkpoint.pt", self.state())
                saved = time.monotonic()
            if done:
                return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="folder of all corpora and links")
    parser.add_argument("--out", type=Path, required=True, help="run folder: vocabulary, checkpoints, log")
    parser.add_argument("--from", type=Path, dest="start", help="a model folder to start from")
    parser.add_argument("--cache", type=Path, help="where the normalised corpora are kept; default: in --out")
    parser.add_argument("--save-every", type=float, default=300, help="seconds between checkpoints")
    parser.add_argument("--validate-every", type=float, default=1800, help="core seconds between validations")
    parser.add_argument("--budget", type=float, default=math.inf, help="stop after so many seconds, to be resumed")
    parser.add_argument("--cool", type=int,
                        help="let the learning rate fall to its end within so many steps from here, then stop")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    begun = time.monotonic()
    run = Run(arguments.recipe, arguments.data, arguments.out, arguments.start, arguments.cache)
    run.resume()
    if arguments.cool and (run.cool is None or run.step >= sum(run.cool)):
        run.cool = (run.step, arguments.cool)
    print(f"{sum(p.numel() for p in run.parameters.values()):,} parameters, {run.stream.size:,.0f} examples a pass, "
          f"{run.fused.kernels.dtype}, "
          f"torch {torch.__version__}", flush=True)
    run.run(arguments.save_every, arguments.validate_every, begun + arguments.budget)


if __name__ == "__main__":
    run_command(main)
