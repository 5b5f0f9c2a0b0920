"""Training of general models on one GPU, several at a time:
python3 -m weights.training.graphs RECIPE... --data CORPORA --out RUNS --seconds S

It uses the recipes, examples, loss and optimiser of weights/training/broad.py, with larger batches. Processes make the
examples, which are kept on the device. An update draws its batch there; it is captured once per length as a CUDA graph,
because its thousands of small kernels would otherwise wait for Python. Each recipe has its own CUDA stream. The run is
scheduled by the clock: the learning rate rises for `warmup` updates and then falls linearly until --seconds are over.
Output for each recipe: RUNS/NAME with the vocabulary (made before, or by the run), best.pt (the averaged weights, as
weights/training/export.py reads them) and log.jsonl with the losses of training and of the held-out pairs. An
interrupted run keeps the best.pt of its last validation, and cannot be resumed.

While the stream is short, examples of a length may be drawn more often than they occur in it: batches are drawn with
replacement from all examples so far.
"""

from __future__ import annotations

import argparse
import bisect
import functools
import gc
import json
import multiprocessing
import os
import queue
import random
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy
import torch
from torch import Tensor

from ..command import run_command
from ..model import folder, safetensors, tokenizer
from ..model.network import Model
from ..model.tokenizer import BOS
from . import broad, methods, mixture
from .export import load
from .fused import Fused
from .mixture import Encoded
from .saved import load_saved
from .train import save, shrink_embeddings

# Maximum length of the longer side, </s> included; each length has a graph.
LENGTHS = (6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64, 80, 128)
TOKENS = 16384    # per batch, including padding
LEAST = 256       # minimum number of examples of a length before it is trained on
CAPACITY = 1.5e9  # bytes of examples per recipe
LINKS = 3         # maximum source tokens to which a target token is guided
NONE = 255        # no link
PAD = -100
AHEAD = 4         # maximum updates of a recipe that are queued on the device
CHUNKS = 16       # maximum chunks of examples that wait for the device


class Rows(NamedTuple):
    """Examples of one length bucket L: source, target [N, L] (int16; the target with </s>, padded with PAD), lengths
    [N] of the sources, links [N, L, LINKS]."""

    source: numpy.ndarray
    target: numpy.ndarray
    lengths: numpy.ndarray
    links: numpy.ndarray


def length_of(one: Encoded) -> int:
    """The index of the bucket in LENGTHS; len(LENGTHS) if the example is too long."""
    return bisect.bisect_left(LENGTHS, max(len(one.source), len(one.target) + 1))


def rows(examples: list[Encoded], length: int, eos: int) -> Rows:
    made = Rows(numpy.zeros((len(examples), length), numpy.int16),
                numpy.full((len(examples), length), PAD, numpy.int16),
                numpy.zeros(len(examples), numpy.int16), numpy.full((len(examples), length, LINKS), NONE, numpy.uint8))
    for row, one in enumerate(examples):
        made.source[row, :len(one.source)] = one.source
        made.target[row, :len(one.target)] = one.target
        made.target[row, len(one.target)] = eos
        made.lengths[row] = len(one.source)
        used = [0] * (len(one.target) + 1)
        for i, j in one.links:
            if used[j] < LINKS:
                made.links[row, j, used[j]] = i
                used[j] += 1
    return made


def feed(streams: list[mixture.Mixture], worker: int, workers: int, into: multiprocessing.Queue) -> None:
    """Puts every `workers`th chunk, taken from all streams in turn, into the queue, forever."""
    os.nice(5)
    number = worker
    while True:
        chunk, which = divmod(number, len(streams))
        stream = streams[which]
        by_length: list[list[Encoded]] = [[] for _ in LENGTHS]
        for one in stream.encoded(chunk):
            if (i := length_of(one)) < len(LENGTHS):
                by_length[i].append(one)
        eos = stream.side.special[2]
        into.put((which, [rows(found, LENGTHS[i], eos) for i, found in enumerate(by_length)]))
        number += workers


