"""Latency predicted and measured: python3 tests/scale/queueing.py (make check-queueing)

One daemon with one worker meets requests at random moments (Poisson), at shares of the rate that it answers at best.
How long they take is predicted in two ways, and measured; the program fails where the simulation is wrong about a mean
by more than QUEUEING_TOLERANCE (0.2).

What is predicted from was measured before, with other loads: each sentence alone (steps, time), and the rate, the steps
and their duration with 1, 2, 3 ... requests kept under way (closed loop). Nothing is fitted to what is predicted. All
of it is processor time of the worker's thread. What other programs take of the machine meanwhile is the slowdown, 1
where it is idle: Linux counts how long a thread stood ready without a processor (/proc/PID/task/TID/schedstat).

  formula      Requests under way share the worker, whose rate x(n) depends on their number n: by the closed loop. Of
  such a queue with
               Poisson arrivals of rate a, p(n) = p(0) product a / x(i), whatever the distribution of the lengths
               (insensitivity of processor sharing: Kelly, Reversibility and Stochastic Networks, 1979, chapter 3); the
               mean time is sum n p(n) / a (Little).
  simulation   The worker's rounds (server/decode/worker.c) with the very requests that were sent: who has come is
  admitted (gathered while 16
               rows are live: model/batch.c), all who are live advance by a step, who has done all steps leaves. Gives
               percentiles, too.

QUEUEING_SECONDS (8) for each load, QUEUEING_SEED (1), SCALE_FIELDS: what requests ask besides their text."""

from __future__ import annotations

import bisect
import json
import math
import os
import statistics
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from replica import Load, Replica, Result, arrivals, draws, parameter, sentences, with_daemon

FIELDS = os.environ.get("SCALE_FIELDS") or '"strategy":"beam"'
SECONDS = parameter("QUEUEING_SECONDS", 8)
SEED = int(parameter("QUEUEING_SEED", 1))
TOLERANCE = parameter("QUEUEING_TOLERANCE", 0.2)
LOADS = (0.30, 0.50, 0.70, 0.85)
CLOSED = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
CLOSED_SECONDS, CONNECTIONS = 1.0, 512
GATHER_ROWS, GATHER_STEPS = 16, 4  # model/batch.c


@dataclass
class Curve:
    """A quantity measured at some numbers n; a line between them, constant beyond."""

    at: list[float]
    values: list[float]

    def __call__(self, n: float) -> float:
        right = bisect.bisect_left(self.at, n)
        if right == 0 or right == len(self.at):
            return self.values[min(right, len(self.at) - 1)]
        share = (n - self.at[right - 1]) / (self.at[right] - self.at[right - 1])
        return self.values[right - 1] + share * (self.values[right] - self.values[right - 1])


@dataclass
class Worker:
    """What was measured of it. Seconds of its processor time; n counts sentences under way or, in a step, live."""

    steps: dict[str, int]  # of each sentence
    rate: Curve  # answers a second of processor time with n requests kept under way
    step: Curve  # a step with n live sentences
    rows: float  # of a live sentence
    admission: Curve  # of one sentence, where n are live: its encoding, and what else it costs the worker
    overhead: float  # of a request on its way to the worker and back, of the clock
    slowdown: float  # mean, while this was measured

    def best(self) -> float:
        """Answers a second of the clock."""
        return max(self.rate.values) / self.slowdown


# ---- measured beforehand ----


@dataclass
class Closed:
    """The daemon with so many requests kept under way; seconds of the worker's processor time."""

    slowdown: float
    rate: float  # answers a second
    latency: float  # mean, of the clock
    live: float  # sentences in a step, mean
    rows: float  # the same of rows
    step: float  # that a step takes
    rest: float  # a request, beside steps (times without work included)


T = TypeVar("T")


