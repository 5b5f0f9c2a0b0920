"""How the commands of this package end (`run_command`), and the error that ends them with one sentence."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Callable


class CommandError(ValueError):
    """What was asked for cannot be done; the message names the file, folder or key."""


def read_json(path: Path) -> Any:
    """The content of a file that a caller names."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CommandError(f"{path}: not JSON: {error}") from error


def run_command(main: Callable[[], None]) -> None:
    """Runs a command. A file or folder that is missing, or is not what the command needs, ends it with one sentence and
    exit status 1. All other errors are the program's, and keep their traceback."""
    try:
        main()
    except (CommandError, OSError, UnicodeDecodeError) as error:
        named = isinstance(error, OSError) and error.filename is not None and error.strerror is not None
        sys.exit(f"{Path(sys.argv[0]).stem}: {f'{error.filename}: {error.strerror}' if named else error}")
