#!/usr/bin/env python3
"""The memory that a long document takes: tests/bench/document_memory.py [--alignd PROGRAM] [--model weights/en-fr]
[--pages 10,100,1000] [--kinds txt,docx,stream] [--before PAGES] [--save FOLDER]

Makes documents with 300 words per page from tests/bench/sentences.txt, five sentences per paragraph: txt, docx (every
fifth paragraph has a bold word), and txt as a stream of events. For each it starts a daemon of two workers, which first
translates a text of --before PAGES and then the document. Prints the sentences, the bytes of the largest part (the
text, or the longest member of the archive), the seconds, and the peak of memory above that before the request, in MB
(10^6): resident memory (VmHWM, which includes parts of files such as weights that are read for the first time), and
anonymous memory (RssAnon, sampled every 50 ms). --save FOLDER keeps the results.
"""

from __future__ import annotations

import argparse
import atexit
import io
import itertools
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import serving

ROOT = Path(__file__).resolve().parents[2]
WORDS, PARAGRAPH, BOUNDARY = 300, 5, "document-memory"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
TYPES = ('<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" '
         'ContentType="application/vnd.openxmlformats-package.'
         'relationships+xml"/><Override PartName="/word/document.xml" '
         'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>')
RELATIONS = ('<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship '
             'Id="rId1" Type="http://schemas.openxmlformats.org/'
             'officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>')


def paragraphs(pages: int) -> tuple[list[str], int]:
    """Paragraphs for this number of pages, and their number of sentences."""
    made: list[str] = []
    sentences, words = [], 0
    for line in itertools.cycle((ROOT / "tests/bench/sentences.txt").read_text().splitlines()):
        if words >= pages * WORDS:
            break
        sentences.append(line.strip())
        words += len(line.split())
    for first in range(0, len(sentences), PARAGRAPH):
        made.append(" ".join(sentences[first:first + PARAGRAPH]))
    return made, len(sentences)


def docx(texts: list[str]) -> tuple[bytes, int]:
    """Returns the file, and the size of its longest member in bytes."""
    body = []
    for i, text in enumerate(texts):
        first, bold, rest = text.partition(" ") if i % PARAGRAPH == 0 else (text, "", "")
        marked = (
            f'<w:r><w:rPr><w:b/></w:rPr><w:t>{first}</w:t></w:r><w:r><w:t xml:space="preserve">{bold}{rest}</w:t></w:r>'
            if bold else f"<w:r><w:t>{text}</w:t></w:r>")
        body.append(f'<w:p><w:pPr><w:jc w:val="both"/></w:pPr>{marked}</w:p>')
    document = (f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?><w:document '
                f'{W}><w:body>{"".join(body)}</w:body></w:document>')
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (("[Content_Types].xml", TYPES), ("_rels/.rels", RELATIONS), ("word/document.xml", document)):
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return file.getvalue(), len(document.encode())


class Server:
    def __init__(self, alignd: str, model: str) -> None:
        self.address = f"127.0.0.1:{serving.free_port()}"
        self.process = subprocess.Popen([alignd, "--model", model, "--listen", self.address, "--workers", "2",
                                         "--log-level", "error", "--max-body-bytes", "16777216",
                                         "--document-sentences", "100000", "--document-ms", "3600000", "--deadline-ms",
                                         "3600000"])
        atexit.register(self.process.terminate)
        serving.await_ready(self.process, self.address)

    def translate(self, name: str, file: bytes, stream: bool) -> bytes:
        parts = [f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
                 for key, value in (("source", "en"), ("target", "fr"), ("stream", str(stream).lower()))]
        parts.append(f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
                     + file + f"\r\n--{BOUNDARY}--\r\n".encode())
        request = urllib.request.Request(f"http://{self.address}/documents", b"".join(parts),
                                         {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"})
        try:
            return urllib.request.urlopen(request, timeout=3600).read()
        except urllib.error.HTTPError as error:
            sys.exit(f"{name}: {error.read().decode()}")

    def measure(self, name: str, file: bytes, stream: bool) -> tuple[float, float, float, bytes]:
        """Returns the seconds, the memory peaks in MB above the memory before the request, and the reply."""
        time.sleep(1)  # the daemon frees memory after loading
        idle, idle_own = serving.memory(self.process, "VmRSS"), serving.memory(self.process, "RssAnon")
        own, done = [idle_own], threading.Event()

        def watch() -> None:
            while not done.wait(0.05):
                own.append(serving.memory(self.process, "RssAnon"))

        watcher = threading.Thread(target=watch)
        watcher.start()
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        began = time.perf_counter()
        try:
            reply = self.translate(name, file, stream)
        finally:
            done.set()
            watcher.join()
        return time.perf_counter() - began, serving.memory(self.process, "VmHWM") - idle, max(own) - idle_own, reply


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--alignd", default="build/alignd")
    parser.add_argument("--model", default="weights/en-fr")
    parser.add_argument("--pages", default="10,100,1000")
    parser.add_argument("--kinds", default="txt,docx,stream")
    parser.add_argument("--before", type=int, default=0,
                        help=("pages of a text that the daemon translates first, so that its workers have memory of "
                              "their own"))
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    for kind, pages in itertools.product(options.kinds.split(","), map(int, options.pages.split(","))):
        server = Server(options.alignd, options.model)
        if options.before > 0:
            server.translate("before.txt", "\n".join(paragraphs(options.before)[0]).encode(), False)
        texts, count = paragraphs(pages)
        text = "\n".join(texts).encode()
        file, largest = docx(texts) if kind == "docx" else (text, len(text))
        seconds, peak, own, reply = server.measure("pages.docx" if kind == "docx" else "pages.txt", file,
                                                   kind == "stream")
        print(f"{kind:6} {pages:5} pages {count:6} sentences, largest part {largest / 1e6:5.2f} MB: {seconds:6.1f} s, "
              f"{peak:6.1f} MB, its own {own:6.1f} MB", flush=True)
        server.process.terminate()
        server.process.wait()
        if options.save:
            options.save.mkdir(parents=True, exist_ok=True)
            (options.save / f"{kind}-{pages}").write_bytes(reply)


if __name__ == "__main__":
    main()
