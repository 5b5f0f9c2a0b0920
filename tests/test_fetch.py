"""Models that the daemon downloads while it serves (--fetch, POST /models), from a mirror on loopback:
python3 -m pytest -q tests/test_fetch.py

Needs build/alignd; no test needs a network.
"""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Iterator

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import mirror as m  # noqa: E402
from imported import ALIGND  # noqa: E402
from test_get import environment, get, home, mirror, pair  # noqa: E402, F401

pytestmark = pytest.mark.skipif(not ALIGND.exists(), reason="alignd is not built")


class Daemon:
    def __init__(self, process: subprocess.Popen, url: str, admin: str, log: list[str]) -> None:
        self.process, self.url, self.admin, self.log = process, url, admin, log

    def ask(self, path: str = "/translate", deadline_ms: int = 20000, at: str = "", **body) -> tuple[int, dict, dict]:
        headers = {"Content-Type": "application/json", "X-Deadline-Ms": str(deadline_ms)}
        request = urllib.request.Request((at or self.url) + path, json.dumps(body).encode() if body else None, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.status, json.load(reply), dict(reply.headers)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error), dict(error.headers)

    def models(self) -> dict[str, dict]:
        return {model["name"]: model for model in self.ask("/models")[1]["models"]}

    def metric(self, name: str) -> float:
        with urllib.request.urlopen(self.url + "/metrics") as reply:
            return float(re.search(rf"^alignd_{re.escape(name)} (.*)$", reply.read().decode(), re.M)[1])

    def logged(self, pattern: str) -> str:
        return until(lambda: next((line for line in self.log if re.search(pattern, line)), ""), pattern)


def until(found: Callable, what: str):
    """Waits for a state; the timeout is reached only by a failure."""
    end = time.monotonic() + 60
    while not (value := found()):
        assert time.monotonic() < end, what
        time.sleep(0.02)
    return value


@contextmanager
def serve(made: m.Mirror, folder: Path, *flags: str, home: dict | None = None) -> Iterator[Daemon]:
    """home: arguments for a user whose default folder is served, with the shipped models."""
    models = [] if home else ["--models", folder]
    admin = folder.parent / "admin.socket"
    process = subprocess.Popen([ALIGND, *models, "--listen", "127.0.0.1:0", "--admin-listen", f"unix:{admin}",
                                "--workers", "1", "--mirror", made.url,
                                "--retries", "1", "--stall-s", "1", *flags], stderr=subprocess.PIPE, text=True,
                               **(home or {"env": environment()}))
    log: list[str] = []

    def read() -> None:
        for line in process.stderr:
            log.append(line)

    threading.Thread(target=read, daemon=True).start()
    try:
        daemon = Daemon(process, "", str(admin), log)
        daemon.url = "http://" + re.search(r"address=(127\.0\.0\.1:\d+)", daemon.logged("event=listening .*127"))[1]
        daemon.logged("event=ready")
        yield daemon
    finally:
        process.terminate()
        assert process.wait(60) == 0, "".join(log)


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "models"


class Local(http.client.HTTPConnection):
    """A connection over a Unix socket."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.host)


def order(daemon: Daemon, **body) -> dict:
    """Sends POST /models over the administrators' socket."""
    return send(daemon, "POST", "/models", json.dumps(body), {"Content-Type": "application/json", "Host": "localhost"})


def send(daemon: Daemon, *request) -> dict:
    connection = Local(daemon.admin)
    connection.request(*request)
    answer = json.load(connection.getresponse())
    connection.close()
    return answer


# ---- on demand ----

def test_a_request_waits_for_its_model(mirror, folder):  # noqa: F811
    with serve(mirror, folder, "--fetch", "mozilla") as daemon:
        assert daemon.models() == {} and daemon.ask("/ready")[0] == 200
        status, answer, _ = daemon.ask(text="What did you do?", source="en", target="fr")
        assert status == 200 and answer["model"] == "en-fr", answer
        assert daemon.models()["en-fr"]["licence"] == "MPL-2.0" and daemon.models()["en-fr"]["state"] == "ready"
        assert daemon.metric('model_fetches_total{result="success"}') == 1 and daemon.metric("models_fetching") == 0
        assert re.search("pair=en-fr folder=.*/en-fr version=3.0 licence=MPL-2.0", daemon.logged("event=fetched"))
        asked = len(mirror.asked)
        assert daemon.ask(text="What?", source="en", target="fr")[0] == 200 and len(mirror.asked) == asked


