"""PyTorch's speed with the same weights: python3 tests/bench/pytorch.py MODEL_FOLDER [--threads N] [--sentences N] < source.txt

Input: a model folder and source sentences, one a line. Output: one JSON line for each of greedy and beam 5 at batch 1 and at batch 32
(sorted by length): {"engine": "pytorch", "strategy", "beam_size", "batch", "threads", "sentences", "tokens", "seconds",
"tokens_per_second"}. Tokens are target tokens of the best hypothesis, </s> counted. Tokenizing and loading are not timed. Each setting is
run --repeat times after one batch of warm-up, and the fastest run counts: what other programs take is not PyTorch's fault.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Callable

BATCHES = (1, 32)
BEAM_SIZE = 5


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sentences", type=int, default=200, help="of the input, at most")
    parser.add_argument("--repeat", type=int, default=3)
    return parser.parse_args()


def measure(translate: Callable[[list[list[int]]], int], sentences: list[list[int]], batch: int, repeat: int) -> tuple[int, float]:
    """translate: sentences -> target tokens. -> tokens of all sentences, seconds of the fastest run."""
    batches = [sentences[begin:begin + batch] for begin in range(0, len(sentences), batch)]
    translate(batches[len(batches) // 2])
    tokens, fastest = 0, float("inf")
    for _ in range(repeat):
        begin = time.perf_counter()
        tokens = sum(translate(sentences) for sentences in batches)
        fastest = min(fastest, time.perf_counter() - begin)
    return tokens, fastest


def main() -> None:
    arguments = parse_arguments()
    # Before PyTorch is loaded. GEMM's threads are OpenBLAS's; PyTorch's own loops keep to one: two pools spin against each other.
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["OPENBLAS_NUM_THREADS"] = str(arguments.threads)
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from weights.model import folder, search
    from weights.model.tokenizer import EOS
    import torch

    torch.set_num_threads(1)
    model, source, _ = folder.read(arguments.model)
    end = [EOS] if model.config["encoder"]["eos"] else []
    lines = [line.rstrip("\n") for line in sys.stdin][:arguments.sentences]
    sentences = sorted((source.encode(line) + end for line in lines), key=len)

    def greedy(batch: list[list[int]]) -> int:
        return sum(len(best.log_probs) for best in search.greedy(model, batch))

    def beam(batch: list[list[int]]) -> int:
        return sum(len(n_best[0].log_probs) for n_best in search.beam(model, batch, BEAM_SIZE))

    for strategy, translate in (("greedy", greedy), ("beam", beam)):
        for batch in BATCHES:
            tokens, seconds = measure(translate, sentences, batch, arguments.repeat)
            print(json.dumps({"engine": "pytorch", "strategy": strategy, "beam_size": BEAM_SIZE if strategy == "beam" else 1,
                              "batch": batch, "threads": arguments.threads, "sentences": len(sentences), "tokens": tokens,
                              "seconds": round(seconds, 4), "tokens_per_second": round(tokens / seconds, 1)}), flush=True)


if __name__ == "__main__":
    main()
