"""The documents of the APIs: server/api/docs.html is up to date with openapi.json, and the clients that are said to
work have tests; tests/clients declares the packages that it uses."""
import json
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
SCRIPT = TOP / "server/api/docs.py"


def test_docs_are_written_anew() -> None:
    """After a change to openapi.json, server/api/docs.py must be run."""
    run = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


def test_clients_that_work_have_a_test() -> None:
    """The first name of each row, and packages after it, are names of tests."""
    document = (TOP / "server/dialects/DIALECTS.md").read_text()
    table = document.split("## Clients that work")[1].split("\n## ")[0]
    source = (TOP / "tests/http/test_dialect_clients.c").read_text()
    tested = {name.lower() for name in re.findall(r'\.name = "([^"]+)"|START_TEST\((\w+?)_', source) for name in name}
    tested |= {word for path in (TOP / "tests/clients").glob("*.mjs")
               for title in re.findall(r'^test\("([^"]+)"', path.read_text(), re.M) for word in re.split("[ ,]", title)}
    rows = [re.sub(r"\[(.+?)\]\(.+?\)", r"\1", line.split("|")[1]).strip()
            for line in table.splitlines() if line.startswith("|")][2:]
    names = [name.strip() for row in rows for at, name in enumerate(re.split(r", | \((?!MCP)| 1\.x", row))
             if at == 0 or re.fullmatch(r"[a-z]+-[a-z]+", name)]
    assert len(rows) >= 20 and len(names) > len(rows)
    assert [name for name in names if name.lower() not in tested] == []


def test_clients_declares_its_packages() -> None:
    """What a test requires or imports is a dependency of its own, not only one of another package."""
    folder = TOP / "tests/clients"
    declared = set(json.loads((folder / "package.json").read_text())["dependencies"])
    used = set()
    for path in [*folder.glob("*.mjs"), *folder.glob("*.mts")]:
        for name in re.findall(r"""(?:from |import |require\(|import\()["']([^"'.][^"']*)["']""", path.read_text()):
            if not name.startswith("node:"):
                used.add("/".join(name.split("/")[:2 if name.startswith("@") else 1]))
    assert "google-auth-library" in used
    assert sorted(used - declared) == []
