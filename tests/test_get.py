"""`alignd get`, `alignd models` and `alignd remove`, against a mirror on loopback:
python3 -m pytest -q tests/test_get.py

The models are tiny random ones under the names of real ones. Needs build/alignd; no test needs a network.
"""

from __future__ import annotations

import io
import json
import os
import pty
import re
import signal
import socketserver
import ssl
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Iterator

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import mirror as m  # noqa: E402
from ctranslate2_models import Shape, write_model  # noqa: E402
from imported import ALIGND  # noqa: E402
from test_convert_files import STUDENT, huggingface, of_size, opus, pieces_of  # noqa: E402
from test_convert_files import save_bin, shortlist, spm, with_multipliers  # noqa: E402
from test_recipes import ask, opus_zip, serve  # noqa: E402

pytestmark = pytest.mark.skipif(not ALIGND.exists(), reason="alignd is not built")
DONE, FAILED, USAGE, UNKNOWN, NETWORK, REFUSED, SPACE, UNREADABLE = 0, 1, 2, 3, 4, 5, 6, 7


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> dict[str, bytes]:
    """The files of a Firefox pair."""
    work, size = tmp_path_factory.mktemp("pair"), len(pieces_of())
    save_bin(work / "m.bin", with_multipliers(of_size(STUDENT, size)), STUDENT, True)
    return {"model": (work / "m.bin").read_bytes(), "vocab": spm(),
            "lex": shortlist([min(i, 3) for i in range(size + 1)], [4, 5, 6], 50)}


@pytest.fixture
def mirror(pair):
    with m.mirror() as made:
        made.paths = made.add_pair("en", "fr", pair)
        yield made


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ALIGND_")
            and "proxy" not in name.lower()}
    return {**kept, **more}


def run(*arguments: str | Path, **more: str) -> subprocess.CompletedProcess:
    return subprocess.run([ALIGND, *arguments], capture_output=True, text=True, timeout=120, env=environment(**more))


