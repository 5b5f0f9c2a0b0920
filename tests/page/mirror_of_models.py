"""A mirror on loopback with one tiny model, for tests/page/test_models.mjs: python3 tests/page/mirror_of_models.py

Output: its address on one line. It sends half of the model's file, and the rest after a line on standard input. It ends
at the end of standard input.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import mirror as m  # noqa: E402
from test_convert_files import STUDENT, of_size, pieces_of, save_bin, shortlist, spm, with_multipliers  # noqa: E402


def main() -> None:
    gate, size = threading.Event(), len(pieces_of())
    with tempfile.TemporaryDirectory() as work, m.mirror() as made:
        path = Path(work) / "m.bin"
        save_bin(path, with_multipliers(of_size(STUDENT, size)), STUDENT, True)
        paths = made.add_pair("en", "fr", {"model": path.read_bytes(), "vocab": spm(),
                                           "lex": shortlist([min(i, 3) for i in range(size + 1)], [4, 5, 6], 50)})
        made.add_pair("fi", "en", {"model": b"m", "vocab": b"v", "lex": b"l"})
        made.acts[paths["model"]] = [m.held(gate), None]
        print(made.url, flush=True)
        sys.stdin.readline()
        gate.set()
        sys.stdin.read()


if __name__ == "__main__":
    main()
