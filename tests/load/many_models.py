#!/usr/bin/env python3
"""A hundred models in one daemon under random load: nothing but the answers promised,
and memory that stays where it is.

usage: tests/load/many_models.py ALIGND [--seconds 20] [--models 100] [--fit 12] [--clients 8] [--seed 1]

Folders are copies of a golden model under other names and languages, every second one with its weights packed (alignd
pack). --fit: so many of them fit into --model-memory, so that most requests meet a model that is not in memory; idle
ones are unloaded, too, and now and then the models are reloaded, one is taken out and put back. Clients ask for random
models by name and by language; one in ten asks for something that does not exist. Exit status 0: only 200, 503 with its
reason, 429 and 504, 400 where one was asked for; resident memory in the last third at most 8 MiB above that of the
second.
"""
import argparse
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[2] / "tests/golden/luong-general-gru"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SLACK_KB = 8 * 1024


def pack(program: str, folder: Path, model: Path, compute: str) -> list[Path]:
    """A copy of the model in the folder, packed if the processor's products have packed weights: what was made."""
    folder.mkdir()
    for file in model.iterdir():
        (folder / file.name).symlink_to(file)
    subprocess.run([program, "pack", "--model", str(folder), "--compute", compute], capture_output=True)
    return list(folder.glob("packed-*"))


def make_folders(program: str, top: Path, count: int, model: Path = GOLDEN, compute: str = "float32",
                 packed_each: int = 2) -> None:
    """Of links to the model's files, under other names and languages; one of packed_each with its weights packed."""
    config = json.loads((model / "config.json").read_text())
    packed = pack(program, top.parent / "packed", model, compute)
    for i in range(count):
        folder = top / f"m{i:03d}"
        folder.mkdir()
        for file in [*model.iterdir(), *(packed if (i + 1) % packed_each == 0 else [])]:
            if file.name != "config.json":
                (folder / file.name).symlink_to(file)
        config |= {"name": folder.name, "source": "en", "target": "x" + LETTERS[i // 26] + LETTERS[i % 26]}
        (folder / "config.json").write_text(json.dumps(config))


class Daemon:
    def __init__(self, program: str, models: Path, arguments: list[str]):
        self.door = str(models.parent / "door")
        self.log = open(models.parent / "log", "w+")
        self.process = subprocess.Popen([program, "--models", str(models), "--listen", "127.0.0.1:0", "--admin-listen",
                                         "unix:" + self.door, "--log-level", "info", *arguments], stderr=self.log)
        while (not (found := re.search(r"event=listening address=127.0.0.1:(\d+)", self.text()))
               or "event=ready" not in self.text()):
            time.sleep(0.01)
        self.port = int(found[1])

    def text(self) -> str:
        with open(self.log.name) as log:
            return log.read()

    def resident_kb(self) -> int:
        return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())[1])

    def metric(self, name: str) -> float:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/metrics")
        return float(re.search(rf"^alignd_{re.escape(name)} (\S+)$", connection.getresponse().read().decode(), re.M)[1])

    def administer(self, method: str, path: str, body: str | None = None) -> int:
        connection = http.client.HTTPConnection("localhost", timeout=60)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self.door)
        connection.request(method, path, body)
        return connection.getresponse().status