def observed(daemon: Replica, action: Callable[[], T]) -> tuple[T, float]:
    """What it returns, and the worker's slowdown meanwhile:
    the factor by which other programs made everything take longer."""
    run, waited = daemon.processor()
    outcome = action()
    run_after, waited_after = daemon.processor()
    return outcome, 1 + (waited_after - waited) / (run_after - run)


def measure_closed(daemon: Replica, connections: int, count: int, steps: dict[str, int]) -> Closed:
    texts = draws(count, connections)
    before = daemon.metrics()
    result, slowdown = observed(daemon, lambda: Load(daemon.port, connections, FIELDS, texts).result())
    after = daemon.metrics()
    delta = {name: after[name] - before[name] for name in after if name in before}
    rounds, stepping = delta["alignd_step_duration_seconds_count"], delta["alignd_step_duration_seconds_sum"] / slowdown
    return Closed(
        slowdown=slowdown,
        rate=result.rate,
        latency=result.mean_ms / 1000,
        live=sum(steps[text] for text in texts) / rounds,
        rows=delta["alignd_step_rows_sum"] / rounds,
        step=stepping / rounds,
        rest=1 / result.rate / slowdown - stepping / len(texts),
    )


def ask_alone(daemon: Replica) -> list[dict]:
    """The timing of each sentence when nothing else is under way."""
    fields = {**json.loads("{%s}" % FIELDS), "include": ["timing"], "split_sentences": False}
    replies = [daemon.translate(text, **fields) for text in sentences()]
    return [reply["translations"][0]["sentences"][0]["timing"] for reply in replies]


def measure(daemon: Replica) -> Worker:
    timings, slowdown = observed(daemon, lambda: ask_alone(daemon))
    steps = {text: timing["steps"] for text, timing in zip(sentences(), timings)}
    alone = statistics.mean(timing["decode_ms"] for timing in timings) / 1000 / slowdown
    closed: list[Closed] = []
    for connections in CLOSED:
        count = int((closed[-1].rate if closed else 1 / alone) * CLOSED_SECONDS)
        closed.append(measure_closed(daemon, connections, count, steps))
    # With fewer it may be idle.
    one, busy = closed[0], [point for connections, point in zip(CLOSED, closed) if connections >= 3]
    encoding = max(0.0, alone - statistics.mean(steps.values()) * one.step)
    return Worker(
        steps=steps,
        rate=Curve(list(CLOSED), [point.rate * point.slowdown for point in closed]),
        step=Curve([point.live for point in closed], [point.step for point in closed]),
        rows=statistics.median(point.rows / point.live for point in busy),
        admission=Curve([1] + [point.live for point in busy], [encoding] + [point.rest for point in busy]),
        overhead=max(0.0, one.latency - one.slowdown * alone),
        slowdown=statistics.mean(point.slowdown for point in closed),
    )


# ---- predicted ----


def formula(worker: Worker, rate: float, slowdown: float) -> float:
    """Mean time, seconds; rate: requests a second. More than were measured under way are answered at the best rate."""
    best = max(worker.rate.values)
    if rate * slowdown >= best:
        return math.inf
    weight, total, under_way, n = 1.0, 1.0, 0.0, 0
    while weight > 1e-12 * total:
        n += 1
        weight *= rate * slowdown / (worker.rate(n) if n < CLOSED[-1] else best)
        total += weight
        under_way += n * weight
    return under_way / total / rate


@dataclass
class Live:
    """A sentence being decoded."""

    due: float
    left: int  # steps


def simulate(worker: Worker, requests: list[tuple[float, str]], slowdown: float) -> list[float]:
    """Each request's time, seconds, in ascending order."""
    waiting, live, times = deque(Live(due, worker.steps[text]) for due, text in requests), [], []
    now, since_admission = 0.0, 0
    while waiting or live:
        if not live:
            now = max(now, waiting[0].due)
        if len(live) * worker.rows < GATHER_ROWS or since_admission >= GATHER_STEPS:
            come = bisect.bisect_right(waiting, now, key=lambda request: request.due)
            live += [waiting.popleft() for _ in range(come)]
            now += come * worker.admission(len(live)) * slowdown
            since_admission = 0 if come else since_admission
        now += worker.step(len(live)) * slowdown
        since_admission += 1
        for sentence in live:
            sentence.left -= 1
        times += [now - sentence.due + worker.overhead for sentence in live if sentence.left == 0]
        live = [sentence for sentence in live if sentence.left > 0]
    return sorted(times)


