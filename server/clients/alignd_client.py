"""A client of alignd on Python's standard library: copy this file, or put its folder on the path.

    from alignd_client import Client
    client = Client("http://127.0.0.1:8080")
    client.translate("Where is the train station?", model="en-fr")["translations"][0]["text"]
    for name, data in client.stream("/translate", text="I like snow.", model="en-fr", strategy="greedy"):
        print(data.get("text", ""), end="")

Fields are those of POST /translate and POST /attention. A busy server (429, 503) is asked again after its Retry-After.
Needs Python 3.9."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, Optional, Union

BUSY = (429, 503)
WAIT_S = 1.0  # without Retry-After
# Of errors within a stream.
STATUS = {"deadline_exceeded": 504, "unavailable": 503, "queue_full": 429, "invalid_request": 400}

Text = Union[str, list[str]]


class AligndError(Exception):
    """status 0: the server cannot be reached, or its answer was cut off. retry_after:
    seconds, 0 if the server said nothing."""

    def __init__(self, status: int, body: Optional[dict[str, Any]] = None, retry_after: float = 0.0) -> None:
        body = body or {}
        super().__init__(body.get("error")
                         or (f"The server answered {status}." if status else "The server cannot be reached."))
        self.status, self.code, self.field, self.retry_after = status, body.get("code"), body.get("field"), retry_after


class Client:
    """server: its address. key: its API key. retries: how often a busy server is asked again. timeout_s:
    of each request. Thread-safe."""

    def __init__(self, server: str = "http://127.0.0.1:8080", key: str = "", retries: int = 3,
                 timeout_s: float = 60.0) -> None:
        self.server, self.key, self.retries, self.timeout_s = server.rstrip("/"), key, retries, timeout_s

    def _once(self, path: str, body: Optional[dict[str, Any]]) -> http.client.HTTPResponse:
        headers = {"Content-Type": "application/json"} | ({"X-Api-Key": self.key} if self.key else {})
        data = None if body is None else json.dumps(body).encode()
        try:
            return urllib.request.urlopen(urllib.request.Request(self.server + path, data, headers),
                                          timeout=self.timeout_s)
        except urllib.error.HTTPError as reply:
            with reply:
                raise AligndError(reply.code, _parsed(reply.read()),
                                  _seconds(reply.headers.get("Retry-After"))) from None
        except OSError as error:
            raise AligndError(0) from error

    def send(self, path: str, body: Optional[dict[str, Any]] = None) -> http.client.HTTPResponse:
        """The reply to a GET, or to a POST of `body`; the caller closes it."""
        for left in range(self.retries, -1, -1):
            try:
                return self._once(path, body)
            except AligndError as error:
                if left == 0 or error.status not in BUSY:
                    raise
                time.sleep(error.retry_after or WAIT_S)
        raise AssertionError("unreachable")

    def json(self, path: str, body: Optional[dict[str, Any]] = None) -> Any:
        try:
            with self.send(path, body) as reply:
                return json.loads(reply.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise AligndError(0) from error

    def translate(self, text: Text, **fields: Any) -> dict[str, Any]:
        return self.json("/translate", {"text": text, **fields})

    def attention(self, text: Text, translation: Optional[Text] = None, **fields: Any) -> dict[str, Any]:
        """translation: what the model is made to write; otherwise its own."""
        given = {} if translation is None else {"translation": translation}
        return self.json("/attention", {"text": text, **given, **fields})

    def models(self) -> list[dict[str, Any]]:
        return self.json("/models")["models"]

    def stream(self, path: str, **fields: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        """(name, data): "token" as they are decided (greedy, sample), "result" last.
        Leaving the loop ends the request."""
        with self.send(path, {**fields, "stream": True}) as reply:
            name = ""
            try:
                for line in reply:
                    if line.startswith(b"event:"):
                        name = line[6:].strip().decode()
                    elif line.startswith(b"data:"):
                        data = json.loads(line[5:])
                        if name == "error":
                            raise AligndError(STATUS.get(data.get("code"), 500), data)
                        yield name, data
                        if name == "result":
                            return
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise AligndError(0) from error
            raise AligndError(0)


def _parsed(body: bytes) -> Optional[dict[str, Any]]:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _seconds(text: Optional[str]) -> float:
    return float(text) if text and text.isdigit() else 0.0