class Pool:
    """The examples of one length bucket on the device."""

    def __init__(self, length: int, capacity: int, device: str) -> None:
        self.length, self.capacity, self.count = length, capacity, 0
        self.source = torch.zeros(capacity, length, dtype=torch.int16, device=device)
        self.target = torch.zeros(capacity, length, dtype=torch.int16, device=device)
        self.lengths = torch.zeros(capacity, dtype=torch.int16, device=device)
        self.links = torch.zeros(capacity, length, LINKS, dtype=torch.uint8, device=device)
        self.limit = torch.zeros(1, dtype=torch.int32, device=device)

    def add(self, more: Rows) -> None:
        taken = min(len(more.source), self.capacity - self.count)
        for kept, part in zip((self.source, self.target, self.lengths, self.links), more):
            kept[self.count:self.count + taken].copy_(torch.from_numpy(part[:taken]))
        self.count += taken
        self.limit.fill_(self.count)

    def batch(self, index: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """index [B] -> ids [B, L], their lengths [B], wanted [B, L], guide [B, L, L]."""
        links = self.links[index]
        guide = (links[:, :, None, :] == torch.arange(self.length, device=index.device)[:, None]).sum(
            3, dtype=torch.float32)
        return self.source[index].long(), self.lengths[index].long(), self.target[index].long(), guide / guide.sum(
            2, keepdim=True).clamp_min(1)


@functools.cache
def corpora(root: Path, pair: str, path: Path) -> mixture.Cache:
    """The cache of a pair, which both directions share."""
    return mixture.cache(root, pair, path)


def begun(start: Path) -> dict:
    """The content of a run folder's best.pt, or its equivalent for an exported model."""
    if (start / "best.pt").exists():
        return load_saved(start / "best.pt")
    metadata = safetensors.read(start / "model.safetensors")[1]
    seen = {key: int(metadata.get(key, "0").removeprefix("step ")) for key in ("epoch", "tokens", "gpu_seconds")}
    return {"model": folder.read(start)[0].state_dict()} | seen


class Trainee:
    """A recipe's model on the device. Weights, gradients, moments and averages are flat tensors."""

    def __init__(self, recipe: Path, root: Path, runs: Path, caches: Path, start: Path | None = None,
                 device: str = "cuda") -> None:
        """start: the parent folder of the run or model folders from which training starts."""
        self.config, self.training = broad.load_recipe(recipe)
        self.pair, self.flip = self.training["pair"], broad.is_flipped(self.config, self.training)
        self.name, self.device = self.config["name"], device
        self.out = runs / self.name
        self.out.mkdir(parents=True, exist_ok=True)
        kept = broad.chosen(corpora(root, self.pair, caches / f"cache-{self.pair}.pickle"), self.training)
        path = self.out / self.config["tokenizer"]["source"]
        if not path.exists() and start:
            shutil.copyfile(start / self.name / path.name, path)
        elif not path.exists():
            broad.train_vocabulary(kept, self.training, path)
        side = tokenizer.SentencePiece(path, {})
        self.stream = mixture.Mixture(kept, self.pair, self.flip, self.training["seed"], side,
                                      self.config["limits"]["max_source_tokens"],
                                      weights=self.training["weights"], hides=self.training["hiding"],
                                      share=self.training["phrases"])
        self.held_out = mixture.held_out(root, self.pair, self.flip)
        self.before = begun(start / self.name) if start else None
        self.pools: list[Pool] = []
        self.losses: list[float] = []

    def place(self) -> None:
        """Allocates everything on the device; called after the example processes have been forked."""
        from .gpu import GpuKernels  # Triton is available only with a GPU

        torch.manual_seed(self.training["seed"])
        model = Model(self.config, **tokenizer.vocabulary_sizes(self.out, self.config),
                      dropout=self.training["dropout"])
        if self.before:
            load(model, self.before["model"])
        else:
            shrink_embeddings(model, self.training["embedding_deviation"])
        self.model = model.to(self.device).train()
        named = dict(self.model.named_parameters())
        size = sum(p.numel() for p in named.values())
        self.weights, self.gradients, self.average, self.first, self.second = (torch.zeros(size, device=self.device)
                                                                               for _ in range(5))
        begin = 0
        for p in named.values():
            part = slice(begin, begin + p.numel())
            self.weights[part] = p.detach().flatten()
            p.data, p.grad = self.weights[part].view_as(p), self.gradients[part].view_as(p)
            begin += p.numel()
        self.average.copy_(self.weights)
        self.clock = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.rate = torch.zeros((), device=self.device)
        # Plain loss, guide's loss, target tokens, updates with a non-finite gradient.
        self.sums = torch.zeros(4, device=self.device)
        self.kernels = GpuKernels(self.clock)
        self.fused = Fused(self.model, kernels=self.kernels)
        self.stream_of_device = torch.cuda.Stream()
        share = [0.02, 0.04, 0.05, 0.06, 0.06, 0.06, 0.1, 0.1, 0.09, 0.08, 0.12, 0.08, 0.08, 0.04, 0.02]
        self.pools = [Pool(length, int(CAPACITY * part / (length * (4 + LINKS))), self.device)
                      for length, part in zip(LENGTHS, share)]
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.memory = None
        self.pending: list[torch.cuda.Event] = []
        self.steps, self.tokens = 0, 0
        self.chance = random.Random(self.training["seed"])

    def update(self, pool: Pool) -> None:
        """One update, without synchronising with the device."""
        self.kernels.salt = 0
        index = torch.empty(max(1, TOKENS // pool.length), dtype=torch.int64, device=self.device)
        self.kernels.draw(pool.limit, index)
        ids, lengths, wanted, guide = pool.batch(index)
        inputs = torch.cat([torch.full_like(wanted[:, :1], BOS), wanted[:, :-1].clamp_min(0)], 1)
        loss, plain, attention = self.fused.loss(ids, lengths, inputs, wanted, self.training["label_smoothing"])
        guided = methods.guided_loss(attention, guide)
        count = (wanted != PAD).sum()
        self.gradients.zero_()
        ((loss + self.training["guided_attention"] * guided) / count).backward()
        with torch.no_grad():
            norm = self.gradients.norm()
            finite = torch.isfinite(norm)
            self.gradients.nan_to_num_(0.0, 0.0, 0.0)
            factor = torch.where(finite, (self.training["clip"] / (norm + 1e-6)).clamp_max(1.0), torch.zeros_like(norm))
            self.clock += 1
            step = self.clock[0].float()
            (beta1, beta2), share = broad.BETAS, (10 / (step + 9)).clamp_min(self.training["averaging"])
            scalars = torch.stack([self.rate / (1 - beta1 ** step), (1 - beta2 ** step) ** -0.5, factor, share])
            self.kernels.adam(len(self.weights), self.weights, self.gradients, self.first, self.second, self.average,
                              scalars, beta1, beta2, broad.EPSILON)
            self.sums += torch.stack([plain, guided.detach(), count.float(), 1 - finite.float()])

    def capture(self, i: int, compiled: bool) -> None:
        """Captures the update of one length. compiled: another model has captured this length before, so all kernels
        are compiled; otherwise an uncaptured update compiles them first."""
        stream = self.stream_of_device
        torch.cuda.synchronize()
        if not compiled or not self.graphs:
            with torch.cuda.stream(stream):
                self.update(self.pools[i])
            torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.memory, stream=stream):
            self.update(self.pools[i])
        self.memory = graph.pool()
        self.graphs[i] = graph
        torch.cuda.synchronize()

    def step(self, rate: float) -> None:
        """Runs the next update, of a length drawn in proportion to its number of batches."""
        ready = list(self.graphs)
        i = self.chance.choices(ready, [self.pools[i].count / (TOKENS // LENGTHS[i]) for i in ready])[0]
        if len(self.pending) >= AHEAD:
            self.pending.pop(0).synchronize()
        with torch.cuda.stream(self.stream_of_device):
            self.rate.fill_(rate * min(1.0, (self.steps + 1) / self.training["warmup"]))
            self.graphs[i].replay()
            event = torch.cuda.Event()
            event.record()
        self.pending.append(event)
        self.steps += 1

    def averaged(self) -> dict[str, Tensor]:
        """The averaged weights by parameter."""
        named, begin = {}, 0
        for name, p in self.model.named_parameters():
            named[name] = self.average[begin:begin + p.numel()].view_as(p).half().cpu()
            begin += p.numel()
        return named

    @torch.no_grad()
    def validation(self) -> dict[str, float]:
        """Returns for each set of held-out pairs the plain loss per target token of the averaged weights."""
        torch.cuda.synchronize()
        kept = self.weights.clone()
        self.weights.copy_(self.average)
        self.model.eval()
        found = {}
        eos = self.stream.side.special[2]
        for name, pairs in self.held_out.items():
            examples = [Encoded(self.stream.side.encode(a)[:126] + [eos], self.stream.side.encode(b)[:126], [])
                        for a, b in pairs]
            total, count = 0.0, 0
            for length in (32, LENGTHS[-1]):
                part = [one for one in examples if (length_of(one) <= LENGTHS.index(32)) == (length == 32)]
                if part:
                    pool = Pool(length, len(part), self.device)
                    pool.add(rows(part, length, eos))
                    ids, lengths, wanted, _ = pool.batch(torch.arange(len(part), device=self.device))
                    inputs = torch.cat([torch.full_like(wanted[:, :1], BOS), wanted[:, :-1].clamp_min(0)], 1)
                    total += self.fused.loss(ids, lengths, inputs, wanted, 0.0)[1].item()
                    count += int((wanted != PAD).sum())
            found[name] = round(total / count, 4)
        self.model.train()
        self.weights.copy_(kept)
        torch.cuda.synchronize()
        return found

    def report(self, seconds: float, rate: float) -> None:
        losses = self.validation()
        plain, guided, tokens, lost = self.sums.tolist()
        self.sums.zero_()
        self.tokens += int(tokens)
        mean = round(sum(losses.values()) / len(losses), 4)
        line = {"seconds": round(seconds, 1), "steps": self.steps, "tokens": self.tokens,
                "examples": sum(pool.count for pool in self.pools), "rate": round(rate, 6),
                "loss": round(plain / max(1, tokens), 4), "guided": round(guided / max(1, tokens), 4),
                "not_finite": int(lost), "held_out": mean} | losses
        with (self.out / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        print(self.name, json.dumps(line), flush=True)
        earlier = ({key: self.before.get(key, 0) for key in ("epoch", "tokens", "gpu_seconds")} if self.before
                   else Counter())
        save(self.out / "best.pt", {"config": self.config, "training": self.training, "model": self.averaged(),
                                    "valid_bleu": float("nan"), "began": "",
                                    "epoch": self.steps + earlier["epoch"], "tokens": self.tokens + earlier["tokens"],
                                    "gpu_seconds": round(seconds) + earlier["gpu_seconds"]})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipes", type=Path, nargs="+")
    parser.add_argument("--data", type=Path, required=True, help="folder of all corpora and links")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run folders")
    parser.add_argument("--caches", type=Path, help="where the normalised corpora are kept; default: --out")
    parser.add_argument("--from", type=Path, dest="start", metavar="FOLDERS",
                        help="start from the weights of these run or model folders")
    parser.add_argument("--learning-rate", type=float, help="the highest, instead of the recipe's")
    parser.add_argument("--seconds", type=float, required=True, help="of training, from the first update")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) - 2), help="that make examples")
    parser.add_argument("--every", type=float, default=60, help="seconds between validations")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    trainees = [Trainee(recipe, arguments.data, arguments.out, arguments.caches or arguments.out, arguments.start)
                for recipe in arguments.recipes]
    gc.collect()
    gc.freeze()  # capturing collects garbage, and the corpora consist of millions of objects
    context = multiprocessing.get_context("fork")
    made: multiprocessing.Queue = context.Queue(CHUNKS)
    feeders = [context.Process(target=feed, args=([one.stream for one in trainees], i, arguments.processes, made),
                               daemon=True) for i in range(arguments.processes)]
    for feeder in feeders:
        feeder.start()
    print(f"corpora read in {time.monotonic() - begun:.1f} s", flush=True)
    for one in trainees:
        one.place()

    def receive(wait: bool) -> bool:
        try:
            which, parts = made.get(timeout=60) if wait else made.get_nowait()
        except queue.Empty:
            return False
        for pool, part in zip(trainees[which].pools, parts):
            if len(part.source):
                pool.add(part)
        return True

    while any(sum(pool.count for pool in one.pools) == 0 for one in trainees):
        receive(True)
    print(f"first examples after {time.monotonic() - begun:.1f} s", flush=True)
    start = time.monotonic()
    reported, turns = start, 0
    while True:
        progress = (time.monotonic() - start) / arguments.seconds
        rates = [(arguments.learning_rate or one.training["learning_rate"]) * max(0.0, 1 - progress)
                 for one in trainees]
        if turns % 8 == 0:
            receive(False)
        for one in trainees:
            if turns % 32 == 0:
                for i, pool in enumerate(one.pools):
                    if i not in one.graphs and pool.count >= LEAST:
                        one.capture(i, any(i in other.graphs for other in trainees))
        if turns == 0:
            torch.cuda.synchronize()
            print(f"graphs captured after {time.monotonic() - start:.1f} s", flush=True)
        if progress >= 1 or time.monotonic() - reported > arguments.every:
            for one, rate in zip(trainees, rates):
                one.report(time.monotonic() - start, rate)
            reported = time.monotonic()
        if progress >= 1:
            break
        for one, rate in zip(trainees, rates):
            one.step(rate)
        turns += 1
    for feeder in feeders:
        feeder.terminate()


if __name__ == "__main__":
    run_command(main)
