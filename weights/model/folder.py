"""The model folder: config.json, model.safetensors and the tokenizer's files, written and read.

Input of `write`: a model and its vocabularies. Output of `read`: the model as the C server computes it, with the stored
(rounded or quantised) values as float32.
"""

from __future__ import annotations

from pathlib import Path

import torch
from numpy import ndarray

from ..command import read_json
from . import config as configuration
from . import safetensors
from .network import Model
from .storage import STORAGES, expand, store
from .tokenizer import Tokenizer, load, vocabulary_sizes

def write(folder: Path, model: Model, storage: str, metadata: dict[str, str]) -> None:
    """Writes config.json and model.safetensors; the caller puts the tokenizer's files there."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: tensor.detach().cpu().float().numpy() for name, tensor in model.named_tensors().items()}
    safetensors.write(folder / "model.safetensors", store(tensors, storage), metadata)
    (folder / "config.json").write_text(configuration.text_of(model.config), encoding="utf-8")


def load_tensors(model: Model, tensors: dict[str, ndarray]) -> None:
    """Copies every tensor to the parameter of the same name; names and shapes must match the model's exactly."""
    parameters = model.named_tensors()
    for side in ("encoder", "decoder"):  # the file determines the number of stored positions
        if model.config[side].get("positions") == "stored" and (table := tensors.get(f"{side}.positions")) is not None:
            parameters[f"{side}.positions"].data = torch.empty(table.shape)
    if strange := parameters.keys() ^ tensors.keys():
        raise safetensors.FormatError(f"missing or unknown tensors: {', '.join(sorted(strange))}")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.shape != tensors[name].shape:
                raise safetensors.FormatError(f"{name}: shape {tensors[name].shape}, expected {tuple(parameter.shape)}")
            parameter.copy_(torch.from_numpy(tensors[name]))


def read_config(folder: Path) -> dict:
    return configuration.validate(read_json(folder / "config.json"))


def read(folder: Path, searches: bool = True) -> tuple[Model, Tokenizer, Tokenizer]:
    """Returns the model for inference, the source tokenizer, and the target tokenizer. searches: whether PyTorch's
    searches will be used, which need the special tokens at their fixed ids."""
    config = read_config(folder)
    if searches and (config["decoder"]["prefix"] != configuration.NO_FILE or "languages" in config
                     or config["encoder"]["bos"]):
        raise configuration.ConfigError(
            "decoder.prefix, encoder.bos, languages: only alignd begins texts with tokens, PyTorch's searches do not")
    source, target = load(folder, config["tokenizer"])
    model = Model(config, **vocabulary_sizes(folder, config, searches)).eval()
    load_tensors(model, expand(safetensors.read(folder / "model.safetensors")[0]))
    return model, source, target
