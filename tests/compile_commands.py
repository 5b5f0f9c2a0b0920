"""compile_commands.py: make's dry run on stdin becomes Clang's compilation database on stdout."""
import json
import shlex
import sys
from pathlib import Path

COMPILED = (".c", ".cc")


def entries(lines: list[str]) -> list[dict]:
    """One entry for each source; of kernels, the variant that is compiled first."""
    found: dict[str, dict] = {}
    for line in lines:
        words = shlex.split(line) if " -c -o " in line else []
        if words and words[-1].endswith(COMPILED):
            found.setdefault(words[-1], {"directory": str(Path.cwd()), "file": words[-1], "arguments": words})
    return list(found.values())


json.dump(entries(sys.stdin.read().splitlines()), sys.stdout, indent=1)
