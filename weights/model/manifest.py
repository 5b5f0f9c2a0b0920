"""The manifest of a model folder: the SHA-256 of each file that alignd reads.

Input: a folder. Output: manifest.json in it, {"format": 1, "files": {NAME: {"bytes", "sha256"}}}, or with --check the
differences from it, with exit status 1. It does not include the card, README.md, which is for people. Export and the
converters write it, and everything that changes a file of the folder afterwards must write it anew. alignd refuses a
model whose files differ from the manifest.

    python3 -m weights.model.manifest weights/en-fr
    python3 -m weights.model.manifest --check weights/en-fr
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

from ..command import run_command

NAME = "manifest.json"
FORMAT = 1


def digest(path: Path) -> dict[str, int | str]:
    with open(path, "rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and path.suffix != ".md" and path.name != NAME
                  and path.name[0] != ".")


def write(folder: Path) -> dict:
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(f"{folder} is not a model folder: config.json is missing")
    manifest = {"format": FORMAT, "files": {path.name: digest(path) for path in files_of(folder)}}
    whole = folder / f".{NAME}"
    whole.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    whole.replace(folder / NAME)  # atomic: a reader sees the old file or the new one
    return manifest


def renew(folder: Path) -> None:
    """Writes an existing manifest anew after a file of the folder has changed."""
    if (folder / NAME).exists():
        write(folder)


def differences(folder: Path) -> list[str]:
    """An error message for each file that differs from the manifest; [] if none does."""
    manifest = json.loads((folder / NAME).read_text(encoding="utf-8"))
    if manifest.get("format") != FORMAT or not isinstance(manifest.get("files"), dict):
        return [f"{NAME} is of another format"]
    found, listed = {path.name: path for path in files_of(folder)}, manifest["files"]
    wrong = [f"{name} is missing" for name in listed if name not in found] + [f"{name} is not in {NAME}"
                                                                              for name in found if name not in listed]
    for name in sorted(found.keys() & listed.keys()):
        if digest(found[name]) != listed[name]:
            wrong.append(f"{name} is not the file of {NAME}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    wrong = []
    try:
        for folder in arguments.folders:
            if arguments.check:
                wrong += [f"{folder}: {what}" for what in differences(folder)]
            else:
                print(f"{folder}: {len(write(folder)['files'])} files")
    except (OSError, ValueError) as error:
        sys.exit(f"weights.model.manifest: {error}")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    run_command(main)