def get(mirror: m.Mirror, into: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess:
    return run("get", *arguments, "--into", into, "--mirror", mirror.url, "--retries", "1", "--stall-s", "1", **more)


def rests(into: Path) -> list[str]:
    """The files that a command left in .get, except lists."""
    return [path.name for path in (into / ".get").iterdir() if path.suffix not in (".json", ".md")]


def refused(done: subprocess.CompletedProcess, status: int, said: str, into: Path) -> None:
    assert done.returncode == status and re.search(said, done.stderr), (done.returncode, done.stderr)
    assert not [path for path in into.iterdir() if path.name != ".get"]


# ---- one pair ----

def test_a_pair_is_downloaded_and_answers(mirror, tmp_path):
    done = get(mirror, tmp_path, "en-fr")
    assert done.returncode == DONE and "licence: MPL-2.0" in done.stdout and "Mozilla" in done.stdout, done.stderr
    assert "3 files from mozilla 3.0, tiny; licence: MPL-2.0; by Mozilla" in done.stderr
    card = (tmp_path / "en-fr/README.md").read_text()
    assert "Licence: MPL-2.0" in card and "| downloaded | mozilla 3.0, " + mirror.url in card
    origin = json.loads((tmp_path / "en-fr/origin.json").read_text())
    assert (origin["from"] == "mozilla" and origin["asked"] == "mozilla:en-fr" and origin["version"] == "3.0"
            and origin["licence"] == "MPL-2.0")
    assert rests(tmp_path) == []
    with serve(tmp_path / "en-fr", "--compute", "int8", "--shortlist") as url:
        assert "text" in ask(url, text="What did you do?")["translations"][0]


def test_a_second_time_nothing_is_downloaded(mirror, tmp_path):
    assert get(mirror, tmp_path, "en-fr").returncode == DONE
    before = (tmp_path / "en-fr/config.json").stat().st_ino
    mirror.asked.clear()
    done = get(mirror, tmp_path, "EN-FR")
    assert done.returncode == DONE and "is there already, version 3.0" in done.stdout
    assert mirror.asked == ["GET " + m.RECORDS] and (tmp_path / "en-fr/config.json").stat().st_ino == before


def test_an_update_replaces_an_older_version(mirror, pair, tmp_path):
    assert get(mirror, tmp_path, "en-fr").returncode == DONE
    mirror.add_pair("en", "fr", pair, version="3.1")
    assert "3.1 is newer: alignd get --update" in get(mirror, tmp_path, "en-fr").stdout
    assert json.loads((tmp_path / "en-fr/origin.json").read_text())["version"] == "3.0"
    done = get(mirror, tmp_path, "--update")
    assert done.returncode == DONE and "en-fr 3.1" in done.stdout, done.stderr
    assert json.loads((tmp_path / "en-fr/origin.json").read_text())["version"] == "3.1" and rests(tmp_path) == []
    assert "is there already, version 3.1" in get(mirror, tmp_path, "--update", "en-fr").stdout
    assert get(mirror, tmp_path, "--update", "de-en").returncode == UNKNOWN


def test_another_model_of_the_name_stays(mirror, tmp_path):
    (tmp_path / "en-fr").mkdir()
    (tmp_path / "en-fr/mine").write_text("")
    done = get(mirror, tmp_path, "en-fr")
    assert done.returncode == FAILED and "is there already, and is not a model: give another --name" in done.stderr
    assert get(mirror, tmp_path, "en-fr", "--name", "mozilla").returncode == DONE
    assert (json.loads((tmp_path / "mozilla/config.json").read_text())["name"] == "mozilla"
            and (tmp_path / "en-fr/mine").exists())


def test_two_vocabularies_and_scripts(mirror, pair, tmp_path):
    files = {"model": pair["model"], "lex": pair["lex"], "srcvocab": pair["vocab"], "trgvocab": pair["vocab"]}
    mirror.add_pair("en", "zh-Hans", files)
    done = get(mirror, tmp_path, "en-zh")
    assert done.returncode == DONE and json.loads((tmp_path / "en-zh-Hans/config.json")
                                                  .read_text())["target"] == "zh-Hans", (done.stderr)


def test_lists_and_what_is_not_there(mirror, pair, tmp_path):
    mirror.add_pair("de", "en", pair, version="3.1")
    mirror.add_pair("it", "en", pair, version="3.0a1",
                    filter_expression="env.channel == 'default' || env.channel == 'nightly'")
    mirror.add_pair("es", "en", {"model": pair["model"]})
    done = get(mirror, tmp_path, "--list")
    assert done.returncode == DONE and [line.split()[0]
                                        for line in done.stdout.splitlines()] == ["de-en", "en-fr"], (done.stdout)
    assert ([line.split()[:2] for line in get(mirror, tmp_path, "--list", "-en").stdout.splitlines()]
            == [["de-en", "3.1"]])
    assert get(mirror, tmp_path, "--list", "xx-").returncode == UNKNOWN
    done = get(mirror, tmp_path, "it-en")
    refused(done, UNKNOWN, "Mozilla's list has no model \"it-en\": alignd get --list shows", tmp_path)
    mirror.content[m.RECORDS.replace("/main/", "/main-preview/")] = mirror.content[m.RECORDS]
    assert get(mirror, tmp_path, "it-en", "--preview").returncode == DONE


def test_the_record_list_from_a_file_and_offline(mirror, tmp_path):
    records = tmp_path / "records.json"
    records.write_bytes(mirror.content[m.RECORDS])
    into = tmp_path / "models"
    assert get(mirror, into, "en-fr", "--records", str(records)).returncode == DONE
    assert "GET " + m.RECORDS not in mirror.asked
    mirror.asked.clear()
    assert get(mirror, into, "--list", "--offline", "--records", str(records)).stdout.startswith("en-fr")
    done = get(mirror, into, "en-fr", "--offline", "--records", str(records))
    assert done.returncode == DONE and "is there already" in done.stdout
    done = get(mirror, tmp_path / "empty", "en-fr", "--offline", "--records", str(records))
    assert done.returncode == NETWORK and "--offline allows no download" in done.stderr
    assert mirror.asked == []


def test_usage(mirror, tmp_path):
    for arguments in (["get"], ["get", "--list", "--update"], ["get", "en-fr", "--mirror", "ftp://x"], ["remove"]):
        assert run(*arguments).returncode == USAGE, arguments
    assert get(mirror, tmp_path, "nonsense").returncode == UNKNOWN


# ---- servers that fail ----

def test_a_truncated_file_is_resumed(mirror, tmp_path):
    path, size = mirror.paths["model"], len(mirror.content[mirror.paths["model"]])
    mirror.acts[path] = [m.truncated(0.4), None]
    done = get(mirror, tmp_path, "en-fr")
    assert done.returncode == DONE and "trying again" in done.stderr, done.stderr
    assert [line for line in mirror.asked if path in line] == [f"GET {path}", f"GET {path} bytes={int(size * 0.4)}-"]


def test_the_next_command_goes_on(mirror, tmp_path):
    path, size = mirror.paths["vocab"], len(mirror.content[mirror.paths["vocab"]])
    mirror.acts[path] = [m.truncated(0.4), m.status(500), None]
    done = get(mirror, tmp_path, "en-fr")
    refused(done, NETWORK, "the server answers 500", tmp_path)
    others = [line for line in mirror.asked if path not in line]
    assert get(mirror, tmp_path, "en-fr").returncode == DONE
    assert f"GET {path} bytes={int(size * 0.4)}-" in mirror.asked and rests(tmp_path) == []
    now = [line for line in mirror.asked if path not in line]
    assert sorted(now) == sorted(others + ["GET " + m.RECORDS])  # complete files are not downloaded again


def test_a_wrong_part_of_an_earlier_run_is_replaced(mirror, tmp_path):
    room = tmp_path / ".get/en-fr/in"
    room.mkdir(parents=True)
    (room / "model.enfr.intgemm.alphas.bin.zst.part").write_bytes(b"x" * 1000)
    done = get(mirror, tmp_path, "en-fr")
    assert done.returncode == DONE, done.stderr


def test_503_and_then_the_file(mirror, tmp_path):
    mirror.acts[mirror.paths["vocab"]] = [m.status(503, Retry_After="1"), None]
    began = time.monotonic()
    done = get(mirror, tmp_path, "en-fr")
    assert done.returncode == DONE and "the server answers 503: trying again in 1.0 s" in done.stderr
    assert time.monotonic() - began >= 1


@pytest.mark.parametrize("act, status, said", [
    (m.status(404), UNKNOWN, "the server answers 404"),
    (m.status(403), NETWORK, "the server answers 403"),
    (m.other(b"x" * 100), REFUSED, "has 100 bytes, and the list says"),
    (m.endless, REFUSED, "sends more than the [0-9]+ bytes that the list says"),
    (m.drip, NETWORK, "sends less than 4096 bytes a second for 1 s"),
    (m.redirect("file:///etc/passwd"), REFUSED,
     "redirects to file:///etc/passwd, and only http:// and https:// are followed"),
    (m.redirect("ftp://example.org/model"), REFUSED, "only http:// and https://"),
    (m.redirect("http://10.0.0.1/model"), REFUSED, "leads to the private address 10.0.0.1: only --mirror may have one"),
    (m.redirect("http://169.254.169.254/latest"), REFUSED, "private address 169.254.169.254"),
    (m.redirect("http://[::1]:1/"), REFUSED, "private address ::1"),
    (m.redirect("http://[::ffff:192.168.0.1]/"), REFUSED, "private address"),
    (m.redirect("http://0x7f000001:9/"), REFUSED, "private address 127.0.0.1"),
])
def test_a_hostile_attachment_is_refused_by_name(mirror, tmp_path, act, status, said):
    path = mirror.paths["model"]
    mirror.acts[path] = [act]
    done = get(mirror, tmp_path, "en-fr")
    refused(done, status, said, tmp_path)
    assert mirror.url + path in done.stderr
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 1 << 20


def test_a_wrong_hash_is_refused(mirror, tmp_path):
    path = mirror.paths["model"]
    content = bytearray(mirror.content[path])
    content[len(content) // 2] ^= 1
    mirror.acts[path] = [m.other(bytes(content))]
    refused(get(mirror, tmp_path, "en-fr"), REFUSED, "has the SHA-256 [0-9a-f]{16}..., and the list says", tmp_path)
    assert rests(tmp_path) == []  # the file is not kept


def test_a_wrong_hash_of_what_is_unpacked_is_refused(mirror, tmp_path):
    mirror.records[0]["decompressedHash"] = "0" * 64
    mirror.publish()
    refused(get(mirror, tmp_path, "en-fr"), REFUSED,
            "unpacked, it has the SHA-256 [0-9a-f]{16}..., and the list says 0000", tmp_path)


def test_a_compression_bomb_is_not_unpacked(mirror, tmp_path):
    content = m.bomb(4 << 30)
    mirror.content[mirror.paths["vocab"]] = content
    record = next(record for record in mirror.records if record["fileType"] == "vocab")
    record["attachment"].update(hash=m.digest(content), size=len(content))
    mirror.publish()
    began = time.monotonic()
    refused(get(mirror, tmp_path, "en-fr"), REFUSED, "vocab.enfr.spm.zst: ", tmp_path)
    assert time.monotonic() - began < 30
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 1 << 20


def test_redirects_within_the_mirror_are_followed_and_counted(mirror, tmp_path):
    path = mirror.paths["model"]
    mirror.content["/elsewhere"] = mirror.content[path]
    mirror.acts[path] = [m.redirect("/elsewhere", 307)]
    assert get(mirror, tmp_path / "a", "en-fr").returncode == DONE
    mirror.acts[path] = [m.redirect(path)]
    refused(get(mirror, tmp_path / "b", "en-fr"), REFUSED, "redirects more than 8 times", tmp_path / "b")


def test_a_mirror_behind_a_proxy(mirror, tmp_path):
    far = "http://models.invalid"
    mirror.content.update({far + path: content for path, content in mirror.content.items()})
    done = run("get", "en-fr", "--into", tmp_path, "--mirror", far, "--retries", "0", http_proxy=mirror.url)
    assert done.returncode == DONE, done.stderr


def test_the_port_of_a_proxy_opens_no_other_address(mirror, tmp_path):
    mirror.acts[mirror.paths["model"]] = [m.redirect("http://127.0.0.2:9/")]
    refused(get(mirror, tmp_path, "en-fr", http_proxy="http://127.0.0.1:9", no_proxy="*"), REFUSED,
            "private address 127.0.0.2", tmp_path)


def test_a_token_is_not_sent_to_a_mirror(mirror, tmp_path):
    sent = []

    def note(handler, content) -> None:
        sent.append(handler.headers.get("Authorization"))
        handler.reply(404, b"no")

    mirror.acts["/api/models/maker/model?blobs=true"] = [note]
    get(mirror, tmp_path, "hf:maker/model", HF_TOKEN="hf_secret")
    run("get", "hf:maker/model", "--into", tmp_path, HF_TOKEN="hf_secret", HF_ENDPOINT=mirror.url)
    assert sent == [None, None]


@contextmanager
def everywhere(folder: Path, reply: Callable[[str, str], bytes]) -> Iterator[dict[str, str]]:
    """A proxy that replies on behalf of each host; yields the environment variables that select it."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=test",
                    "-addext", "subjectAltName=DNS:huggingface.co,DNS:*.huggingface.co", "-keyout", key, "-out",
                    certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    class Proxy(socketserver.StreamRequestHandler):
        def head(self, stream) -> str:
            return "".join(iter(lambda: stream.readline().decode(), "\r\n"))

        def handle(self) -> None:
            host = self.head(self.rfile).split()[1]
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            with context.wrap_socket(self.connection, server_side=True) as inside:
                inside.sendall(reply(host, self.head(inside.makefile("rb"))))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"https_proxy": f"http://127.0.0.1:{server.server_address[1]}", "CURL_CA_BUNDLE": str(certificate)}
        server.shutdown()


def test_a_token_is_sent_to_the_hub_alone(tmp_path):
    sent = []

    def reply(host: str, head: str) -> bytes:
        sent.append((host, "Authorization: Bearer hf_secret" in head))
        first = host == "huggingface.co:443"
        return b"HTTP/1.1 " + (b"302 Found\r\nLocation: https://cdn.huggingface.co/x" if first
                               else b"404 No") + b"\r\nContent-Length: 0\r\n\r\n"

    with everywhere(tmp_path, reply) as proxied:
        done = run("get", "hf:maker/model", "--into", tmp_path / "models", "--retries", "0", HF_TOKEN="hf_secret",
                   **proxied)
    assert done.returncode == UNKNOWN and sent[:2] == [("huggingface.co:443", True),
                                                       ("cdn.huggingface.co:443", False)], (done.stderr, sent)


def test_an_entity_tag_is_not_sent_back_with_control_characters(mirror, tmp_path):
    path, ranges = mirror.paths["model"], []

    def begin(handler, content) -> None:
        handler.send_response(200)
        handler.send_header("ETag", '"a\rX-Evil: 1"')
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[:100])
        handler.close_connection = True

    def rest(handler, content) -> None:
        ranges.append((handler.headers.get("If-Range"), handler.headers.get("X-Evil")))
        handler.send_content(content)

    mirror.acts[path] = [begin, rest]
    assert get(mirror, tmp_path, "en-fr").returncode == DONE and ranges == [(None, None)]


def test_a_file_that_always_begins_anew_is_given_up(mirror, tmp_path):
    """Without an entity tag and a hash the rest cannot be requested; receiving the same bytes again is not progress."""
    content, asked = bytes(3 << 20), []

    def cut(handler, content) -> None:
        asked.append(handler.headers.get("Range"))
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[:2 << 20])
        handler.close_connection = True

    mirror.content["/files/model.zip"], mirror.acts["/files/model.zip"] = content, [cut]
    done = run("get", mirror.url + "/files/model.zip", "--into", tmp_path, "--retries", "1")
    refused(done, NETWORK, "model.zip: ", tmp_path)
    assert asked[:2] == [None, None] and len(asked) <= 3, asked


def test_what_a_hub_says_does_not_reach_the_terminal_as_commands(mirror, tmp_path):
    tensors, pieces = opus(tmp_path / "made")
    huggingface(tmp_path / "opus-mt-en-fr", tensors, pieces)
    info = hub(mirror, tmp_path / "opus-mt-en-fr", "maker/opus-mt-en-fr")
    info["cardData"]["license"] = "\x1b]0;evil\x07"
    mirror.content["/api/models/maker/opus-mt-en-fr"] = json.dumps(info).encode()
    done = get(mirror, tmp_path / "models", "hf:maker/opus-mt-en-fr")
    assert done.returncode == DONE and "evil" not in done.stdout + done.stderr, done.stderr


@pytest.mark.parametrize("change, said", [
    (lambda record: record.update(name="../../evil"), "name must be a file's name"),
    (lambda record: record["attachment"].update(location="../secret"), "attachment.location must be a relative path"),
    (lambda record: record["attachment"].update(location="/etc/passwd"), "attachment.location must be a relative path"),
    (lambda record: record["attachment"].update(hash="A" * 64), "attachment.hash must be a SHA-256"),
    (lambda record: record["attachment"].update(size=1 << 40), "attachment.size must be between"),
    (lambda record: record.update(filter_expression="env.version|versionCompare('130.0') >= 0"), "is not supported"),
])
def test_records_that_are_wrong_are_left_out(mirror, tmp_path, change, said):
    change(mirror.records[0])
    mirror.publish()
    refused(get(mirror, tmp_path, "en-fr"), UNKNOWN, f"1 of its records cannot be used, the first: record 0: .*{said}",
            tmp_path)


@pytest.mark.parametrize("text", [b"", b"<html>", b"[]", b'{"data": 5}', b'{"data": [1, null, {}]}'])
def test_a_list_that_is_none(mirror, tmp_path, text):
    mirror.content[m.RECORDS] = text
    done = get(mirror, tmp_path, "en-fr")
    assert (done.returncode in (UNKNOWN, REFUSED, NETWORK) and mirror.url in done.stderr + mirror.url
            and "alignd:" in done.stderr)
    mirror.acts[m.RECORDS] = [m.endless]
    refused(get(mirror, tmp_path, "en-fr"), REFUSED, "sends more than the 16777216 bytes that are allowed", tmp_path)


def test_nobody_listens(tmp_path):
    done = run("get", "en-fr", "--into", tmp_path, "--mirror", "http://127.0.0.1:9", "--retries", "0")
    refused(done, NETWORK, "127.0.0.1:9/v1/buckets.*: Couldn't connect", tmp_path)


# ---- files that a failure leaves ----

@pytest.mark.parametrize("act", [
    m.other(b""), m.other(b"<html>Log in</html>"), m.other(b'{"data": ['), m.other(b"[]"), m.other(b'{"data": []}'),
    m.other(b'{"data": [{}, null, 5]}'),
    m.status(500), m.status(404), m.truncated(0.5), m.endless, m.redirect("file:///etc/passwd")])
def test_a_refused_list_does_not_replace_the_good_one(mirror, tmp_path, act):
    listed = get(mirror, tmp_path, "--list")
    assert listed.returncode == DONE and listed.stdout.startswith("en-fr")
    mirror.acts[m.RECORDS] = [act]
    assert get(mirror, tmp_path, "--list").returncode != DONE
    assert get(mirror, tmp_path, "--list", "--offline").stdout == listed.stdout and rests(tmp_path) == []


def test_a_refused_list_of_another_source_does_not_replace_the_good_one(mirror, pair, tmp_path):
    index = [{"from_code": "en", "to_code": "fr", "package_version": "1.9", "code": "translate-en_fr",
              "type": "translate", "links": []}]
    kept = {"argos:": ("/argosopentech/argospm-index/main/index.json", json.dumps(index).encode(), ".argos.json"),
            "hf:a/b": ("/api/models/a/b?blobs=true",
                       json.dumps({"siblings": [{"rfilename": "model.safetensors"}]}).encode(), ".hf-a-b.json"),
            "opus:en-fr": ("/Helsinki-NLP/OPUS-MT-train/master/models/en-fr/README.md",
                           b"# opus-2020-01-01.zip\n* pre-processing: SentencePiece\n", ".opus-en-fr.md")}
    for asked, (path, good, name) in kept.items():
        mirror.content[path] = good
        get(mirror, tmp_path, *(["--list"] if asked == "argos:" else []), asked)
        for bad in (b"<html>Log in</html>", b"[", b"{}"):
            mirror.content[path] = bad
            get(mirror, tmp_path, *(["--list"] if asked == "argos:" else []), asked)
        assert (tmp_path / ".get" / name).read_bytes() == good, asked


def until(found: Callable, what: str):
    end = time.monotonic() + 60
    while not (value := found()):
        assert time.monotonic() < end, what
        time.sleep(0.01)
    return value


def killed(mirror: m.Mirror, into: Path, pair: str, path: str) -> None:
    """Runs alignd get and kills it while it downloads this path."""
    gate, asked = threading.Event(), len(mirror.asked)
    mirror.acts[path] = [m.held(gate), None]
    process = subprocess.Popen([ALIGND, "get", pair, "--into", into, "--mirror", mirror.url], stderr=subprocess.DEVNULL,
                               env=environment())
    until(lambda: any(path in line for line in mirror.asked[asked:]), "the download")
    process.kill()
    process.wait()
    gate.set()


def test_what_a_killed_process_left_is_removed_by_the_next(mirror, pair, tmp_path):
    """Files of a running process, or of one that has kept them for its next try, stay."""
    paths = {target: mirror.add_pair("en", target, pair, version=f"3.{i}")
             for i, target in enumerate(("de", "es", "it", "pt"))}
    killed(mirror, tmp_path, "en-fr", mirror.paths["model"])
    killed(mirror, tmp_path, "en-es", m.RECORDS)
    left = rests(tmp_path)
    assert "en-fr" in left and any(name.startswith(".list-") for name in left), left

    gate = threading.Event()
    mirror.acts[paths["it"]["model"]] = [m.held(gate), None]
    running = subprocess.Popen([ALIGND, "get", "en-it", "--into", tmp_path, "--mirror", mirror.url],
                               stderr=subprocess.DEVNULL, env=environment())
    until(lambda: any(paths["it"]["model"] in line for line in mirror.asked), "the download")
    mirror.acts[paths["pt"]["model"]] = [m.truncated(0.5)]
    assert get(mirror, tmp_path, "en-pt").returncode == NETWORK
    assert get(mirror, tmp_path, "en-de").returncode == DONE
    assert sorted(rests(tmp_path)) == ["en-it", "en-it.lock", "en-pt"]
    gate.set()
    assert running.wait(60) == DONE and rests(tmp_path) == ["en-pt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".get", "en-de", "en-it"]


def test_what_a_process_left_that_was_killed_at_the_end(mirror, tmp_path):
    assert get(mirror, tmp_path, "en-fr").returncode == DONE
    (tmp_path / ".get/en-fr/in").mkdir(parents=True)
    (tmp_path / ".get/en-fr.lock").touch()
    assert get(mirror, tmp_path, "en-fr").returncode == DONE and rests(tmp_path) == []


# ---- two at once, and the user ----

def test_two_at_once_do_not_collide(mirror, tmp_path):
    gate = threading.Event()
    mirror.acts[mirror.paths["model"]] = [m.held(gate), None]
    arguments = [ALIGND, "get", "en-fr", "--into", tmp_path, "--mirror", mirror.url]
    first = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    while not any(mirror.paths["model"] in line for line in mirror.asked):
        time.sleep(0.01)
    second = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    assert "another process is downloading it: waiting" in second.stderr.readline()
    gate.set()
    out = [process.communicate(timeout=60)[0] for process in (first, second)]
    assert first.returncode == second.returncode == DONE and "en-fr 3.0" in out[0] and "is there already" in out[1]
    assert sum(mirror.paths["model"] in line for line in mirror.asked) == 1 and rests(tmp_path) == []


def test_an_interrupt_leaves_what_can_be_resumed(mirror, tmp_path):
    gate, path = threading.Event(), mirror.paths["model"]
    mirror.acts[path] = [m.held(gate), None]
    process = subprocess.Popen([ALIGND, "get", "en-fr", "--into", tmp_path, "--mirror", mirror.url],
                               stderr=subprocess.PIPE, text=True, env=environment())
    part = tmp_path / ".get/en-fr/in/model.enfr.intgemm.alphas.bin.zst.part"
    while not part.exists() or part.stat().st_size == 0:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert "interrupted" in process.communicate(timeout=30)[1] and process.returncode == 130
    gate.set()
    assert part.exists() and not (tmp_path / "en-fr").exists()
    assert get(mirror, tmp_path, "en-fr").returncode == DONE
    assert any(line.startswith(f"GET {path} bytes=") for line in mirror.asked)


def test_a_terminal_sees_a_bar(mirror, tmp_path):
    leader, follower = pty.openpty()
    process = subprocess.Popen([ALIGND, "get", "en-fr", "--into", tmp_path, "--mirror", mirror.url],
                               stdout=subprocess.DEVNULL, stderr=follower, env=environment())
    os.close(follower)
    seen = b""
    while process.poll() is None or seen.count(b"importing") == 0:
        try:
            seen += os.read(leader, 4096)
        except OSError:
            break
    os.close(leader)
    assert process.wait(60) == DONE and re.search(rb"en-fr \[#{24}\] 100 %  [0-9.]+ of [0-9.]+ MB, [0-9.]+ MB/s",
                                                  seen), (seen)


def test_models_are_listed_and_removed(mirror, tmp_path):
    assert get(mirror, tmp_path, "en-fr").returncode == DONE
    done = run("models", "--models", tmp_path)
    assert done.returncode == DONE and re.search(r"^en-fr +en-fr +mozilla +3\.0 +[0-9.]+ MB  MPL-2\.0$", done.stdout,
                                                 re.M), (done.stdout)
    done = run("remove", "de-en", "--models", tmp_path)
    assert done.returncode == UNKNOWN and "has no model \"de-en\"" in done.stderr
    assert (run("remove", "en-fr", "--models", tmp_path).returncode == DONE
            and [path.name for path in tmp_path.iterdir()] == [".get"])
    assert run("models", ALIGND_MODELS=str(tmp_path)).stdout.count("\n") == 1


@pytest.fixture
def home() -> Iterator[dict]:
    """A user who cannot write to /var/lib, as arguments for subprocess."""
    with tempfile.TemporaryDirectory() as folder:
        user = 65534 if os.geteuid() == 0 else os.geteuid()
        os.chown(folder, user, -1)
        yield {"env": environment(HOME=folder), "user": user, "group": user,
               "extra_groups": []} if os.geteuid() == 0 else {"env": environment(HOME=folder)}


def names(url: str) -> dict[str, str]:
    with urllib.request.urlopen(f"{url}/models") as reply:
        return {model["name"]: model["state"] for model in json.load(reply)["models"]}


def test_downloaded_models_are_served_before_shipped_ones(mirror, pair, home):
    mirror.add_pair("en", "cs", pair)
    arguments = [ALIGND, "get", "en-fr", "en-cs", "--mirror", mirror.url]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, **home)
    assert done.returncode == DONE, done.stderr
    models = Path(home["env"]["HOME"]) / ".local/share/alignd/models"
    assert (models / "en-fr/config.json").exists() and (models / "en-cs/config.json").exists()
    listed = subprocess.run([ALIGND, "models"], capture_output=True, text=True, **home).stdout.splitlines()
    assert ([line.split()[:3] for line in listed if line.startswith("en-fr ")]
            == [["en-fr", "en-fr", "mozilla"], ["en-fr", "en-fr", "shipped"]])
    source = subprocess.run([ALIGND, "translate", "--model", "en-cs"], input="a boy", capture_output=True, text=True,
                            **home)
    assert source.returncode == 0, source.stderr
    daemon = subprocess.Popen([ALIGND, "--listen", "127.0.0.1:0", "--workers", "1"], stderr=subprocess.PIPE, text=True,
                              **home)
    try:
        log = ""
        while "event=ready" not in log:
            line = daemon.stderr.readline()
            assert line, log
            log += line
        assert "event=model_replaced model=en-fr" in log and "downloaded_models_found" in log
        url = "http://" + re.search(r"address=(127.0.0.1:[0-9]+)", log)[1]
        before = names(url)
        assert before["en-cs"] == before["en-fr"] == "cold" and before["de-en"] == "ready"
        with urllib.request.urlopen(f"{url}/models") as reply:
            model = next(model for model in json.load(reply)["models"] if model["name"] == "en-fr")
        assert (model["from"], model["version"], model["licence"]) == ("mozilla", "3.0", "MPL-2.0")
        assert "text" in ask(url, text="What did you do?", source="en", target="cs")["translations"][0]
        assert ask(url, text="What did you do?")["model"] == "en-fr" and names(url)["en-fr"] == "ready"
        subprocess.run([ALIGND, "remove", "en-fr"], check=True, capture_output=True, **home)
        daemon.send_signal(signal.SIGHUP)
        while "what=models generation=2" not in daemon.stderr.readline():
            pass
        assert "text" in ask(url, text="What did you do?")["translations"][0]  # the shipped model again
    finally:
        daemon.terminate()
        daemon.wait(30)


def test_the_variable_names_the_folder(mirror, tmp_path):
    assert run("get", "en-fr", "--mirror", mirror.url, ALIGND_MODELS=str(tmp_path / "a/b")).returncode == DONE
    assert (tmp_path / "a/b/en-fr/config.json").exists()


# ---- other sources ----

def test_a_package_of_opus(mirror, tmp_path):
    opus(tmp_path / "made")
    package = opus_zip(tmp_path / "made", tmp_path / "package.zip").read_bytes()
    sections = [("opus-2019-12-18.zip", "normalization + SentencePiece"),
                ("opus-2020-02-26.zip", "normalization + SentencePiece"),
                ("opus-2020-06-01.zip", "normalization + tokenization + BPE")]
    card = "".join(f"# {name}\n\n* dataset: opus\n* model: transformer-align\n* pre-processing: {how}\n\n"
                   for name, how in sections)
    mirror.content["/Helsinki-NLP/OPUS-MT-train/master/models/en-fr/README.md"] = card.encode()
    mirror.content["/OPUS-MT-models/en-fr/opus-2020-02-26.zip"] = package
    done = get(mirror, tmp_path / "models", "opus:en-fr")
    assert done.returncode == DONE, done.stderr
    assert "licence: CC BY 4.0" in done.stdout and "OPUS-MT, Language Technology" in done.stdout
    assert json.loads((tmp_path / "models/en-fr/origin.json").read_text())["version"] == "opus-2020-02-26"
    assert "is there already, version opus-2020-02-26" in get(mirror, tmp_path / "models", "opus:en-fr").stdout
    done = get(mirror, tmp_path / "models", "en-fr")
    assert (done.returncode == FAILED
            and "is there already, from opus:en-fr: give another --name, or remove it" in done.stderr)

    del mirror.content["/Helsinki-NLP/OPUS-MT-train/master/models/en-fr/README.md"]  # then the container is listed
    mirror.content["/OPUS-MT-models"] = json.dumps([{"name": "en-fr/opus-2020-02-26.zip", "bytes": len(package)},
                                                    {"name": "en-fr/opus-2020-02-26.test.txt"}]).encode()
    assert get(mirror, tmp_path / "listed", "opus:en-fr").returncode == DONE
    assert get(mirror, tmp_path / "listed", "opus:en-xx").returncode == UNKNOWN


def test_a_package_of_opus_with_bpe_alone(mirror, tmp_path):
    mirror.content["/Helsinki-NLP/OPUS-MT-train/master/models/en-fr/README.md"] = (
        b"# opus-2020-06-01.zip\n* pre-processing: normalization + tokenization + BPE\n")
    refused(get(mirror, tmp_path, "opus:en-fr"), UNKNOWN, "those with BPE files cannot be imported", tmp_path)


def hub(mirror: m.Mirror, folder: Path, repository: str) -> dict:
    siblings = []
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        mirror.content[f"/{repository}/resolve/{'a' * 40}/{path.name}"] = content
        lfs = ({"lfs": {"sha256": m.digest(content), "size": len(content), "pointerSize": 130}}
               if path.suffix == ".safetensors" else {})
        siblings.append({"rfilename": path.name, "size": len(content), **lfs})
    siblings.append({"rfilename": "../../evil", "size": 5})
    siblings.append({"rfilename": "rust_model.ot", "size": 5})
    info = {"sha": "a" * 40, "siblings": siblings, "cardData": {"license": "apache-2.0"}}
    mirror.content[f"/api/models/{repository}"] = json.dumps(info).encode()
    return info


def test_a_repository_of_the_hub(mirror, tmp_path):
    tensors, pieces = opus(tmp_path / "made")
    huggingface(tmp_path / "opus-mt-en-fr", tensors, pieces)
    info = hub(mirror, tmp_path / "opus-mt-en-fr", "Helsinki-NLP/opus-mt-en-fr")
    done = get(mirror, tmp_path / "models", "hf:Helsinki-NLP/opus-mt-en-fr", HF_TOKEN="hf_secret")
    assert done.returncode == DONE and "Helsinki" in done.stdout, done.stderr
    origin = json.loads((tmp_path / "models/en-fr/origin.json").read_text())
    assert origin["asked"] == "hf:Helsinki-NLP/opus-mt-en-fr" and origin["version"] == "a" * 12
    assert not any("rust_model" in line or "evil" in line for line in mirror.asked)
    assert get(mirror, tmp_path / "models", "hf:Helsinki-NLP/opus-mt-xx-yy").returncode == UNKNOWN
    info["siblings"] = [item for item in info["siblings"] if "safetensors" not in item["rfilename"]]
    mirror.content["/api/models/Helsinki-NLP/opus-mt-en-fr"] = json.dumps(info).encode()
    refused(get(mirror, tmp_path / "other", "hf:Helsinki-NLP/opus-mt-en-fr"), REFUSED,
            "names neither model.safetensors", tmp_path / "other")


def test_a_pair_of_quickmt(mirror, tmp_path):
    """It is a folder of CTranslate2's on the hub."""
    words = ["<blank>", "<s>", "</s>", *"abcdefgh", "<unk>"]
    write_model(tmp_path / "made", Shape(layers=2, size=32, heads=4, filter=64, words=words))
    hub(mirror, tmp_path / "made", "quickmt/quickmt-fr-en")
    done = get(mirror, tmp_path / "models", "quickmt:fr-en")
    assert done.returncode == DONE, done.stderr
    origin = json.loads((tmp_path / "models/fr-en/origin.json").read_text())
    assert origin["asked"] == "hf:quickmt/quickmt-fr-en"
    assert get(mirror, tmp_path / "models", "quickmt:fr-xx").returncode == UNKNOWN
    assert get(mirror, tmp_path / "models", "quickmt:").returncode == UNKNOWN


HPLT = "/hplt-project/bitextor-mt-models/refs/heads/main/models.json"


def hplt(mirror: m.Mirror, pair: dict[str, bytes], *models: tuple[str, dict[str, str], int]) -> None:
    """models: the short name, the languages, and the version of each; all have the files of a Firefox pair, packed as
    for translateLocally."""
    config = ("relative-paths: true\nmodels:\n  - model.intgemm.alphas.bin\nshortlist:\n  - lex.s2t.bin\n  - false\n"
              "beam-size: 2\nnormalize: 0.6\ngemm-precision: int8shiftAlphaAll\n")
    listed = []
    for name, sources, version in models:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for path, content in (("model.intgemm.alphas.bin", pair["model"]), ("vocab.spm", pair["vocab"]),
                                  ("lex.s2t.bin", pair["lex"]), ("config.intgemm8bitalpha.yml", config.encode())):
                member = tarfile.TarInfo(f"{name}/{path}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        mirror.content[f"/HPLT-bitextor-models/{name}.tar.gz"] = packed.getvalue()
        listed.append({"shortName": name, "srcTags": sources, "trgTag": "en", "version": version,
                       "checksum": m.digest(packed.getvalue()),
                       "url": f"https://object.pouta.csc.fi/HPLT-bitextor-models/{name}.tar.gz"})
    mirror.content[HPLT] = json.dumps({"models": listed}).encode()


def test_a_student_of_hplt(mirror, pair, tmp_path):
    several = {"hi": "Hindi", "ur": "Urdu"}
    hplt(mirror, pair, ("inc-en-tiny", several, 2), ("hi-en-tiny", {"hi": "Hindi"}, 1),
         ("ml-en-tiny", {"ml": "Malay"}, 1))
    done = get(mirror, tmp_path, "hplt:hi-en")
    assert done.returncode == DONE, done.stderr
    origin = json.loads((tmp_path / "hi-en/origin.json").read_text())
    assert (origin["from"], origin["asked"], origin["version"]) == ("hplt", "hplt:hi-en", "1")
    assert origin["url"].endswith("/hi-en-tiny.tar.gz")  # a model of one language before one of several
    config = json.loads((tmp_path / "hi-en/config.json").read_text())
    assert config["defaults"]["beam_size"] == 2 and (config["source"], config["target"]) == ("hi", "en")
    assert "is there already, version 1" in get(mirror, tmp_path, "hplt:hi-en").stdout
    assert get(mirror, tmp_path, "hplt:ur-en").returncode == DONE
    assert get(mirror, tmp_path, "hplt:ml-en").returncode == UNKNOWN  # the list calls Malay so
    listed = get(mirror, tmp_path, "--list", "hplt:").stdout
    assert all(name in listed for name in ("hi-en ", "ur-en ", "ms-en ")) and "(installed)" in listed
    mirror.content["/HPLT-bitextor-models/ml-en-tiny.tar.gz"] += b"more"
    refused(get(mirror, tmp_path / "wrong", "hplt:ms-en"), REFUSED, "SHA-256", tmp_path / "wrong")
    mirror.content[HPLT] = b'{"models": [{"shortName": "x"}, 3]}'
    refused(get(mirror, tmp_path / "none", "hplt:hi-en"), UNKNOWN, "HPLT's list has no model", tmp_path / "none")


COMET = "/mozilla/firefox-translations-models/main/evaluation/comet-results.json"


def test_the_best_source_and_why(mirror, pair, tmp_path):
    """Mozilla compares itself with OPUS-MT and Argos; quickmt's cards have its own figure."""
    words = ["<blank>", "<s>", "</s>", *"abcdefgh", "<unk>"]
    write_model(tmp_path / "made", Shape(layers=2, size=32, heads=4, filter=64, words=words))
    info = hub(mirror, tmp_path / "made", "quickmt/quickmt-en-fr")
    done = get(mirror, tmp_path / "a", "en-fr", "--best")
    assert done.returncode == DONE, done.stderr
    assert ("en-fr: mozilla, since none publishes COMET on Flores; quickmt publishes none; opus lacks it; "
            "hplt lacks it; argos lacks it\n") in done.stdout
    mirror.content[COMET] = json.dumps({"en-fr": {"flores-test": {"bergamot": 0.8512, "opusmt": 0.9, "argos": 0},
                                                  "flores-dev": {"bergamot": 0.99}}}).encode()
    done = get(mirror, tmp_path / "b", "en-fr", "--best")
    assert "en-fr: mozilla, with the highest COMET on Flores, 0.851; quickmt publishes none; opus" in done.stdout
    metrics = [{"type": "bleu", "value": 41.0}, {"type": "comet", "value": 87.83}]
    info["model-index"] = [{"results": [{"dataset": {"name": "flores101-devtest"}, "metrics": metrics}]}]
    mirror.content["/api/models/quickmt/quickmt-en-fr"] = json.dumps(info).encode()
    done = get(mirror, tmp_path / "c", "en-fr", "--best")
    assert "en-fr: quickmt, with the highest COMET on Flores, 0.878; mozilla 0.851" in done.stdout, done.stdout
    assert json.loads((tmp_path / "c/en-fr/origin.json").read_text())["asked"] == "hf:quickmt/quickmt-en-fr"
    assert get(mirror, tmp_path / "d", "xx-yy", "--best").returncode == UNKNOWN
    done = get(mirror, tmp_path / "d", "opus:en-fr", "--best")
    assert done.returncode == UNKNOWN and "--best chooses the source of a pair" in done.stderr


def test_a_url(mirror, tmp_path):
    opus(tmp_path / "made")
    mirror.content["/files/opus-2020-02-26.zip"] = opus_zip(tmp_path / "made", tmp_path / "package.zip").read_bytes()
    url = mirror.url + "/files/opus-2020-02-26.zip"
    done = run("get", url, "--from", "en", "--to", "fr", "--into", tmp_path / "models")
    assert done.returncode == DONE and (tmp_path / "models/en-fr/origin.json").exists(), done.stderr
    assert "is there already" in run("get", url, "--into", tmp_path / "models").stdout
    assert run("get", "--update", "--into", tmp_path / "models").returncode == DONE
    config = json.loads((tmp_path / "models/en-fr/config.json").read_text())
    assert (config["source"], config["target"]) == ("en", "fr")  # an update keeps the languages
    mirror.content["/files/broken.zip"] = b"PK\x03\x04 and no more"
    done = run("get", mirror.url + "/files/broken.zip", "--into", tmp_path / "broken")
    refused(done, UNREADABLE, "broken.zip: ", tmp_path / "broken")
    assert str(tmp_path) not in done.stderr.replace("alignd: ", "", 1).splitlines()[-1]


# ---- alignd import URL ----

def imports(into: Path, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess:
    return run("import", *arguments, "--into", into, "--retries", "1", "--stall-s", "1", **more)


def files_of(folder: Path) -> dict[str, bytes]:
    """The files of a folder, except those that record the place and time of the import."""
    return {path.name: path.read_bytes() for path in folder.iterdir()
            if path.name not in ("README.md", "origin.json", "manifest.json")}


@pytest.fixture
def package(mirror, tmp_path) -> str:
    """The URL of an archive on the mirror, which is also at tmp_path/package.zip."""
    opus(tmp_path / "made")
    mirror.content["/files/opus-2020-02-26.zip"] = opus_zip(tmp_path / "made", tmp_path / "package.zip").read_bytes()
    return mirror.url + "/files/opus-2020-02-26.zip"


def test_import_takes_the_url_of_an_archive(mirror, package, tmp_path):
    into = tmp_path / "a/models"
    options = ("--from", "en", "--to", "fr", "--storage", "float16", "--max-source-tokens", "77", "--licence",
               "CC0-1.0")
    done = imports(into, package, *options)
    assert done.returncode == DONE and f"{into}/en-fr: " in done.stdout and "importing" in done.stderr, done.stderr
    assert [path.name for path in into.iterdir()] == ["en-fr"]
    assert imports(tmp_path / "b", tmp_path / "package.zip", *options).returncode == DONE
    assert files_of(into / "en-fr") == files_of(tmp_path / "b/en-fr")  # the same as from the file with the same options
    origin = json.loads((into / "en-fr/origin.json").read_text())
    assert (origin["from"], origin["url"], origin["asked"]) == ("url", package, "")
    assert f"| downloaded | url, {package} |" in (into / "en-fr/README.md").read_text()
    mirror.asked.clear()
    done = imports(into, package, *options)
    assert done.returncode == FAILED and "en-fr: already exists" in done.stderr and mirror.asked == []
    assert get(mirror, into, "--update").returncode == DONE and mirror.asked == []  # get does not know its options
    assert imports(into, package, "--name", "other").returncode == DONE and (into / "other/config.json").exists()


def test_import_takes_urls_and_paths_together(mirror, pair, tmp_path):
    mirror.content.update({"/x/model.enfr.intgemm.alphas.bin": pair["model"], "/x/vocab.spm": pair["vocab"],
                           "/y/lex.50.50.enfr.s2t.bin": pair["lex"]})
    (tmp_path / "vocab.spm").write_bytes(pair["vocab"])
    model, lex, vocab = (mirror.url + path for path in ("/x/model.enfr.intgemm.alphas.bin", "/y/lex.50.50.enfr.s2t.bin",
                                                        "/x/vocab.spm?download=true"))
    for into, paths in (("mixed", (model, tmp_path / "vocab.spm", lex)), ("all", (model, vocab, lex)),
                        ("beside", (vocab, lex, model))):
        mirror.asked.clear()
        done = imports(tmp_path / into, *paths)
        assert done.returncode == DONE and "a shortlist" in done.stdout, done.stderr
        assert len(mirror.asked) == sum(str(path).startswith("http") for path in paths)
        assert [path.name for path in (tmp_path / into).iterdir()] == ["en-fr"]
    assert files_of(tmp_path / "mixed/en-fr") == files_of(tmp_path / "all/en-fr") == files_of(tmp_path / "beside/en-fr")


def test_import_downloads_a_url_once_and_keeps_equal_names_apart(mirror, pair, tmp_path):
    mirror.content.update({"/x/model.bin": pair["model"], "/x/vocab.spm": pair["vocab"], "/y/vocab.spm": pair["vocab"]})
    model, one, other = (mirror.url + path for path in ("/x/model.bin", "/x/vocab.spm", "/y/vocab.spm"))
    assert imports(tmp_path / "a", model, one, other, "--name", "x").returncode == DONE
    assert sorted(mirror.asked) == ["GET /x/model.bin", "GET /x/vocab.spm", "GET /y/vocab.spm"]
    mirror.asked.clear()
    assert imports(tmp_path / "b", model, one, one, "--name", "x").returncode == DONE
    assert sorted(mirror.asked) == ["GET /x/model.bin", "GET /x/vocab.spm"]
    assert files_of(tmp_path / "a/x") == files_of(tmp_path / "b/x")


@pytest.mark.parametrize("act, status, said", [
    (m.status(404), UNKNOWN, "the server answers 404"),
    (m.status(403), NETWORK, "the server answers 403"),
    (m.redirect("file:///etc/passwd"), REFUSED,
     "redirects to file:///etc/passwd, and only http:// and https:// are followed"),
    (m.redirect("http://10.0.0.1/model"), REFUSED, "leads to the private address 10.0.0.1"),
    (m.other(b"PK\x03\x04 and no more"), UNREADABLE, "^alignd: opus-2020-02-26.zip: "),
    (m.other(b"not a model"), UNREADABLE, "^alignd: opus-2020-02-26.zip: is not a model"),
])
def test_import_of_a_wrong_url_leaves_nothing(mirror, package, tmp_path, act, status, said):
    mirror.acts["/files/opus-2020-02-26.zip"] = [act]
    done = imports(tmp_path / "a/models", package)
    assert done.returncode == status and re.search(said, done.stderr, re.M), (done.returncode, done.stderr)
    assert not (tmp_path / "a").exists()


def test_import_goes_on_where_a_download_broke_off(mirror, package, tmp_path):
    path, size = "/files/opus-2020-02-26.zip", len(mirror.content["/files/opus-2020-02-26.zip"])
    mirror.acts[path] = [m.truncated(0.4), m.status(500), None]
    done = imports(tmp_path / "models", package)
    assert done.returncode == NETWORK and "the server answers 500" in done.stderr
    assert [found.name for found in (tmp_path / "models").iterdir()] == [".import"]
    assert imports(tmp_path / "models", package).returncode == DONE
    assert mirror.asked[-1] == f"GET {path} bytes={int(size * 0.4)}-"
    assert [found.name for found in (tmp_path / "models").iterdir()] == ["opus-2020-02-26"]


def test_import_refuses_before_it_downloads(mirror, package, tmp_path):
    done = imports(tmp_path / "models", package, tmp_path / "absent.spm")
    assert done.returncode == FAILED and "absent.spm: does not exist" in done.stderr
    done = imports(tmp_path / "models", package, "ftp://example.org/vocab.spm")
    assert done.returncode == FAILED
    assert ("ftp://example.org/vocab.spm: is not a path: only http:// and https:// addresses are downloaded"
            in done.stderr)
    done = imports(tmp_path / "models", mirror.url + "/files/")
    assert done.returncode == REFUSED and "must end with the name of a file" in done.stderr
    assert mirror.asked == [] and not (tmp_path / "models").exists()


def test_two_imports_of_a_url_at_once_follow_each_other(mirror, package, tmp_path):
    gate = threading.Event()
    mirror.acts["/files/opus-2020-02-26.zip"] = [m.held(gate), None]

    def start(name: str, until: str) -> subprocess.Popen:
        process = subprocess.Popen([ALIGND, "import", package, "--into", tmp_path / "models", "--name", name],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        line = process.stderr.readline()
        assert until in line, line
        return process

    processes = [start("one", "from " + package), start("two", "another process is downloading it: waiting")]
    gate.set()
    for process in processes:
        _, said = process.communicate(timeout=60)
        assert process.returncode == DONE, said
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == ["one", "two"]


def test_an_interrupted_import_leaves_no_model(mirror, package, tmp_path):
    gate = threading.Event()
    mirror.acts["/files/opus-2020-02-26.zip"] = [m.held(gate)]
    process = subprocess.Popen([ALIGND, "import", package, "--into", tmp_path / "models"], stderr=subprocess.PIPE,
                               text=True, env=environment())
    assert "from " + package in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130 and "interrupted" in process.stderr.read()
    gate.set()
    assert not (tmp_path / "models/opus-2020-02-26").exists()


def test_an_argos_package_reaches_the_import(mirror, tmp_path):
    index = [{"package_version": version, "from_code": "en", "to_code": "es", "code": "translate-en_es",
              "links": ["ipfs://x", f"https://argos-net.com/v1/translate-en_es-{version}.argosmodel"]}
             for version in ("1.0", "1.9", "1.10")]
    index.append({"package_version": "1.0", "from_code": "en", "to_code": "zt", "code": "translate-en_zt",
                  "links": ["ipfs://x"]})
    mirror.content["/argosopentech/argospm-index/main/index.json"] = json.dumps(index).encode()
    mirror.content["/v1/translate-en_es-1.10.argosmodel"] = b"PK\x05\x06" + bytes(18)
    refused(get(mirror, tmp_path, "argos:en-es"), UNREADABLE, "en-es.argosmodel: ", tmp_path)
    assert "GET /v1/translate-en_es-1.10.argosmodel" in mirror.asked
    refused(get(mirror, tmp_path, "argos:en-zh"), REFUSED, "no http link", tmp_path)
    assert "en-zh-Hant" in get(mirror, tmp_path, "--list", "argos:en-").stdout
