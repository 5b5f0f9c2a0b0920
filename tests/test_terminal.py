"""No command passes control sequences of a file or a server to the terminal:
python3 -m pytest -q tests/test_terminal.py

Names, licences, vocabularies and lists here have escape sequences; each command shows them as \\u001b. Needs
build/alignd; no test needs a network.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from imported import ALIGND  # noqa: E402
from test_get import environment, get, mirror, pair  # noqa: E402, F401

pytestmark = pytest.mark.skipif(not ALIGND.exists(), reason="alignd is not built")

RED = "\x1b[31m\x9b0m\u202e"  # ESC, C1's control sequence introducer, and an override of the writing direction
SHOWN = r"\\u001b\[31m\\u009b0m\\u202e"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def shown(done: subprocess.CompletedProcess, what: str = SHOWN) -> None:
    said = done.stdout + done.stderr
    assert not OBEYED.search(said) and re.search(what, said), (done.returncode, said)


def run(*arguments: str | Path, given: str = "", **more: str) -> subprocess.CompletedProcess:
    return subprocess.run([ALIGND, *arguments], input=given, capture_output=True, text=True, timeout=120,
                          env=environment(**more))


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder with one model that has a hostile name and licence."""
    model = tmp_path / f"models/{RED}"
    shutil.copytree("weights/en-fr", model, ignore=shutil.ignore_patterns("manifest.json", "packed*"))
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "name": RED}))
    (model / "origin.json").write_text(json.dumps({"from": "url", "asked": f"http://x/{RED}", "version": RED,
                                                   "licence": RED, "attribution": RED}))
    return model


def test_a_list_of_models(mirror, tmp_path):  # noqa: F811
    mirror.records[0]["filter_expression"] = RED
    mirror.publish()
    shown(get(mirror, tmp_path, "en-fr"))


def test_a_record_of_any_kind(mirror, tmp_path):  # noqa: F811
    for key in ("name", "version", "architecture", "fileType", "sourceLanguage"):
        before = dict(mirror.records[0])
        mirror.records[0][key] = RED
        mirror.publish()
        shown(get(mirror, tmp_path, "en-fr"), "record 0")
        mirror.records[0] = before


def test_what_a_server_answers(mirror, tmp_path):  # noqa: F811
    def act(handler, content) -> None:
        handler.wfile.write(f"HTTP/1.1 302 {RED}\r\nLocation: gopher://{RED}/\r\nContent-Length: 0\r\n\r\n".encode())

    mirror.acts[mirror.paths["model"]] = [act]
    shown(get(mirror, tmp_path, "en-fr"), "en-fr: ")


def test_what_is_asked_for(mirror, tmp_path):  # noqa: F811
    shown(get(mirror, tmp_path, RED))
    shown(get(mirror, tmp_path, "en-fr", "--name", f"{RED}/"))
    shown(get(mirror, tmp_path, "--list", RED))


def test_models_that_are_there(mirror, folder):  # noqa: F811
    done = run("models", "--models", folder.parent)
    shown(done)
    assert len(re.findall(SHOWN, done.stdout)) == 3  # its name, version and licence
    shown(run("remove", f"x{RED}", "--models", folder.parent))
    shown(run("remove", RED, "--models", folder.parent))


def test_import(tmp_path):
    shown(run("import", tmp_path / RED, "--into", tmp_path / "out"))
    (tmp_path / RED).write_text(RED)
    shown(run("import", tmp_path / RED, "--into", tmp_path / "out"))


def test_import_reports_what_files_say(tmp_path):
    from test_convert_files import STUDENT, of_size, pieces_of, save_bin, spm, with_multipliers
    size = len(pieces_of())
    save_bin(tmp_path / "model.bin", with_multipliers(of_size(STUDENT, size)), STUDENT, True)
    (tmp_path / "vocab.spm").write_bytes(spm())
    (tmp_path / "decoder.yml").write_text(
        f'models: [model.bin]\nvocabs: [vocab.spm, vocab.spm]\ngemm-precision: "{RED}\\nlicence: MIT"\n'
        .replace("\x1b", "\\e").replace("\x9b", "\\x9b"))
    done = run("import", tmp_path, "--into", tmp_path / "out", "--from", "en", "--to", "fr", "--licence",
               RED + "\nb: packed")
    shown(done)
    assert done.returncode == 0 and not re.search("^(licence: MIT|b: packed)", done.stdout, re.M), done


def test_commands_for_folders(folder, tmp_path):
    shown(run("pack", "--model", folder))
    shown(run("pack", "--model", RED, "--models", folder.parent.parent))
    shown(run("shortlist", "--model", folder, "--to", "fr", given="a\n"))


@pytest.mark.parametrize("command", ["translate", "attention"])
def test_modes_that_decode(folder, tmp_path, command):
    own = ["--target", tmp_path / RED] if command == "attention" else []
    shown(run(command, "--model", tmp_path / RED, *own, given="a\n"))
    shown(run(command, "--model", folder, "--variant", RED, *(own or ["--stats"]), given="a\n"))


def test_notes_on_documents(tmp_path):
    document = tmp_path / f"{RED}.srt"
    document.write_bytes("1\n00:00:01,000 --> 00:00:02,000\nThe café is open.\n".encode("latin-1"))
    shown(run("translate", "--model", "weights/en-fr", document, "--output", tmp_path / "out"),
          f"{SHOWN}.srt: line 1: the file is not UTF-8")
    shown(run("translate", "--model", "weights/en-fr", tmp_path / f"missing{RED}.txt"))


def test_a_translation_is_as_it_is():
    assert "\x1b[31m" in run("translate", "--model", "weights/en-fr", "--protect", "\x1b[31m",
                             given="Hello \x1b[31m there.\n").stdout


def test_options_and_keys(tmp_path):
    shown(run(f"--{RED}"))
    shown(run("key", "--name", RED))
    shown(run("health", "--listen", RED))
    (tmp_path / "config").write_text(f"{RED} = 1\n")
    shown(run("--config", tmp_path / "config"))


def test_the_daemon(folder):
    broken = folder.parent / f"b{RED}"
    broken.mkdir()
    (broken / "config.json").write_text(f'{{"{RED}": 1}}')
    for form in ("text", "json"):
        shown(run("--models", folder.parent, "--default-model", f"x{RED}", "--listen", "127.0.0.1:0", "--log-format",
                  form))
        shown(run("--models", folder.parent, "--listen", f"unix:/nowhere/{RED}", "--log-format", form))
