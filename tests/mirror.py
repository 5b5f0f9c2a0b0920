"""A mirror on loopback with the paths of Mozilla's, OPUS-MT's, the Hugging Face hub's and Argos's servers,
for tests of downloads.

It serves small models under the names of real ones, with Range and ETag like a static file server, and misbehaves on
request: `mirror.acts[path] = [act, ...]`. Each request takes the next act, and the last one stays. An act is a function
of the handler and the content, or None for the usual reply.
"""

from __future__ import annotations

import hashlib
import json
import struct
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Callable, Iterator

RECORDS = "/v1/buckets/main/collections/translations-models-v2/records"
FILES = "/main-workspace/translations-models-v2"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def zstd(content: bytes) -> bytes:
    """A Zstandard frame of uncompressed blocks (RFC 8878)."""
    most, blocks = 1 << 17, []
    for at in range(0, max(len(content), 1), most):
        part = content[at:at + most]
        last = at + most >= len(content)
        blocks.append(struct.pack("<I", last | len(part) << 3)[:3] + part)
    return struct.pack("<IBI", 0xFD2FB528, 0b10100000, len(content)) + b"".join(blocks)


def bomb(size: int) -> bytes:
    """A frame in which each 4 bytes expand to 128 KiB of zeros."""
    block, count = 1 << 17, size >> 17
    blocks = [struct.pack("<I", (i + 1 == count) | 1 << 1 | block << 3)[:3] + b"\0" for i in range(count)]
    return struct.pack("<IBB", 0xFD2FB528, 0, 0x58) + b"".join(blocks)  # window of 2 MiB, content size not given


class Mirror:
    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.acts: dict[str, list[Callable | None]] = {}
        self.asked: list[str] = []  # "GET path" or "GET path bytes=N-"
        self.records: list[dict] = []
        self.url = ""

    def add_pair(self, source: str, target: str, files: dict[str, bytes], version: str = "3.0",
                 architecture: str = "tiny", **fields) -> dict[str, str]:
        """files: by fileType. Returns the path of each file."""
        code, paths = (source[:2] + target[:2]), {}
        names = {"model": f"model.{code}.intgemm.alphas.bin", "lex": f"lex.50.50.{code}.s2t.bin",
                 "vocab": f"vocab.{code}.spm", "srcvocab": f"srcvocab.{code}.spm", "trgvocab": f"trgvocab.{code}.spm"}
        for kind, content in files.items():
            packed = zstd(content)
            location = f"main-workspace/translations-models-v2/{digest(packed + version.encode())[:32]}.zst"
            self.content["/" + location] = packed
            paths[kind] = "/" + location
            self.records.append({
                "name": names[kind], "schema": 1, "version": version, "fileType": kind, "architecture": architecture,
                "attachment": {"hash": digest(packed), "size": len(packed), "filename": names[kind] + ".zst",
                               "location": location, "mimetype": "application/zstd"},
                "sourceLanguage": source, "targetLanguage": target, "decompressedHash": digest(content),
                "decompressedSize": len(content),
                "filter_expression": "", "id": digest(packed)[:32], "last_modified": len(self.records) + 1, **fields})
        self.publish()
        return paths

    def publish(self) -> None:
        self.content[RECORDS] = json.dumps({"data": self.records}).encode()

    def act(self, path: str) -> Callable | None:
        acts = self.acts.get(path, [None])
        return acts.pop(0) if len(acts) > 1 else acts[0]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    mirror: Mirror

    def log_message(self, *_) -> None:
        pass

    def do_GET(self) -> None:
        mirror, wanted = self.mirror, self.headers.get("Range", "")
        mirror.asked.append(f"GET {self.path} {wanted}".strip())
        content = mirror.content.get(self.path, mirror.content.get(self.path.split("?")[0]))
        act = mirror.act(self.path)
        try:
            if act:
                act(self, content)
            elif content is None:
                self.reply(404, b"not here")
            else:
                self.send_content(content)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_content(self, content: bytes) -> None:
        etag, wanted, first = f'"{digest(content)[:16]}"', self.headers.get("Range", ""), 0
        if wanted and self.headers.get("If-Range", etag) == etag:
            first = int(wanted.removeprefix("bytes=").split("-")[0])
        if first and first >= len(content):
            self.reply(416, Content_Range=f"bytes */{len(content)}")
        elif first:
            self.reply(206, content[first:], ETag=etag,
                       Content_Range=f"bytes {first}-{len(content) - 1}/{len(content)}")
        else:
            self.reply(200, content, ETag=etag)


# ---- acts ----

def status(code: int, **headers: str) -> Callable:
    return lambda handler, content: handler.reply(code, b"no", **headers)


def redirect(location: str, code: int = 302) -> Callable:
    return lambda handler, content: handler.reply(code, Location=location)


def other(body: bytes) -> Callable:
    """Sends another body than the listed file."""
    return lambda handler, content: handler.reply(200, body)


def truncated(share: float) -> Callable:
    """Announces the full length, but sends only this share."""
    def act(handler: Handler, content: bytes) -> None:
        handler.send_response(200)
        handler.send_header("ETag", f'"{digest(content)[:16]}"')
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[:int(len(content) * share)])
        handler.wfile.flush()
        handler.close_connection = True
    return act


def endless(handler: Handler, content: bytes | None) -> None:
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.close_connection = True
    for _ in range(1 << 16):
        handler.wfile.write(bytes(1 << 16))


def drip(handler: Handler, content: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    for byte in content[:1000]:
        handler.wfile.write(bytes([byte]))
        handler.wfile.flush()
        time.sleep(0.05)


def held(gate: threading.Event, share: float = 0.5) -> Callable:
    """Sends this share of the file, and the rest once the gate is opened."""
    def act(handler: Handler, content: bytes) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        middle = int(len(content) * share)
        handler.wfile.write(content[:middle])
        handler.wfile.flush()
        gate.wait(60)
        handler.wfile.write(content[middle:])
    return act


@contextmanager
def mirror() -> Iterator[Mirror]:
    made = Mirror()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"mirror": made}))
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
