"""The documents say of formats what the table in server/documents/document.c does."""
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "server/documents/formats.py"


def test_formats_are_written_anew() -> None:
    """Whoever changes the table runs the script."""
    run = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
