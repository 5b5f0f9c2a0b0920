"""Tests of weights/training/unknown.py: what is hidden, that it is one <unk> as in the server, and that only the row of
<unk> changes."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

from weights.model import folder, safetensors  # noqa: E402
from weights.training import noise, unknown  # noqa: E402
from weights.alignment.align_head import Example  # noqa: E402
from weights.model.tokenizer import UNK  # noqa: E402

MODEL = Path(__file__).parent.parent / "weights/en-fr"
M = unknown.MARK


@pytest.mark.parametrize(("text", "pieces"), [
    (f"{M} is a boy.", ["<unk>", "▁is", "▁a", "▁boy", "."]),
    (f"Hello {M}, how", ["▁He", "ll", "o", "<unk>", ",", "▁how"]),
    (f"({M}){M}", ["▁(", "<unk>", ")", "<unk>"]),
    (f"{M} {M}{M} a", ["<unk>", "<unk>", "<unk>", "▁a"]),
    ("A boy", ["▁A", "▁boy"]),
])
def test_a_mark_is_one_token(text: str, pieces: list[str]) -> None:
    _, side, _ = folder.read(MODEL)
    assert [side.pieces[i] for i in unknown.ids(side, text)] == pieces


def test_what_stands_on_both_sides_is_hidden() -> None:
    one = noise.example("Tom has 25 cats.", "Tom a 25 chats.", [(0, 0), (1, 1), (2, 2), (3, 3)])
    seen = [unknown.hidden(one, random.Random(seed)) for seed in range(50)]
    assert ({made and (made.source, made.target) for made in seen} == {
        None, (f"{M} has 25 cats.", f"{M} a 25 chats."), (f"Tom has {M} cats.", f"Tom a {M} chats."),
        (f"{M} has {M} cats.", f"{M} a {M} chats.")})
    assert unknown.hidden(noise.example("Tom runs.", "Il court.", [(0, 0), (1, 1)]), random.Random(1)) is None
    assert (unknown.phrases("en-fr", True) and all(pair[0].count(M) == pair[1].count(M) > 0 and "{" not in "".join(pair)
                                                   for pair in unknown.phrases("en-fr", True)))


def test_only_single_ones_guide_the_attention() -> None:
    attention = torch.tensor([[[.5, .25, .25], [.2, .2, .6]], [[1., 0, 0], [1., 0, 0]]])
    batch = [Example([7, UNK, 2], [UNK, 9], []), Example([UNK, UNK, 2], [UNK, 9], [])]
    assert unknown.unguided(batch, attention) == pytest.approx(-numpy.log(.25))
    assert unknown.unguided(batch[1:], attention[1:]) == 0


def test_training_changes_one_row_alone(tmp_path: Path) -> None:
    for path in MODEL.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    model, side, _ = folder.read(tmp_path)
    table = model.decoder.embedding.weight
    before = table.detach().clone()
    row = unknown.train(model, [([UNK, *side.encode("is here.")], [UNK, *side.encode("est là.")])] * 600, 1)
    assert row.shape == before[UNK].shape and not numpy.allclose(row, before[UNK], atol=0.01)
    others = numpy.arange(len(before)) != UNK
    assert (table.detach() == before)[others].all()
    old, _ = safetensors.read(tmp_path / "model.safetensors")
    unknown.write(tmp_path, row)
    new, _ = safetensors.read(tmp_path / "model.safetensors")
    for name, tensor in old.items():
        if name.removesuffix(".scale") == unknown.ROW:
            assert (new[name][others] == tensor[others]).all() and not (new[name][UNK] == tensor[UNK]).all()
        else:
            assert new[name].tobytes() == tensor.tobytes()
    assert numpy.abs(folder.read(tmp_path)[0].decoder.embedding.weight.detach()[UNK]
                     - row).max() < 0.02 * numpy.abs(row).max()
