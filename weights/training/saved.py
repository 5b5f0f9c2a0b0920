"""Reading what a training run saved: checkpoint.pt and best.pt."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import torch

from ..command import CommandError


def load_saved(path: Path, device: torch.device | str = "cpu") -> Any:
    """The content of a file that torch.save wrote in a run folder."""
    try:
        return torch.load(path, map_location=device)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise CommandError(f"{path}: not a file of a training run") from error