def test_other_dialects_wait_too(mirror, pair, folder):  # noqa: F811
    mirror.add_pair("de", "en", pair)
    with serve(mirror, folder, "--fetch", "mozilla") as daemon:
        status, answer, _ = daemon.ask(q="What did you do?", source="en", target="fr")
        assert status == 200 and "translatedText" in answer, answer
        status, answer, _ = daemon.ask("/v2/translate", text=["Was?"], source_lang="DE", target_lang="EN")
        assert status == 200 and "translations" in answer, answer


def test_only_a_request_that_no_page_sends_unasked_starts_a_download(mirror, folder):  # noqa: F811
    with serve(mirror, folder, "--fetch", "mozilla") as daemon:
        query, page = "/translate?q=Hello.&source=en&target=fr", {"Origin": "https://example.org"}
        simple = {**page, "Content-Type": "text/plain", "Sec-Fetch-Site": "cross-site"}
        body = json.dumps({"q": "Hello.", "source": "en", "target": "fr"}).encode()
        for path, data, headers in ((query, None, {}), (query, None, page), ("/translate", body, simple),
                                    ("/translate", body,
                                     {**simple, "Content-Type": "application/x-www-form-urlencoded"})):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(urllib.request.Request(daemon.url + path, data, headers))
            assert refused.value.code == 503 and "by POST" in json.load(refused.value)["error"], (path, headers)
        assert daemon.metric('model_fetches_total{result="success"}') == 0 and not daemon.models()
        assert daemon.ask(q="Hello.", source="en", target="fr")[0] == 200


def test_many_requests_start_one_download(mirror, folder):  # noqa: F811
    gate, path = threading.Event(), mirror.paths["model"]
    mirror.acts[path] = [m.held(gate), None]
    with serve(mirror, folder, "--fetch", "mozilla") as daemon:
        answers: list[int] = []
        threads = [threading.Thread(target=lambda: answers.append(daemon.ask(text="What?", source="en",
                                                                             target="fr")[0])) for _ in range(8)]
        for thread in threads:
            thread.start()
        until(lambda: any(path in line for line in mirror.asked), "the download")
        gate.set()
        for thread in threads:
            thread.join()
        assert answers == [200] * 8 and sum(path in line for line in mirror.asked) == 1


def test_at_the_deadline_it_says_how_far_it_is(mirror, folder):  # noqa: F811
    gate, path = threading.Event(), mirror.paths["model"]
    mirror.acts[path] = [m.held(gate), None]
    with serve(mirror, folder, "--fetch", "mozilla") as daemon:
        until(lambda: daemon.ask(text="What?", source="en", target="fr", deadline_ms=500)[1].get("progress", 0) > 0,
              "progress")
        began = time.monotonic()
        status, answer, headers = daemon.ask(text="What?", source="en", target="fr", deadline_ms=1000)
        assert status == 503 and answer["code"] == "fetching" and 0 < answer["progress"] < 1, answer
        assert int(headers["Retry-After"]) > 0 and 0.5 < time.monotonic() - began < 5
        assert daemon.ask(q="What?", source="en", target="fr", deadline_ms=500)[0] == 503
        state = daemon.models()["en-fr"]
        assert state["state"] == "fetching" and 0 < state["progress"] < 1
        assert daemon.metric("models_fetching") == 1 and daemon.metric('rejected_total{reason="fetching"}') >= 2
        gate.set()
        until(lambda: daemon.ask(text="What?", source="en", target="fr")[0] == 200, "the model")


def test_decoding_goes_on_during_a_download(mirror, pair, folder):  # noqa: F811
    mirror.add_pair("de", "en", pair)
    gate, path = threading.Event(), mirror.paths["model"]
    with serve(mirror, folder, "--fetch", "mozilla") as daemon:
        assert daemon.ask(text="Was?", source="de", target="en")[0] == 200
        mirror.acts[path] = [m.held(gate), None]
        assert daemon.ask(text="What?", source="en", target="fr", deadline_ms=500)[0] == 503
        assert [daemon.ask(text=f"Was {i}?", source="de", target="en")[0] for i in range(50)] == [200] * 50
        gate.set()


