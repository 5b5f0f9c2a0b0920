"""The documents list the formats of the table in server/documents/document.c."""
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "server/documents/formats.py"


def test_formats_are_written_anew() -> None:
    """After a change to the table, the script must be run."""
    run = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
