"""server/api/docs.html is what server/api/docs.py makes of openapi.json."""
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "server/api/docs.py"


def test_docs_are_written_anew() -> None:
    """Whoever changes openapi.json runs the script."""
    run = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