# ---- compared ----


def percentile(times: list[float], share: float) -> float:
    return times[int((len(times) - 1) * share)]


def cell(predicted: float, measured: float) -> str:
    """Both seconds: predicted in ms, and by how much it is off."""
    return f"{1000 * predicted:7.2f} {100 * (predicted / measured - 1):+5.0f}%"


@dataclass
class Measured:
    """The daemon under a load."""

    share: float  # of the best rate
    requests: list[tuple[float, str]]
    rate: float  # of which these were drawn
    result: Result
    slowdown: float


def measure_load(daemon: Replica, worker: Worker, share: float) -> Measured:
    """A share of what it can answer at present: what other programs take may have changed since."""
    _, before = observed(daemon, lambda: Load(daemon.port, max(CLOSED), FIELDS, draws(int(worker.best() / 2), 0))
                         .result())
    rate = share * max(worker.rate.values) / before
    requests = arrivals(rate, SECONDS, SEED)
    result, slowdown = observed(daemon, lambda: Load(daemon.port, CONNECTIONS, FIELDS, requests).result())
    if result.failed:
        raise RuntimeError(f"{result.failed} requests failed")
    return Measured(share, requests, rate, result, slowdown)


def print_row(worker: Worker, load: Measured) -> bool:
    """True if the simulation is right about the mean."""
    mean, p95, p99 = (ms / 1000 for ms in (load.result.mean_ms, load.result.p95_ms, load.result.p99_ms))
    times = simulate(worker, load.requests, load.slowdown)
    simulated = statistics.mean(times)
    print(f"{100 * load.share:4.0f} {load.rate:6.0f} {load.slowdown:8.2f} | {1000 * mean:8.2f}  {cell(simulated, mean)}"
          f"  {cell(formula(worker, load.rate, load.slowdown), mean)} | {1000 * p95:8.2f}  "
          f"{cell(percentile(times, 0.95), p95)}"
          f" | {1000 * p99:8.2f}  {cell(percentile(times, 0.99), p99)}")
    return abs(simulated / mean - 1) <= TOLERANCE


def print_curve(what: str, curve: Curve, unit: float) -> None:
    print(f"{what:<40}" + " ".join(f"{n:.3g}:{value / unit:.3g}" for n, value in zip(curve.at, curve.values)))


def run(daemon: Replica) -> int:
    daemon.start()
    Load(daemon.port, 4, FIELDS, draws(50, 0)).result()
    worker = measure(daemon)
    loads = [measure_load(daemon, worker, share) for share in LOADS]
    print(f"{worker.best():.0f} answers a second at best, {statistics.mean(worker.steps.values()):.1f} steps each, "
          f"{1000 * worker.overhead:.2f} ms to the worker and back, slowdown {worker.slowdown:.2f}")
    print_curve("answers a second by number under way", worker.rate, 1)
    print_curve("ms a step by number of live sentences", worker.step, 1e-3)
    print_curve("ms a sentence beside steps", worker.admission, 1e-3)
    print(f"{'load':>4} {'rate/s':>6} {'slowdown':>8} | {'mean, ms':>8} {'simulation':>15} {'formula':>14} | "
          f"{'95%, ms':>8} {'simulation':>15}"
          f" | {'99%, ms':>8} {'simulation':>15}")
    wrong = sum(not print_row(worker, load) for load in loads)
    print(f"within {100 * TOLERANCE:.0f}% of the measured mean: {len(loads) - wrong} of {len(loads)}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(with_daemon(run))
