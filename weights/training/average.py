"""The mean of two models: python3 -m weights.training.average MODEL_FOLDER MODEL_FOLDER OUT [--share 0.5] [--dtype
int8]

Input: two exported models with the same configuration and vocabulary, where the second was trained from the first.
Output: a model folder with (1 - share) of the first model's weights and `share` of the second's, and the second's
vocabularies and metadata. After a short run on other data, such a mean keeps what the first model knew and what the
second learned (Wortsman et al. 2022).
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from ..command import run_command
from ..model import folder, manifest, safetensors


def average(first: Path, second: Path, out: Path, share: float, storage: str) -> None:
    config = folder.read_config(second)
    files = {config["tokenizer"]["source"], config["tokenizer"]["target"]}
    if (folder.read_config(first) != config or any((first / name).read_bytes() != (second / name).read_bytes()
                                                   for name in files)):
        sys.exit(f"average: {first} and {second} differ in their configuration or vocabulary")
    model, other = folder.read(first)[0], folder.read(second)[0].state_dict()
    model.load_state_dict({name: tensor * (1 - share) + other[name] * share
                           for name, tensor in model.state_dict().items()})
    folder.write(out, model, storage, safetensors.read(second / "model.safetensors")[1])
    for name in files:
        shutil.copyfile(second / name, out / name)
    manifest.write(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--share", type=float, default=0.5, help="of the second (default 0.5)")
    parser.add_argument("--dtype", choices=("float16", "float32", "bfloat16", "int8"), default="int8")
    arguments = parser.parse_args()
    average(arguments.first, arguments.second, arguments.out, arguments.share, arguments.dtype)


if __name__ == "__main__":
    run_command(main)