def test_a_pair_that_no_source_has_is_refused_and_not_asked_for_again(mirror, folder):  # noqa: F811
    with serve(mirror, folder, "--fetch", "mozilla") as daemon:
        assert daemon.ask(text="What?", source="en", target="fr")[0] == 200
        asked = len(mirror.asked)
        for _ in range(3):
            status, answer, _ = daemon.ask(text="What?", source="en", target="sw")
            assert status == 400 and "no model translates" in answer["error"] and "alignd get en-sw" in answer[
                "error"], (answer)
        assert len(mirror.asked) == asked  # the list is known
        assert daemon.ask(q="What?", source="en", target="sw")[0] == 400
        assert daemon.ask(text="What?", source="en", target="../../x")[0] == 400


def test_pairs_without_a_model_are_served_by_two(mirror, pair, folder):  # noqa: F811
    mirror.add_pair("de", "en", pair)
    with serve(mirror, folder, "--fetch", "mozilla") as daemon:
        status, answer, _ = daemon.ask(text="Was?", source="de", target="fr")
        assert status == 200 and sorted(daemon.models()) == ["de-en", "en-fr"], answer
        assert daemon.ask(text="Was?", source="de", target="sw")[0] == 400


def test_the_source_is_detected(mirror, pair, folder):  # noqa: F811
    mirror.add_pair("de", "en", pair)
    with serve(mirror, folder, "--fetch", "mozilla") as daemon:
        status, answer, _ = daemon.ask(text="What did you do on the weekend, my dear friend?", target="fr")
        assert status == 200 and answer["source"] == "en", answer


def test_only_these_pairs(mirror, pair, folder):  # noqa: F811
    mirror.add_pair("de", "en", pair)
    with serve(mirror, folder, "--fetch", "mozilla", "--fetch-pairs", "fr-*, *-en") as daemon:
        assert daemon.ask(text="What?", source="en", target="fr")[0] == 400
        assert daemon.ask(text="Was?", source="de", target="en")[0] == 200


def test_a_limit_of_bytes(mirror, pair, folder):  # noqa: F811
    mirror.add_pair("de", "en", pair)
    with serve(mirror, folder, "--fetch", "mozilla", "--fetch-bytes", "100k") as daemon:
        status, answer, headers = daemon.ask(text="What?", source="en", target="fr")
        assert status == 503 and answer["code"] == "fetch_failed" and 1 <= int(headers["Retry-After"]) <= 60, (
            answer, headers)
        assert "result=space" in daemon.logged("event=fetch_failed")
        assert daemon.models()["en-fr"]["state"] == "failed" and "reason" not in daemon.models()["en-fr"]
        assert not (folder / "en-fr").exists()


@pytest.fixture
def size_of(mirror, tmp_path):  # noqa: F811
    """The value of --fetch-bytes that fits this number of models."""
    assert get(mirror, tmp_path / "measured", "en-fr").returncode == 0
    size = sum(path.stat().st_size for path in (tmp_path / "measured/en-fr").iterdir())
    return lambda models: str(int(models * size))


def folders(folder: Path) -> list[str]:
    """The names of all folders, including hidden ones, except .get."""
    return sorted(path.name for path in folder.iterdir() if path.name != ".get")


def test_the_least_recently_used_makes_room(mirror, pair, folder, size_of):  # noqa: F811
    for target in ("de", "es", "it"):
        mirror.add_pair("en", target, pair)
    assert get(mirror, folder, "en-it").returncode == 0
    with serve(mirror, folder, "--fetch", "mozilla", "--fetch-bytes", size_of(3.5)) as daemon:
        for target in ("fr", "de", "fr", "it", "es"):
            status, answer, _ = daemon.ask(text="What?", source="en", target=target)
            assert status == 200, answer
        assert re.search("model=en-de bytes=[0-9]+ for=en-es", daemon.logged("event=model_evicted"))
        assert (daemon.metric("model_evictions_total") == 1 and sorted(daemon.models()) == folders(folder)
                == ["en-es", "en-fr", "en-it"])
        # It is fetched again and replaces the next one.
        assert daemon.ask(text="What?", source="en", target="de")[0] == 200
        assert folders(folder) == ["en-de", "en-es", "en-it"]
    assert get(mirror, folder, "--update").returncode == 0  # an update does not change which models may be evicted
    assert [(folder / name / "on-demand").exists() for name in ("en-de", "en-es", "en-it")] == [True, True, False]
    (folder / ".removed-when-killed/en-xx").mkdir(parents=True)
    # Models that have not been used since the start are evicted by age.
    with serve(mirror, folder, "--fetch", "mozilla", "--fetch-bytes", size_of(3.5)) as daemon:
        assert (daemon.ask(text="What?", source="en", target="fr")[0] == 200
                and folders(folder) == ["en-de", "en-fr", "en-it"])


