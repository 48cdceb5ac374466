"""Feeds a target many inputs, in a process that may crash, and says what came of them."""

import argparse
import collections
import faulthandler
import itertools
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from roofscope.profiling.paths import module_command

LIMIT_S = 5.0
DIFFERENT = "read differently"
_SHOWN = 12


class TooSlow(BaseException):
    """An input took longer than LIMIT_S. No handler of the program's catches it."""


class Tally(Struct):
    """Of one target. Findings are the kinds, each with how often and the seed of the first."""

    name: str
    inputs: int = 0
    unnamed: int = 0
    crashes: int = 0
    slow: int = 0
    wrong: int = 0
    slowest_s: float = 0.0
    findings: dict[str, tuple[int, str]] = {}

    def found(self, kind: str, seed: str) -> None:
        count, first = self.findings.get(kind, (0, seed))
        self.findings[kind] = (count + 1, first)

    def add(self, other: "Tally") -> None:
        for field in ("inputs", "unnamed", "crashes", "slow", "wrong"):
            setattr(self, field, getattr(self, field) + getattr(other, field))
        self.slowest_s = max(self.slowest_s, other.slowest_s)
        for kind, (count, seed) in other.findings.items():
            mine, first = self.findings.get(kind, (0, seed))
            self.findings[kind] = (mine + count, first)

    @property
    def is_clean(self) -> bool:
        return not (self.unnamed or self.crashes or self.slow)

    @property
    def different(self) -> int:
        """Of those that ended in a wrong value: files that read with other figures, without a word."""
        return self.findings.get(DIFFERENT, (0, ""))[0]


def run_one(
    make: Callable[[random.Random], object], feed: Callable[[object], str], seed: str, tally: Tally
) -> None:
    """One input. The seed alone makes it again."""
    began = time.monotonic()
    tally.inputs += 1
    try:
        given = make(random.Random(seed))
        began = time.monotonic()
        with _limited():
            wrong = feed(given)
    except TooSlow:
        tally.slow += 1
        tally.found("over 5 s", seed)
    except Exception as error:  # noqa: BLE001 - which is what is looked for
        tally.unnamed += 1
        tally.found(_kind(error), seed)
    else:
        if wrong:
            tally.wrong += 1
            tally.found(wrong[:60], seed)
    tally.slowest_s = max(tally.slowest_s, time.monotonic() - began)


@contextmanager
def _limited() -> Iterator[None]:
    def late(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, late)  # pytest's own time limit is such a timer too
    left_s, _ = signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left_s)
        signal.signal(signal.SIGALRM, before)


def _kind(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/tests/fuzz/" not in frame.filename] or frames
    place = f"{Path(own[-1].filename).name}:{own[-1].lineno}"
    ours = [
        frame
        for frame in own
        if "site-packages" not in frame.filename and "/lib/python" not in frame.filename
    ]
    if ours and ours[-1] is not own[-1]:
        place += f" from {Path(ours[-1].filename).name}:{ours[-1].lineno}"
    return f"{type(error).__name__} at {place}: {str(error)[:80]!r}"


def in_shards(name: str, seed: int, first: int, count: int, seconds: float, processes: int) -> Tally:
    """The same inputs in so many child processes at once, each with a stretch of them."""
    ends = [first + count * shard // processes for shard in range(processes + 1)]
    stretches = [(start, end - start) for start, end in itertools.pairwise(ends) if end > start]
    total = Tally(name)
    with ThreadPoolExecutor(processes) as pool:
        for part in pool.map(lambda stretch: in_processes(name, seed, *stretch, seconds), stretches):
            total.add(part)
    return total


def _last_line(errors: IO[bytes]) -> str:
    """What a process said as it died: a module that is missing on this machine is no crash of the program."""
    errors.seek(0)
    lines = [line.strip() for line in errors.read().decode("utf-8", "replace").splitlines() if line.strip()]
    telling = [line for line in lines if "rror" in line] or lines
    return f": {telling[-1][:120]}" if telling else ""


def in_processes(name: str, seed: int, first: int, count: int, seconds: float) -> Tally:
    """Inputs ``first`` to ``first + count`` in child processes: one that crashes costs one input."""
    total, deadline = Tally(name), time.monotonic() + seconds
    at = first
    while at < first + count and (left_s := deadline - time.monotonic()) > 0:
        words = [name, "--seed", str(seed), "--first", str(at), "--inputs", str(first + count - at)]
        with tempfile.TemporaryFile() as errors:
            child = subprocess.Popen(
                [*module_command("roofscope.tests.fuzz.runner"), *words, "--seconds", str(left_s)],
                stdout=subprocess.PIPE,
                stderr=errors,
            )
            assert child.stdout is not None
            last = Tally(name)
            for line in child.stdout:
                if line.startswith(b"{"):
                    last = msgspec.json.decode(line, type=Tally)
            code = child.wait()
            said = _last_line(errors) if code else ""
        at += last.inputs
        if code:  # what died was the one after the last it said of
            last.crashes += 1
            last.inputs += 1
            last.found(f"the process ended with {code}{said}", f"{seed}:{name}:{at}")
            at += 1
        total.add(last)
    return total


def table(tallies: Sequence[Tally], *, with_findings: bool = True) -> str:
    heads = f"{'target':<16}{'inputs':>8}{'unnamed':>9}{'crashes':>9}{'> 5 s':>7}"
    lines = [f"{heads}{'differing':>11}{'else wrong':>12}{'slowest':>10}"]
    for tally in tallies:
        lines.append(
            f"{tally.name:<16}{tally.inputs:>8}{tally.unnamed:>9}{tally.crashes:>9}{tally.slow:>7}"
            f"{tally.different:>11}{tally.wrong - tally.different:>12}{tally.slowest_s:>8.2f} s"
        )
        by_count = collections.Counter({kind: count for kind, (count, _) in tally.findings.items()})
        for kind, count in by_count.most_common(_SHOWN if with_findings else 0):
            lines.append(f"    {count:>6} x {kind}   [{tally.findings[kind][1]}]")
    return "\n".join(lines)


def main() -> None:
    """The child: one target. Tells its tally now and then, so that a crash loses little."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--inputs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1e9)
    given = parser.parse_args()
    faulthandler.enable()
    from roofscope.tests.fuzz.window import all_targets

    target = all_targets()[given.target]
    target.feed(target.make(random.Random(0)))  # what is imported and made once counts for no input
    tally, deadline = Tally(given.target), time.monotonic() + given.seconds
    for number in range(given.first, given.first + given.inputs):
        if time.monotonic() > deadline:
            break
        run_one(target.make, target.feed, f"{given.seed}:{given.target}:{number}", tally)
        sys.stdout.buffer.write(msgspec.json.encode(tally) + b"\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
