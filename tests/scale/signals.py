"""What a scaler could look at, under rising load: python3 tests/scale/signals.py (make show-signals)

One daemon with one worker meets requests at random moments (Poisson), at shares of the rate at which it answered as
many as it could just before, beyond it in the end. Prints what it says of itself meanwhile, means of /metrics, and what
clients saw. "busy" is the time that the worker's thread ran or stood ready to; "slowdown" by how much other programs
stretched it (1: the machine was idle); "queued s" how long a sentence waited to be admitted.

SIGNALS_SECONDS (6) for each load, SCALE_FIELDS: what requests ask besides their text."""

from __future__ import annotations

import os
import statistics
import sys
import threading

from replica import Load, Replica, arrivals, draws, parameter, with_daemon

FIELDS = os.environ.get("SCALE_FIELDS") or '"strategy":"beam"'
SECONDS = parameter("SIGNALS_SECONDS", 6)
LOADS = (0.3, 0.5, 0.7, 0.85, 1.3)
BUSY, BUSY_REQUESTS, CONNECTIONS, PERIOD_S = 32, 320, 1024, 0.1
GAUGES = ("alignd_rows_live", "alignd_requests_in_flight", "alignd_queue_depth")


class Sampler(threading.Thread):
    """Reads /metrics again and again."""

    def __init__(self, daemon: Replica) -> None:
        super().__init__()
        self._daemon, self._stopped, self._samples = daemon, threading.Event(), list[dict[str, float]]()

    def run(self) -> None:
        while not self._stopped.wait(PERIOD_S):
            self._samples.append(self._daemon.metrics())

    def means(self) -> list[float]:
        """Of the gauges; ends the sampling."""
        self._stopped.set()
        self.join()
        return [statistics.mean(sample[name] for sample in self._samples) for name in GAUGES]


def print_row(daemon: Replica, share: float) -> None:
    rate = share * Load(daemon.port, BUSY, FIELDS, draws(BUSY_REQUESTS, 0)).result().rate
    sampler, before, (run, stood) = Sampler(daemon), daemon.metrics(), daemon.processor()
    load = Load(daemon.port, CONNECTIONS, FIELDS, arrivals(rate, SECONDS, 1))
    sampler.start()
    result = load.result()
    (rows, under_way, queued), after, (run_after, stood_after) = sampler.means(), daemon.metrics(), daemon.processor()
    seconds, ran, stood = result.requests / result.rate, run_after - run, stood_after - stood
    waited = (after["alignd_queue_duration_seconds_sum"]
              - before["alignd_queue_duration_seconds_sum"]) / result.requests
    print(f"{100 * share:4.0f} {rate:7.0f} {result.rate:9.0f} {result.failed:7} {1 + stood / ran:8.2f} | "
          f"{100 * (ran + stood) / seconds:6.0f}"
          f" {rows:9.1f} {under_way:9.1f} {queued:11.1f} {waited:8.3f} | {result.p50_ms:8.1f} {result.p99_ms:8.1f}",
          flush=True)


def run(daemon: Replica) -> int:
    daemon.start()
    print(f"{'load':>4} {'rate/s':>7} {'answers/s':>9} {'refused':>7} {'slowdown':>8} | {'busy %':>6} {'rows_live':>9} "
          f"{'in_flight':>9}"
          f" {'queue_depth':>11} {'queued s':>8} | {'p50 ms':>8} {'p99 ms':>8}")
    for share in LOADS:
        print_row(daemon, share)
    return 0


if __name__ == "__main__":
    sys.exit(with_daemon(run))