def test_models_that_stay(mirror, pair, folder, size_of):  # noqa: F811
    for target in ("de", "es", "it"):
        mirror.add_pair("en", target, pair)
    with serve(mirror, folder, "--fetch", "mozilla", "--fetch-bytes", size_of(2.5)) as daemon:
        assert daemon.ask(text="What?", source="en", target="fr")[0] == 200
        assert get(mirror, folder, "en-fr").returncode == 0  # it was fetched on demand, and is kept from now on
        order(daemon, get="en-de")
        until(lambda: daemon.models().get("en-de", {}).get("state") == "cold", "the ordered model")
        assert daemon.ask(text="What?", source="en", target="it")[0] == 503
        assert re.search("result=space .*needs [0-9.]+ MB, and [0-9.]+ MB are allowed",
                         daemon.logged("event=fetch_failed"))
        assert folders(folder) == ["en-de", "en-fr"] and daemon.metric("model_evictions_total") == 0


def test_what_an_administrator_orders_makes_room_too(mirror, pair, folder, size_of):  # noqa: F811
    mirror.add_pair("en", "de", pair)
    with serve(mirror, folder, "--fetch", "mozilla", "--fetch-bytes", size_of(1.5)) as daemon:
        assert daemon.ask(text="What?", source="en", target="fr")[0] == 200
        order(daemon, get="en-de")
        until(lambda: "en-de" in folders(folder), "the ordered model")
        assert folders(folder) == ["en-de"]


def test_a_download_that_fails_evicts_nothing(mirror, pair, folder, size_of):  # noqa: F811
    paths = mirror.add_pair("en", "de", pair, version="3.1")  # the files have other names
    mirror.acts[paths["model"]] = [m.other(b"x")]
    with serve(mirror, folder, "--fetch", "mozilla", "--fetch-bytes", size_of(1.5)) as daemon:
        assert daemon.ask(text="What?", source="en", target="fr")[0] == 200
        assert daemon.ask(text="What?", source="en", target="de")[1]["code"] == "fetch_failed"
        assert folders(folder) == ["en-fr"] and daemon.ask(text="What?", source="en", target="fr")[0] == 200


def test_off_by_default(mirror, folder):  # noqa: F811
    folder.mkdir()
    with serve(mirror, folder) as daemon:
        assert daemon.ask(text="What?", source="en", target="fr")[0] == 503  # no model is loaded
        assert mirror.asked == []


@pytest.mark.parametrize("act, said", [
    (m.endless, "sends more than the [0-9]+ bytes that the list says"),
    (m.other(b"x"), "has 1 bytes, and the list says"),
    (m.redirect("file:///etc/passwd"), "redirects to file:///etc/passwd"),
    (m.redirect("http://10.0.0.1/"), "private address 10.0.0.1"),
    (m.drip, "sends less than 4096 bytes a second"),
    (m.status(404), "the server answers 404"),
])
def test_a_hostile_mirror_does_no_harm_and_is_named(mirror, folder, act, said):  # noqa: F811
    path = mirror.paths["model"]
    mirror.acts[path] = [act]
    with serve(mirror, folder, "--fetch", "mozilla") as daemon:
        assert daemon.ask(text="What?", source="en", target="fr")[1]["code"] == "fetch_failed"
        line = daemon.logged("event=fetch_failed")
        assert re.search(said, line) and mirror.url + path in line, line
        assert daemon.metric('model_fetches_total{result="failure"}') == 1
        asked = len(mirror.asked)
        # It is not tried again immediately.
        assert (daemon.ask(text="What?", source="en", target="fr")[1]["code"] == "fetch_failed"
                and len(mirror.asked) == asked)
        rss = int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{daemon.process.pid}/status").read_text())[1])
        assert rss < 200_000 and not (folder / "en-fr").exists()


