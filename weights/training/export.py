"""Export: python3 -m weights.training.export RUN_FOLDER MODEL_FOLDER [--dtype float16|float32|bfloat16|int8] [--last]

Input: a run folder of weights/training/train.py (best.pt and the two vocabularies). Output: a model folder as the
server loads it: config.json, model.safetensors, the vocabularies. The model card, README.md, is written by
weights/evaluation/evaluate.py --card.
"""

from __future__ import annotations

import argparse
import math
import shutil
from pathlib import Path

import torch

from ..command import run_command
from ..model import config as configuration
from ..model import folder, manifest, tokenizer
from ..model.network import Model
from .saved import load_saved


def metadata(best: dict) -> dict[str, str]:
    """The origin of the weights, for the container's `__metadata__`. best: the content of best.pt."""
    return {"seed": str(best["training"]["seed"]), "torch": torch.__version__, "epoch": str(best["epoch"]),
            "valid_bleu": f"{best['valid_bleu']:.2f}"} | {key: str(best[key])
                                                          for key in ("tokens", "core_seconds", "gpu_seconds", "began")
                                                          if best.get(key)}


def newest(run: Path) -> dict:
    """The last checkpoint's weights in the form of best.pt's content; averaged if the run averages."""
    saved = load_saved(run / "checkpoint.pt")
    weights = {name.removeprefix("module."): tensor for name, tensor in (saved["average"] or saved["model"]).items()
               if name != "n_averaged"}
    return {"config": saved["config"], "training": saved["training"], "model": weights,
            "epoch": f"step {saved['position'][0]}", "valid_bleu": math.nan}


def load(model: Model, weights: dict[str, torch.Tensor]) -> None:
    """weights: by parameter; parameters that share a tensor need only one of them."""
    if missing := dict(model.named_parameters()).keys() - weights.keys():
        raise ValueError(f"the run's weights lack {min(missing)}")
    model.load_state_dict(weights, strict=False)


def export(run: Path, out: Path, storage: str, last: bool = False) -> Path:
    """Writes the model folder `out`; returns the path of its weights. last: exports the last checkpoint, not the
    best."""
    best = newest(run) if last else load_saved(run / "best.pt")
    config = configuration.validate(best["config"])
    vocabularies = [config["tokenizer"]["source"], config["tokenizer"]["target"]]
    vocabularies += [tokenizer.CHARACTERS] if config["output"]["type"] == "characters" else []
    model = Model(config, **tokenizer.vocabulary_sizes(run, config))
    load(model, best["model"])
    folder.write(out, model, storage, metadata(best))
    for name in vocabularies:
        shutil.copyfile(run / name, out / name)
    manifest.write(out)
    return out / "model.safetensors"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="a run folder of weights.train")
    parser.add_argument("out", type=Path, help="the model folder to write")
    parser.add_argument("--dtype", choices=list(folder.STORAGES), default="float16", help="storage of the matrices")
    parser.add_argument("--last", action="store_true", help="the weights of the last checkpoint, not the best ones")
    arguments = parser.parse_args()
    weights = export(arguments.run, arguments.out, arguments.dtype, arguments.last)
    print(f"{weights}: {weights.stat().st_size:,} bytes")


if __name__ == "__main__":
    run_command(main)
