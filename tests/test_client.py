"""Tests server/clients/alignd_client.py against a server with prepared replies, and against alignd if it is built."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "server" / "clients"))
import alignd_client  # noqa: E402
from alignd_client import AligndError, Client  # noqa: E402

PROGRAM = Path("build/alignd")


class Told:
    """Gives the prepared replies (status, headers, body) in order and repeats the last one. asked: the paths and bodies
    of requests."""

    def __init__(self, *replies: tuple[int, dict[str, str], bytes]) -> None:
        self.replies, self.asked = list(replies), []
        told = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                told.asked.append((self.path, self.rfile.read(int(self.headers.get("Content-Length") or 0)),
                                   self.headers.get("X-Api-Key")))
                status, headers, body = told.replies.pop(0) if len(told.replies) > 1 else told.replies[0]
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = answer

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


def busy(status: int = 429) -> tuple[int, dict[str, str], bytes]:
    return status, {"Retry-After": "7"}, b'{"error": "the queue is full", "code": "queue_full"}'


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waits: list[float] = []
    monkeypatch.setattr(alignd_client.time, "sleep", waits.append)
    return waits


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again_after_its_retry_after(status: int, slept: list[float]) -> None:
    told = Told(busy(status), busy(status), (200, {}, b'{"models": [{"name": "m"}]}'))
    assert Client(told.url + "/", key="k").models() == [{"name": "m"}]
    assert slept == [7, 7] and [key for _, _, key in told.asked] == ["k"] * 3


def test_so_often_and_not_more(slept: list[float]) -> None:
    told = Told(busy())
    with pytest.raises(AligndError, match="the queue is full") as found:
        Client(told.url, retries=2).translate("x")
    assert ((found.value.status, found.value.code, found.value.retry_after, len(told.asked), len(slept))
            == (429, "queue_full", 7, 3, 2))


def test_other_errors_are_not_asked_again(slept: list[float]) -> None:
    told = Told((400, {},
                 b'{"error": "beam_size must be between 1 and 32", "code": "invalid_request", "field": "beam_size"}'))
    with pytest.raises(AligndError) as found:
        Client(told.url).attention("x", "y", beam_size=99)
    assert (found.value.status, found.value.field, len(told.asked), slept) == (400, "beam_size", 1, [])
    assert json.loads(told.asked[0][1]) == {"text": "x", "translation": "y", "beam_size": 99}
    with pytest.raises(AligndError) as found:
        Client("http://127.0.0.1:1").models()
    assert found.value.status == 0


@pytest.mark.parametrize(("body", "names", "status"), [
    (b'event: token\ndata: {"text": "a"}\n\n: still there\n\nevent: result\ndata: {}\n\n', ["token", "result"], None),
    (b'event: token\ndata: {"text": "a"}\n\n', ["token"], 0),
    (b'event: error\ndata: {"error": "too late", "code": "deadline_exceeded"}\n\n', [], 504),
])
def test_streams(body: bytes, names: list[str], status: int) -> None:
    seen = []
    try:
        for name, _ in Client(Told((200, {"Content-Type": "text/event-stream"}, body)).url).stream("/translate",
                                                                                                   text="x"):
            seen.append(name)
    except AligndError as error:
        assert error.status == status
    else:
        assert status is None
    assert seen == names


@pytest.fixture
def daemon() -> Iterator[str]:
    if not PROGRAM.exists():
        pytest.skip("alignd is not built")
    process = subprocess.Popen([PROGRAM, "--model", "weights/en-fr", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE,
                               text=True)
    address = next(found[1] for line in process.stderr if (found := re.search(r"event=listening address=(\S+)", line)))
    yield f"http://{address}"
    process.terminate()
    process.wait()


def test_with_alignd(daemon: str) -> None:
    client = Client(daemon, retries=20)
    text = client.translate("A boy plays in the snow.", model="en-fr")["translations"][0]["text"]
    assert client.attention("A boy plays in the snow.", text)["results"][0]["text"] == text
    parts = [data["text"] for name, data in client.stream("/translate", text="A boy plays in the snow.",
                                                          strategy="greedy") if name == "token"]
    assert (len(parts) > 3 and "".join(parts) == client.translate("A boy plays in the snow.",
                                                                  strategy="greedy")["translations"][0]["text"])