def test_a_drain_does_not_wait_for_a_download(mirror, folder):  # noqa: F811
    gate, path = threading.Event(), mirror.paths["model"]
    mirror.acts[path] = [m.held(gate)]
    with serve(mirror, folder, "--fetch", "mozilla") as daemon:
        answers: list[int] = []
        thread = threading.Thread(target=lambda: answers.append(daemon.ask(text="What?", source="en", target="fr")[0]))
        thread.start()
        until(lambda: any(path in line for line in mirror.asked), "the download")
        began = time.monotonic()
        daemon.process.terminate()
        assert daemon.process.wait(30) == 0 and time.monotonic() - began < 15
        thread.join()
        assert answers == [503]
    gate.set()


RESOLVER = r"""
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **all) {
    if (!host || strcmp(host, "slow.example") != 0)
        return ((int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo"))(host, service, hints, all);
    close(open(getenv("LOOKED_UP"), O_CREAT | O_WRONLY, 0600));
    for (;;)
        pause();
}
"""


def test_a_drain_does_not_wait_for_a_name(mirror, folder, tmp_path):  # noqa: F811
    library, looked_up = tmp_path / "resolver.so", tmp_path / "looked-up"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=RESOLVER,
                   text=True, check=True)
    mirror.url = "http://slow.example"
    with serve(mirror, folder, "--models", folder, "--fetch", "mozilla",
               home={"env": environment(LD_PRELOAD=str(library), LOOKED_UP=str(looked_up))}) as daemon:
        thread = threading.Thread(target=lambda: daemon.ask(text="What?", source="xx", target="yy"))
        thread.start()
        until(looked_up.exists, "the name")
        began = time.monotonic()
        daemon.process.terminate()
        assert daemon.process.wait(30) == 0
        print(f"stopped after {time.monotonic() - began:.2f} s")
        thread.join()


def test_flags_that_contradict_each_other(tmp_path):
    for flags in (["--fetch", "mozzila"], ["--fetch", ""], ["--fetch-pairs", "en-*"],
                  ["--fetch", "mozilla", "--offline"]):
        done = subprocess.run([ALIGND, "--models", tmp_path, *flags], capture_output=True, text=True, env=environment())
        assert done.returncode == 2, (flags, done.stderr)


DISK = r"""
#include <stdlib.h>
#include <sys/statvfs.h>
int statvfs(const char *path, struct statvfs *disk) {
    (void)path;
    *disk = (struct statvfs){.f_frsize = 1, .f_bavail = strtoull(getenv("FREE"), NULL, 10)};
    return 0;
}
"""


@pytest.fixture
def disk(tmp_path) -> Callable[[float], dict]:
    """Arguments for subprocess that simulate a disk with this number of free bytes."""
    library = tmp_path / "disk.so"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=DISK, text=True,
                   check=True)
    return lambda free: {"env": environment(LD_PRELOAD=str(library), FREE=str(int(free)))}


def limit(daemon: Daemon) -> int:
    return int(re.search("bytes=([0-9]+)", daemon.logged("event=fetch_limit"))[1])


def test_the_limit_of_bytes_has_a_default(mirror, pair, folder, size_of, disk):  # noqa: F811
    for target in ("de", "es"):
        mirror.add_pair("en", target, pair)
    one, free = int(size_of(1)), 100_000_000
    with serve(mirror, folder, "--models", folder, "--fetch", "mozilla", home=disk(free)) as daemon:
        assert daemon.ask(text="What?", source="en", target="fr")[0] == 200 and limit(daemon) == free // 4
    with serve(mirror, folder, "--models", folder, "--fetch", "mozilla", "--fetch-bytes", "auto",
               home=disk(free)) as daemon:
        assert daemon.ask(text="What?", source="en", target="de")[0] == 200
        assert limit(daemon) == (free + one) // 4  # models that were fetched on demand count as free space
    assert get(mirror, folder, "en-fr").returncode == 0  # it is kept from now on
    with serve(mirror, folder, "--models", folder, "--fetch", "mozilla", home=disk(1e15)) as daemon:
        assert daemon.ask(text="What?", source="en", target="es")[0] == 200 and limit(daemon) == one + 10_000_000_000
    with serve(mirror, folder, "--models", folder, "--fetch", "mozilla", "--fetch-bytes", "0",
               home=disk(free)) as daemon:
        assert daemon.ask(text="What?", source="en", target="sw")[0] == 400
        assert not any("fetch_limit" in line for line in daemon.log)