class Load:
    def __init__(self, daemon: Daemon, models: int, until: float):
        self.daemon, self.models, self.until = daemon, models, until
        self.seen: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.out: set[int] = set()  # models that are being taken out and put back
        self.lock = threading.Lock()

    def ask(self, chance: random.Random, connection: http.client.HTTPConnection) -> None:
        i = chance.randrange(self.models)
        language = "x" + LETTERS[i // 26] + LETTERS[i % 26]
        unknown = chance.random() < 0.1
        body = {"text": "A boy plays in the snow."} | ({"model": "none"} if unknown else chance.choice(
            [{"model": f"m{i:03d}"}, {"source": "en-GB", "target": language},
             {"source": "en", "target": language, "strategy": "greedy"}]))
        changing = i in self.out
        connection.request("POST", "/translate", json.dumps(body))
        response = connection.getresponse()
        text = response.read().decode()
        allowed = {400} if unknown else {200, 429, 503, 504} | ({400} if changing or i in self.out else set())
        with self.lock:
            self.seen[str(response.status)] += 1
            if response.status not in allowed or (response.status == 503 and "cannot be loaded" not in text):
                self.wrong.append(f"{response.status} {body} {text[:200]}")

    def run_client(self, seed: int) -> None:
        chance = random.Random(seed)
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=60)
        while time.monotonic() < self.until:
            try:
                self.ask(chance, connection)
            except OSError as error:
                with self.lock:
                    self.wrong.append(f"lost: {error}")
                connection.close()

    def change(self, chance: random.Random, top: Path) -> None:
        i = chance.randrange(self.models)
        self.out.add(i)
        self.daemon.administer("DELETE", f"/models/m{i:03d}")
        self.daemon.administer("POST", "/models", json.dumps({"folder": str(top / f"m{i:03d}")}))
        if chance.random() < 0.3:
            self.daemon.administer("POST", "/models/reload")
            self.out.clear()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("alignd")
    for name, value in (("seconds", 20), ("models", 100), ("fit", 12), ("clients", 8), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "models"
        top.mkdir()
        make_folders(options.alignd, top, options.models)
        first = Daemon(options.alignd, top, ["--workers", "2"])
        print(f"{options.models} models: {first.resident_kb() / 1024:.1f} MiB resident while all are cold")
        for i in range(min(50, options.models)):
            connection = http.client.HTTPConnection("127.0.0.1", first.port, timeout=60)
            connection.request("POST", "/translate", json.dumps({"text": "x", "model": f"m{i:03d}"}))
            connection.getresponse().read()
        each = first.metric("models_bytes") / min(50, options.models)
        print(f"{min(50, options.models)} loaded: {first.resident_kb() / 1024:.1f} MiB; each counted as "
              f"{each / 2**20:.2f} MiB")
        first.process.send_signal(signal.SIGTERM)
        assert first.process.wait() == 0
        daemon = Daemon(options.alignd, top, ["--workers", "2", "--model-memory", str(int(each * options.fit)),
                                              "--idle-unload-s", "1"])
        load = Load(daemon, options.models, time.monotonic() + options.seconds)
        clients = [threading.Thread(target=load.run_client, args=(options.seed + i,)) for i in range(options.clients)]
        for client in clients:
            client.start()
        chance, resident = random.Random(options.seed), []
        while time.monotonic() < load.until:
            load.change(chance, top)
            time.sleep(0.5)
            resident.append(daemon.resident_kb())
        for client in clients:
            client.join()
        third = len(resident) // 3
        before, after = max(resident[third:2 * third]), max(resident[2 * third:])
        loads = daemon.metric('model_loads_total{result="success"}')
        print(f"{sum(load.seen.values())} requests: {dict(load.seen)}; loads {loads:.0f}, unloads "
              f"{daemon.metric('model_unloads_total'):.0f}")
        print(f"resident, the most in each third: {max(resident[:third]) / 1024:.1f}, {before / 1024:.1f}, "
              f"{after / 1024:.1f} MiB")
        time.sleep(3)
        print(f"all idle ones unloaded: {daemon.resident_kb() / 1024:.1f} MiB, {daemon.metric('models_bytes'):.0f} "
              f"bytes of models")
        daemon.process.send_signal(signal.SIGTERM)
        status = daemon.process.wait()
        for line in load.wrong[:10]:
            print("wrong:", line)
        flat = after <= before + SLACK_KB
        print("clean" if not load.wrong and flat and status == 0
              else f"NOT CLEAN: {len(load.wrong)} wrong, flat {flat}, exit status {status}")
        return 0 if not load.wrong and flat and status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
