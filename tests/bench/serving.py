"""For benchmarks that start a daemon: a free port, waiting until it is ready, and its memory."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def is_ready(process: subprocess.Popen, address: str) -> bool:
    try:
        return urllib.request.urlopen(f"http://{address}/ready", timeout=60).status == 200
    except urllib.error.HTTPError:
        return False
    except OSError:
        if process.poll() is not None:
            sys.exit("the daemon ended")
        return False


def await_ready(process: subprocess.Popen, address: str) -> None:
    while not is_ready(process, address):
        time.sleep(0.01)


def memory(process: subprocess.Popen, name: str) -> float:
    """VmRSS, VmHWM, RssAnon or RssFile, in MB (10^6 bytes)."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines())
    return int(lines[name].split()[0]) * 1024 / 1e6