# ---- what there is to download ----

def available(daemon: Daemon, administrator: bool) -> dict:
    headers = {"Host": "localhost"}
    return send(daemon, "GET", "/models/available", None, headers) if administrator else daemon.ask(
        "/models/available")[1]


def test_what_can_be_had_is_listed_for_an_administrator_and_then_for_all(mirror, pair, folder):  # noqa: F811
    mirror.add_pair("en", "de", pair, version="3.1", architecture="base")
    gate = threading.Event()
    mirror.acts[m.RECORDS] = [m.held(gate), None]
    folder.mkdir()
    with serve(mirror, folder) as daemon:
        assert available(daemon, False) == {"state": "unknown", "models": []} and mirror.asked == []
        assert list(folder.iterdir()) == []  # looking makes no folder
        assert available(daemon, True) == {"state": "reading", "models": []}
        until(lambda: mirror.asked, "the request for the list")
        assert available(daemon, False)["state"] == "reading" and daemon.ask("/health")[0] == 200
        gate.set()
        until(lambda: available(daemon, True)["state"] == "ready", "the list")
        for administrator in (False, True):
            found = available(daemon, administrator)["models"]
            assert [(one["source"], one["target"], one["version"], one["architecture"]) for one in found] == [
                ("en", "de", "3.1", "base"), ("en", "fr", "3.0", "tiny")]
            assert all(one["from"] == "mozilla" and one["licence"] == "MPL-2.0" and one["bytes"] > 0 for one in found)
        assert len(mirror.asked) == 1  # it is kept
    with serve(mirror, folder) as daemon:  # the next one shows what was kept, and asks nobody
        until(lambda: available(daemon, False)["state"] == "ready", "the kept list")
        assert len(available(daemon, False)["models"]) == 2 and len(mirror.asked) == 1


def test_a_list_that_another_process_reads_is_shown(mirror, folder):  # noqa: F811
    folder.mkdir()
    with serve(mirror, folder) as daemon:
        assert available(daemon, False)["state"] == "unknown"
        assert get(mirror, folder, "--list", "en-").returncode == 0
        until(lambda: available(daemon, False)["state"] == "ready", "the list")
        assert [one["target"] for one in available(daemon, False)["models"]] == ["fr"] and len(mirror.asked) == 1


def test_a_list_that_cannot_be_read_is_said_and_not_asked_for_at_once_again(mirror, folder):  # noqa: F811
    mirror.acts[m.RECORDS] = [m.status(404)]
    folder.mkdir()
    with serve(mirror, folder) as daemon:
        until(lambda: available(daemon, True)["state"] == "failed", "the failure")
        answer = available(daemon, True)
        assert answer["models"] == [] and "404" in answer["reason"]
        assert available(daemon, False) == {"state": "failed", "models": []}
        assert len(mirror.asked) == 1
    with serve(mirror, folder, "--offline") as daemon:
        assert available(daemon, True) == {"state": "offline", "models": []} and len(mirror.asked) == 1


def test_a_folder_copied_under_another_name_is_named_and_left_out(mirror, pair, folder, home):  # noqa: F811
    """Both where a folder is given and where the default folder of downloads is served with the shipped models."""
    user = Path(home["env"]["HOME"])
    for place, beside, how in ((folder, folder, {}),
                               (user / ".local/share/alignd/models", user / "models", {"home": home})):
        place.mkdir(parents=True)
        get(mirror, place, "en-fr")
        for copy in ("a-copy", "z-copy"):
            shutil.copytree(place / "en-fr", place / copy)
        with serve(mirror, beside, **how) as daemon:
            for left in ("en-fr", "z-copy"):  # the first is served
                daemon.logged(rf"event=model_left_out folder=\S*/{left} .*already loaded")
            assert daemon.ask(text="What?", source="en", target="fr")[0] == 200
            assert daemon.models()["en-fr"]["from"] == "mozilla"


