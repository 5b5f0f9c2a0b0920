"""Replicas behind HAProxy, with faults: python3 tests/scale/balance.py (make check-scale)

Three daemons with one worker each behind Debian's HAProxy, all on loopback, with docker/haproxy.cfg: only addresses are
put in. Requests come at random moments (Poisson), SCALE_LOAD (0.5) of what the three answer at best, for SCALE_SECONDS
(10) with each fault, and for as long again until the fault is over. Prints a table, and fails where a client saw an
error, and where a fault was none. "retries" are the requests that HAProxy sent again, "elsewhere" those of them, and of
the ones kept back, that went to another replica.

SCALE_FIELDS: what requests ask besides their text, as in JSON."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path

from replica import MODEL, ROOT, Load, Replica, Result, arrivals, await_true, draws, free_port, parameter, spawn

FIELDS = os.environ.get("SCALE_FIELDS") or '"strategy":"beam"'
SECONDS = parameter("SCALE_SECONDS", 10)
LOAD = parameter("SCALE_LOAD", 0.5)
REPLICAS, CONNECTIONS, CAPACITY_REQUESTS, CANARY_REQUESTS, KILLS = 3, 256, 600, 100, 3
# A slow machine is not one of the faults.
UNHURRIED = ("--deadline-ms", "600000", "--grace-ms", "600000", "--queue", "100000")
SLOT = "added"  # of the configuration, for one replica more


def configuration(port: int, control: Path, algorithm: str, servers: dict[str, int | None]) -> str:
    """docker/haproxy.cfg with these addresses in place of the containers'. servers: ports by name; None:
    a slot not yet used."""
    template = (ROOT / "docker/haproxy.cfg").read_text()
    lines = "\n".join(f"    server {name} 127.0.0.1:{at or 1}" + ("" if at else " disabled")
                      for name, at in servers.items())
    changes = [
        (r"^global$", f"global\n    stats socket {control} mode 600 level admin"),
        (r"^    bind :8080$", f"    bind 127.0.0.1:{port}"),
        (r"^    bind :8404$", f"    bind 127.0.0.1:{free_port()}"),
        (r"^    balance leastconn$", f"    balance {algorithm}"),
        (r"^    server-template .*$", lines),
    ]
    for pattern, replacement in changes:
        template, count = re.subn(pattern, replacement, template, flags=re.MULTILINE)
        if count != 1:
            raise RuntimeError(f"docker/haproxy.cfg: {count} lines match {pattern}")
    return template


class Balancer:
    """HAProxy before these replicas, with a slot for one more."""

    def __init__(self, replicas: list[Replica], algorithm: str = "leastconn") -> None:
        self.port, self._folder = free_port(), tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        self._control = folder / "control"
        servers = {SLOT: None} | {replica.name: replica.port for replica in replicas}
        (folder / "haproxy.cfg").write_text(configuration(self.port, self._control, algorithm, servers))
        program = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")
        self._log = (folder / "log").open("w+")
        self._process = spawn([program, "-db", "-f", str(folder / "haproxy.cfg")], self._log)
        await_true(self._started, "HAProxy has started")
        for replica in replicas:
            self.await_up(replica)

    def _started(self) -> bool:
        if self._process.poll() is not None:
            self._log.seek(0)
            raise RuntimeError(f"HAProxy ended:\n{self._log.read()}")
        return self._control.exists()

    def ask(self, command: str) -> str:
        """One command of HAProxy's runtime socket."""
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self._control))
            control.sendall(f"{command}\n".encode())
            return b"".join(iter(lambda: control.recv(1 << 16), b"")).decode()

    def counts(self) -> dict[str, dict[str, str]]:
        """Of the backend's servers, by name: HAProxy's counters."""
        head, *rows = [line.split(",") for line in self.ask("show stat").lstrip("# ").splitlines() if line]
        entries = [dict(zip(head, row)) for row in rows]
        return {entry["svname"]: entry for entry in entries if entry["pxname"] == "alignd"}

    def total(self, counter: str) -> int:
        return int(self.counts()["BACKEND"][counter] or 0)

    def attempts_again(self) -> int:
        """How often it has tried a request again, with the same replica or, as after most refused connections,
        with another one."""
        return self.total("wretr") + self.total("wredis")

    def await_up(self, replica: Replica) -> None:
        """Until HAProxy has seen it ready."""
        await_true(lambda: self.counts()[replica.name]["status"] == "UP", f"HAProxy has seen {replica.name}")

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()
        self._folder.cleanup()


@dataclass
class Scene:
    """What the faults happen to."""

    replicas: list[Replica]
    balancer: Balancer

    def served(self, replica: Replica) -> int:
        return int(self.balancer.counts()[replica.name]["stot"])


def nothing(scene: Scene) -> None:
    """The measure of the others."""


def kill(scene: Scene) -> None:
    """kill -9 and start again, some times: connections to the replica end in the middle, then are refused."""
    before = scene.balancer.attempts_again()
    for replica in (scene.replicas * KILLS)[:KILLS]:
        if replica.end(signal.SIGKILL) != -signal.SIGKILL:
            raise RuntimeError(f"{replica.name} had ended by itself")
        time.sleep(SECONDS / (4 * KILLS))
        replica.start()
        scene.balancer.await_up(replica)
    if scene.balancer.attempts_again() == before:
        raise RuntimeError("no request met a killed replica, so nothing was tested")


