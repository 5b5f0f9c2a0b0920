"""Instructions of the daemon for one request, by the count of connections: python3 tests/bench/instructions.py BUILD
CONNECTIONS... (needs valgrind)

Each count's daemon runs under callgrind and answers BENCH_REQUESTS (6000) different texts of two words, by a model so
small that most of a request is HTTP, over so many connections. What starting takes is subtracted. Instructions do not
depend on what else the machine does; what the system and the caches take is not among them."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from serving import await_ready, free_port

REQUESTS = int(os.environ.get("BENCH_REQUESTS") or 6000)
MODEL = "tests/golden/luong-general-gru"


def instructions(build: str, connections: int, requests: int) -> int:
    """Instructions of a daemon from its start to its end."""
    port = free_port()
    process = subprocess.Popen(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"{build}/alignd", "--model", MODEL,
         "--listen", f"127.0.0.1:{port}", "--queue", "4096", "--deadline-ms", "1h", "--log-level", "error"],
        stderr=subprocess.PIPE, text=True,
    )
    await_ready(process, f"127.0.0.1:{port}")
    if requests > 0:
        result = subprocess.run(
            [f"{build}/tests/bench/clients", str(port), str(connections), '"strategy":"greedy"'],
            input="".join(f"hello {k}\n" for k in range(requests)), capture_output=True, text=True, check=True,
        )
        if " failed=0 " not in result.stdout:
            sys.exit(f"requests failed: {result.stdout}{result.stderr}")
    process.terminate()
    return int(re.search(r"Collected : (\d+)", process.communicate()[1]).group(1))


def main() -> None:
    build, *counts = sys.argv[1:]
    start, first = instructions(build, 1, 0), 0.0
    for connections in map(int, counts):
        each = (instructions(build, connections, REQUESTS) - start) / REQUESTS
        first = first or each
        print(f"{connections} connections: {each:,.0f} instructions a request, {each / first:.3f}", flush=True)


if __name__ == "__main__":
    main()
