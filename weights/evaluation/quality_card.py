"""The model card's section on estimated quality, from the report that weights/evaluation/quality.py stores in the
metadata of quality.safetensors."""

from __future__ import annotations

import json
from pathlib import Path

from ..model import safetensors

FILE = "quality.safetensors"
HEADING = "## Estimated quality"
BINS = 10

TEXT = """{heading}

`"include": ["quality"]`, fitted on {learned:,} held-out sentences and measured on {measured:,} others. A word is
right if it is in the reference at its aligned place, a sentence if three quarters of its words are right and three
quarters of the reference's are found (weights/evaluation/quality.py): other good translations count as wrong. AUC:
how often something right is estimated above something wrong; ECE: the mean distance between estimate and share.

| | share that is right | AUC | ECE |
|---|---|---|---|
{totals}

| estimate | {names} |
|---|{lines}
{curve}

    {command}
"""


def cell(bin: int, curve: list[list[float]]) -> str:
    """The share of right estimates in a tenth. curve: [number of estimates, their mean, the share that is right] for
    each non-empty tenth."""
    return next((f"{right:.2f} of {count:,}" for count, estimate, right in curve if min(int(estimate * BINS), BINS - 1)
                 == bin), "")


def section(model: Path) -> str:
    """The section's text; empty if the folder has no quality.safetensors."""
    if not (model / FILE).exists():
        return ""
    _, metadata = safetensors.read(model / FILE)
    report = json.loads(metadata["report"])
    of = report["of"]
    rows = [[f"{bin / BINS:.1f} to {(bin + 1) / BINS:.1f}", *(cell(bin, one["curve"]) for one in of.values())]
            for bin in range(BINS)]
    return TEXT.format(
        heading=HEADING, learned=report["learned"], measured=report["measured"], command=report["command"],
        totals="\n".join(f"| {name} | {one['right']:.3f} | {one['auc']:.3f} | {one['ece']:.3f} |"
                         for name, one in of.items()),
        names=" | ".join(f"{name} that are right" for name in of), lines="---|" * len(of),
        curve="\n".join("| " + " | ".join(row) + " |" for row in rows))


def insert(model: Path) -> None:
    """Inserts the section into the card, in place of an older one, or else before the section on training."""
    card, text = model / "README.md", section(model)
    if not text or not card.exists():
        return
    parts = [part for part in card.read_text(encoding="utf-8").split("\n## ")
             if not part.startswith(HEADING.removeprefix("## "))]
    place = next((i for i, part in enumerate(parts) if part.startswith("Training")), len(parts))
    parts.insert(place, text.removeprefix("## "))
    card.write_text("\n## ".join(parts), encoding="utf-8")