def drain(scene: Scene) -> None:
    """SIGTERM, until it has ended, and a new process in its place:
    a rolling update of the program, replica by replica."""
    for replica in scene.replicas:
        if replica.end(signal.SIGTERM) != 0 or "event=stopped clean=true" not in replica.log_text():
            raise RuntimeError(f"{replica.name} did not end cleanly:\n{replica.log_text()}")
        replica.start()
        scene.balancer.await_up(replica)


def reload(scene: Scene) -> None:
    """SIGHUP: a rolling update of the models, replica by replica."""
    for replica in scene.replicas:
        before = replica.metrics()["alignd_models_reloads_total"]
        replica.process.send_signal(signal.SIGHUP)
        await_true(lambda: replica.metrics()["alignd_models_reloads_total"] > before,
                   f"{replica.name} has loaded again")


def add(scene: Scene) -> None:
    """One more, by HAProxy's runtime socket: the slot gets an address and, once /ready says so, requests."""
    added = Replica(SLOT, *scene.replicas[0].options)
    added.start()
    scene.balancer.ask(f"set server alignd/{SLOT} addr 127.0.0.1 port {added.port}")
    scene.balancer.ask(f"set server alignd/{SLOT} state ready")
    scene.balancer.await_up(added)
    scene.replicas.append(added)
    await_true(lambda: scene.served(added) > 0, "the added replica gets requests")


def canary(scene: Scene) -> None:
    """The last one gets a third of each other's weight, and so one request in ten."""
    for replica in scene.replicas:
        scene.balancer.ask(f"set server alignd/{replica.name} weight {30 if replica is scene.replicas[-1] else 90}")
    before = [scene.served(replica) for replica in scene.replicas]
    time.sleep(0.6 * SECONDS)
    await_true(lambda: sum(map(scene.served, scene.replicas)) - sum(before) >= CANARY_REQUESTS,
               "enough requests to tell shares apart")
    counts = [scene.served(replica) - count for replica, count in zip(scene.replicas, before)]
    if not 0 < counts[-1] < sum(counts) / 5:
        raise RuntimeError(f"weights 90 90 90 30 were not heeded: {counts}")


FAULTS: list[tuple[str, Callable[[Scene], None]]] = [
    ("none", nothing),
    ("kill -9, thrice", kill),
    ("SIGTERM, each", drain),
    ("SIGHUP, each", reload),
    ("one added", add),
]


def send(port: int, rate: float, over: threading.Event) -> Result:
    """Load upon load, until one has ended after the fault was over -> all of them as one;
    of the percentiles the worst."""
    results: list[Result] = []
    while not (results and over.is_set()):
        results.append(Load(port, CONNECTIONS, FIELDS, arrivals(rate, SECONDS, len(results) + 1)).result())
    totals = {name: sum(getattr(result, name) for result in results) for name in ("requests", "failed")}
    return Result(**{field.name: max(getattr(result, field.name) for result in results) for field in fields(Result)}
                  | totals)


def suffer(scene: Scene, name: str, fault: Callable[[Scene], None], rate: float) -> int:
    """Load with a fault in it; prints its row. Returns how many requests failed."""
    retries, moved = scene.balancer.total("wretr"), scene.balancer.total("wredis")
    over = threading.Event()
    with ThreadPoolExecutor(1) as sender:
        sent = sender.submit(send, scene.balancer.port, rate, over)
        try:
            time.sleep(SECONDS / 5)
            began = time.monotonic()
            fault(scene)
            lasted = time.monotonic() - began
        finally:
            over.set()
    result = sent.result()
    retries, moved = scene.balancer.total("wretr") - retries, scene.balancer.total("wredis") - moved
    print_row(name, result, retries, moved, lasted)
    return result.failed


def print_row(name: str, result: Result, retries: int, moved: int, lasted: float) -> None:
    print(f"{name:<16} {result.requests:>9} {result.failed:>9} {result.p50_ms:>9.1f} {result.p99_ms:>9.1f} "
          f"{result.max_ms:>9.1f}"
          f" {retries:>9} {moved:>9} {lasted:>9.1f}", flush=True)


def run() -> int:
    replicas = [Replica(f"replica{i + 1}", "--model", MODEL, "--workers", "1", "--client-header", "X-Forwarded-For",
                        *UNHURRIED) for i in range(REPLICAS)]
    for replica in replicas:
        replica.start()
    scene = Scene(replicas, Balancer(replicas))
    best = Load(scene.balancer.port, 4 * REPLICAS, FIELDS, draws(CAPACITY_REQUESTS, 0)).result()
    rate = LOAD * best.rate
    print(f"{REPLICAS} replicas answer {best.rate:.0f} requests a second; sent are {rate:.0f} a second, {FIELDS}")
    names = ("requests", "failed", "p50 ms", "p99 ms", "max ms", "retries", "elsewhere", "lasted s")
    print(f"{'fault':<16}" + "".join(f" {name:>9}" for name in names))
    failed = best.failed + sum(suffer(scene, name, fault, rate) for name, fault in FAULTS)
    scene.balancer.end()
    scene.balancer = Balancer(replicas, "random(2)")
    failed += suffer(scene, "canary, 1 in 10", canary, rate)
    scene.balancer.end()
    if any([replica.end(signal.SIGTERM) for replica in scene.replicas]):
        raise RuntimeError("a replica did not end cleanly")
    print("no client saw an error" if failed == 0 else f"{failed} requests failed")
    return int(failed > 0)


def main() -> int:
    try:
        return run()
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