def test_models_that_requests_use_say_so(mirror, pair, folder):  # noqa: F811
    folder.mkdir()
    with serve(mirror, folder, "--model", "weights/fr-en") as daemon:
        assert daemon.models()["fr-en"]["in_use"] is False and "idle_s" not in daemon.models()["fr-en"]
        assert daemon.ask(text="Bonjour.", model="fr-en")[0] == 200
        model = daemon.models()["fr-en"]
        assert model["state"] == "ready" and 0 <= model["idle_s"] < 60


# ---- administrators ----

def test_the_name_of_an_ordered_model_is_checked_first(mirror, folder):  # noqa: F811
    with serve(mirror, folder, "--fetch", "mozilla") as daemon:
        for body in ({"get": "nonsense"}, {"get": "en"}, {"get": "en--fr"}, {"get": "en-fr;"},
                     {"get": "opus:en-fr", "from": "mozilla"}, {"get": "en-fr", "from": "hf"},
                     {"get": "a/../b", "from": "hf"}, {"get": "url:x"}, {"get": "../../x"},
                     {"get": "en-fr" + "x" * 60}):
            answer = order(daemon, **body)
            assert answer["code"] == "invalid_request" and answer["field"] == "get" and answer["error"].startswith(
                "get"), (body, answer)
        assert mirror.asked == [] and daemon.models() == {}

        assert order(daemon, get="xx-yy")["status"] == "fetching"  # the list has not been read yet
        until(lambda: daemon.models().get("xx-yy", {}).get("state") == "failed", "the failure")
        asked = len(mirror.asked)
        answer = order(daemon, get="xx-yy")
        assert (answer["field"] == "get" and "Mozilla's list has no model \"xx-yy\"" in answer["error"]
                and len(mirror.asked) == asked)
        assert daemon.ask(text="What?", source="en", target="fr")[0] == 200  # this request reads the list
        asked = len(mirror.asked)
        assert order(daemon, get="yy-zz")["field"] == "get" and len(mirror.asked) == asked


def test_administrators_see_why_a_download_failed(mirror, pair, folder, tmp_path):  # noqa: F811
    """The log gives the reason, too; keys that are limited to some models see no downloads."""
    mirror.add_pair("en", "de", pair, version="3.1")  # the files have other names
    made = {name: subprocess.run([ALIGND, "key", "--name", name, *flags], capture_output=True, text=True)
            for name, flags in
            (("root", ["--role", "admin"]), ("alice", []), ("bob", ["--limits", "models=en-de"]))}
    keys = tmp_path / "keys"
    keys.write_text("".join(done.stdout for done in made.values()))
    mirror.acts[mirror.paths["model"]] = [m.status(500)]

    def models(name: str) -> dict:
        key = made[name].stderr.split()[-1]
        with urllib.request.urlopen(urllib.request.Request(daemon.url + "/models",
                                                           headers={"X-Api-Key": key})) as reply:
            return {model["name"]: model for model in json.load(reply)["models"]}

    with serve(mirror, folder, "--fetch", "mozilla", "--api-keys", str(keys)) as daemon:
        order(daemon, get="en-de")
        order(daemon, get="en-fr")
        until(lambda: models("root").get("en-fr", {}).get("state") == "failed", "the failure")
        reason = models("root")["en-fr"]["reason"]
        assert (mirror.url in reason and "the server answers 500" in reason
                and reason in daemon.logged("event=fetch_failed pair=en-fr result=network"))
        assert models("alice")["en-fr"]["state"] == "failed" and "reason" not in models("alice")["en-fr"]
        assert list(models("bob")) == ["en-de"]



