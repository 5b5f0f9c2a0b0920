"""The attention of the heads of the golden transformers, by PyTorch: heads.json beside golden.json in each such folder.

Input: folders written by weights.golden. Output: {"sentences": [{"encoder": [layer][head][m][m], "decoder":
[layer][head][n][n], "cross": [layer][head][n][m]}]} for the first sentences of golden.json and their forced targets
with </s> (n tokens). Parts that a model lacks are left out.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from torch import Tensor

from ..command import run_command
from ..model import copies, folder, search, tokenizer
from .values import rounded
from ..model.network import Model
from ..model.tokenizer import BOS
from ..model.transformer import Heads, SelfAttention, TransformerDecoder, TransformerEncoder

SENTENCES = 2


class Watch:
    """A context in which every call of Heads.look records its weights by module."""

    def __enter__(self) -> dict[Heads, Tensor]:
        self.original, seen = Heads.look, {}

        def look(heads: Heads, *arguments, **named) -> tuple[Tensor, Tensor]:
            y, seen[heads] = self.original(heads, *arguments, **named)
            return y, seen[heads]

        Heads.look = look
        return seen

    def __exit__(self, *_) -> None:
        Heads.look = self.original


@torch.no_grad()
def heads_of(model: Model, source: copies.Source, target: list[int]) -> dict[str, list]:
    """Returns {part: [layer][head][row][column]} for the only sentence."""
    with Watch() as seen:
        memory, start = search.encode(model, [source.ids], [source.words])
        model.teach(torch.tensor([[BOS, *target]]), start, memory)
    encoder, decoder = model.encoder, model.decoder
    modules = {"encoder": encoder.attentions if isinstance(encoder, TransformerEncoder) else [],
               "decoder": [m.heads for m in getattr(decoder, "mixers", []) if isinstance(m, SelfAttention)],
               "cross": decoder.crosses if isinstance(decoder, TransformerDecoder) else []}
    return {part: rounded([seen[heads][0] for heads in layers]) for part, layers in modules.items() if len(layers) > 0}


def write(case: Path) -> bool:
    """Writes heads.json if the model has attention heads."""
    model, _, _ = folder.read(case)
    if not any(isinstance(module, Heads) for module in model.modules()):
        return False
    sides = tokenizer.load(case, model.config["tokenizer"])
    sentences = json.loads((case / "golden.json").read_text(encoding="utf-8"))["sentences"][:SENTENCES]
    values = [heads_of(model, copies.source_of(s["text"], *sides, model.config), s["forced"]["tokens"])
              for s in sentences]
    lines = ",\n".join(json.dumps(value, separators=(",", ":")) for value in values)
    (case / "heads.json").write_text(f'{{"sentences":[\n{lines}\n]}}\n', encoding="utf-8")
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", type=Path, nargs="+", help="folders that weights.golden has written")
    torch.set_num_threads(1)
    for case in parser.parse_args().cases:
        if write(case):
            print(case.name)


if __name__ == "__main__":
    run_command(main)
