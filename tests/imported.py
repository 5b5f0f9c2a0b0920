"""`alignd import`, as tests call it. Needs build/alignd: without it they are skipped.

`imported` makes a model folder, or raises Refused with what the program said and the check that nothing was written.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ALIGND = Path("build/alignd")


class Refused(ValueError):
    """What the program said, without the path that it begins with."""


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
    assert done.returncode == 1 and done.stderr.startswith("alignd: "), done  # it did not crash
    assert (set(out.parent.iterdir()) if out.parent.exists() else None) == before
    raise Refused(done.stderr.removeprefix("alignd: ").strip().removeprefix(f"{paths[0]}: "))