def test_administrators_order_a_model(mirror, pair, folder):  # noqa: F811
    folder.mkdir()
    with serve(mirror, folder) as daemon:
        assert daemon.ask("/models", get="en-fr")[0] in (401, 403)
        assert order(daemon, get="en-fr", **{"from": "mozilla"}) == {"status": "fetching", "name": "mozilla:en-fr"}
        until(lambda: "en-fr" in daemon.models() and daemon.models()["en-fr"]["state"] != "fetching", "the model")
        assert daemon.ask(text="What?", source="en", target="fr")[0] == 200
        mirror.add_pair("en", "fr", pair, version="3.1")
        order(daemon, get="en-fr")  # a newer version replaces the old one
        until(lambda: daemon.models().get("en-fr", {}).get("version") == "3.1", "the newer version")
        assert daemon.ask(text="What?", source="en", target="fr")[0] == 200
        assert order(daemon, get="xx-yy")["status"] == "fetching"
        until(lambda: daemon.models().get("xx-yy", {}).get("state") == "failed", "the failure")
        for source in ("quickmt", "hplt"):
            assert order(daemon, get="fr-en", **{"from": source}) == {"status": "fetching", "name": f"{source}:fr-en"}
        for body in ({"get": ""}, {"get": 5}, {"get": "en-fr", "from": "evil"}, {"get": "http://127.0.0.1/x.zip"},
                     {"get": "en-fr", "folder": "x"}):
            assert order(daemon, **body)["code"] == "invalid_request", body


def test_a_downloaded_model_replaces_the_shipped_one_at_once(mirror, home):  # noqa: F811
    models = Path(home["env"]["HOME"]) / ".local/share/alignd/models"
    with serve(mirror, Path(home["env"]["HOME"]) / "models", home=home) as daemon:
        before = daemon.ask(text="Where is the train station?")[1]["translations"][0]["text"]
        assert "from" not in daemon.models()["en-fr"]
        order(daemon, get="en-fr")
        until(lambda: daemon.models()["en-fr"].get("from") == "mozilla", "the model")
        assert ((models / "en-fr/config.json").exists() and len(daemon.models())
                == len(list(Path("weights").glob("*/model.safetensors"))))
        assert (daemon.ask(text="Where is the train station?", source="en", target="fr")[1]["translations"][0]["text"]
                != before)


def test_requests_downloads_and_removals_at_once(mirror, pair, folder):  # noqa: F811
    targets = ["de", "es", "it", "pt", "nl", "sv", "da", "fi", "pl"]
    for target in targets:
        mirror.add_pair("en", target, pair)
    with serve(mirror, folder, "--fetch", "mozilla", "--model-memory", "4M") as daemon:
        assert daemon.ask(text="What?", source="en", target="fr")[0] == 200
        wrong: list = []

        def work(number: int) -> None:
            for i in range(50):
                target = (["fr"] + targets)[(number + i) % 10]
                status, answer, _ = daemon.ask(text=f"What {i}?", source="en", target=target, deadline_ms=60000)
                if status != 200:
                    wrong.append((target, status, answer))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == [] and len(daemon.models()) == 10


def test_requests_downloads_evictions_and_removals_at_once(mirror, pair, folder, size_of):  # noqa: F811
    """1,000 requests for nine pairs, of which four fit into the folder, while an administrator orders a tenth and
    removes it."""
    targets = ["fr", "de", "es", "it", "pt", "nl", "sv", "da", "fi"]
    for target in [*targets[1:], "pl"]:
        mirror.add_pair("en", target, pair)
    with serve(mirror, folder, "--fetch", "mozilla", "--fetch-bytes", size_of(4.5), "--deadline-ms",
               "120000") as daemon:
        wrong: list = []
        answers: list = []

        def removed() -> dict:
            answers.append(send(daemon, "DELETE", "/models/en-pl", None, {"Host": "localhost"}))
            return answers[-1]

        def work(number: int) -> None:
            for i in range(50):
                target = targets[(number + i // 5) % 9]
                status, answer, _ = daemon.ask(text=f"What {i}?", source="en", target=target, deadline_ms=60000)
                if status != 200:
                    wrong.append((target, status, answer))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        for _ in range(10):
            order(daemon, get="en-pl")
            until(lambda: daemon.models().get("en-pl", {"state": "fetching"})["state"] != "fetching",
                  "the ordered model")
            until(lambda: removed() != {"code": "busy", "error": "the models are being reloaded; try again later"},
                  "the end of a reload")
            assert answers[-1] == {"status": "removed", "name": "en-pl"}
        for thread in threads:
            thread.join()
        assert wrong == [] and daemon.metric("model_evictions_total") >= 10
        until(lambda: not any(name.startswith(".") for name in folders(folder)), "the end of the last removal")
        assert len(folders(folder)) <= 5
