"""server/api/docs.html is up to date with openapi.json."""
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "server/api/docs.py"


def test_docs_are_written_anew() -> None:
    """After a change to openapi.json, server/api/docs.py must be run."""
    run = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
