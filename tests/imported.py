"""Calls `alignd import` in tests. Needs build/alignd; without it the tests are skipped.

`imported` makes a model folder, or raises Refused with the error message after checking that nothing was written.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ALIGND = Path("build/alignd")


class Refused(ValueError):
    """The error message, without the leading path."""


def command(*arguments: Path | str) -> subprocess.CompletedProcess:
    if not ALIGND.exists():
        pytest.skip("alignd is not built")
    return subprocess.run([ALIGND, "import", *arguments], capture_output=True, text=True)


def into(out: Path) -> list[Path | str]:
    """The flags that make this folder."""
    return ["--into", out.parent, "--name", out.name]


def imported(*paths: Path, out: Path, flags: tuple[str, ...] = ()) -> Path:
    before = set(out.parent.iterdir()) if out.parent.exists() else None
    done = command(*paths, *into(out), "--from", "en", "--to", "fr", *flags)
    if done.returncode == 0:
        return out
    assert done.returncode == 1 and done.stderr.startswith("alignd: "), done  # not a crash
    assert (set(out.parent.iterdir()) if out.parent.exists() else None) == before
    raise Refused(done.stderr.removeprefix("alignd: ").strip().removeprefix(f"{paths[0]}: "))
