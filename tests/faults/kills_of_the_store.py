"""Kills a program that writes a session, at random and at each of its calls, and looks at what is left.

    python main.py -m roofscope.tests.faults.kills_of_the_store --random 250

Nothing that was acknowledged may be lost; every file must open in our reader, which may change nothing, and
can be added to afterwards. The calls are counted by a library that gcc makes (kill_at_call.c).
"""

import argparse
import ctypes
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec import Struct

from roofscope.profiling.paths import module_command
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.results.session_reader import SessionError, load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.tests.sessions import DEVICE, ENVIRONMENT, SPECS, make_session

POINTS = make_session().points[:8]
_PRELOADED = "ROOFSCOPE_KILLS_PRELOADED"
_WORST_S = 60


class Found(Struct):
    """What was left of one killed writer."""

    acknowledged: int
    is_there: bool
    problem: str = ""  # what must not be


def write(path: Path, acknowledge: Callable[[], None]) -> None:
    """What a run does to its session, from making the file to closing it."""
    with SessionStore.create(path, {"night": "1"}) as store:
        acknowledge()
        store.add_environment(ENVIRONMENT, DEVICE.id)
        for spec in SPECS[:2]:
            store.add_kernel(spec)
        for point in POINTS[:4]:
            store.add_outcome(point.job, point.implementation, point.outcome)
            acknowledge()
        store.add_sources(POINTS[0].implementation, [SourceFile("eager.py", "ab", "pass\n" * 3000)])
        store.add_kernel(SPECS[0])
        store.add_trace(POINTS[0].job, POINTS[0].implementation, bytes(20_000))
    with SessionStore.append(path) as store:
        for point in POINTS[4:]:
            store.add_outcome(point.job, point.implementation, point.outcome)
            acknowledge()


def kill(folder: Path, *, after_s: float | None = None, at_call: int = 0, half: bool = False) -> Found | None:
    """One writer, killed; None for one that came to its end first."""
    path = folder / "a.roofscope"
    end, start = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if at_call:
                ctypes.CDLL(None).kill_at(ctypes.c_long(at_call), int(half))
            write(path, lambda: os.write(start, b"."))
        finally:
            os._exit(0)
    os.close(start)
    acknowledged, deadline = 0, time.monotonic() + (_WORST_S if after_s is None else after_s)
    while (left_s := deadline - time.monotonic()) > 0:
        if not select.select([end], [], [], left_s)[0]:
            break
        if not (data := os.read(end, 100)):
            break
        acknowledged += len(data)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    while data := os.read(end, 100):
        acknowledged += len(data)
    os.close(end)
    return look(path, acknowledged) if os.WIFSIGNALED(status) else None


def look(path: Path, acknowledged: int) -> Found:
    """What is left, seen by our reader, and whether it can be added to."""
    if not path.exists():
        return Found(acknowledged, False, "the file is not there" if acknowledged else "")
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    try:
        session = load(path)
        if before != {file.name: file.read_bytes() for file in path.parent.iterdir()}:
            return Found(acknowledged, True, "reading changed a file")
        with SessionStore.append(path) as store:
            store.add_outcome(POINTS[0].job, POINTS[0].implementation, POINTS[0].outcome)
        again = load(path)
    except SessionError as error:
        return Found(acknowledged, True, str(error))
    if session.problems or again.problems:
        return Found(acknowledged, True, " ".join((*session.problems, *again.problems)))
    count = len(session.points)
    kept = [(point.job, point.outcome) for point in session.points]
    if (
        kept != [(point.job, point.outcome) for point in POINTS[:count]]
        or again.points[:-1] != session.points
    ):
        return Found(acknowledged, True, "other points than those written")
    if count not in (acknowledged - 1, acknowledged):  # the first word is of the file itself
        return Found(acknowledged, True, f"{acknowledged - 1} points acknowledged, {count} there")
    left = [file.name for file in path.parent.iterdir() if not file.name.endswith(".part")]
    return Found(acknowledged, True, "" if left == [path.name] else f"left beside it: {left}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=30, help="kills at random times")
    parser.add_argument("--calls", type=int, default=1, help="kill at every n-th call; 0 for none")
    parser.add_argument("--seed", type=int, default=17)
    options = parser.parse_args()
    if options.calls and _PRELOADED not in os.environ:
        return _again_with_the_library()
    results: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="roofscope-kills-") as folder:
        _kill_at_random(Path(folder), options.random, random.Random(options.seed), results)
        if options.calls:
            _kill_at_calls(Path(folder), options.calls, results)
    problems = {name: count for name, count in results.items() if name.startswith("problem")}
    for name, count in sorted(results.items()):
        sys.stdout.write(f"{count:6} {name}\n")
    sys.stdout.write(f"{sum(problems.values()):6} problems in {results['kills']} kills\n")
    return 1 if problems or not results["kills"] else 0


def _kill_at_random(folder: Path, count: int, dice: random.Random, results: Counter[str]) -> None:
    started = time.monotonic()
    _in_new_folder(folder, kill)
    whole_s = time.monotonic() - started
    while count > 0:
        found = _in_new_folder(folder, lambda at: kill(at, after_s=dice.uniform(0, whole_s)))
        count -= _note(found, "at random", results)


def _kill_at_calls(folder: Path, step: int, results: Counter[str]) -> None:
    """Before each call, and at each write by half of it, until the writer comes to its end."""
    for half in (False, True):
        number = 1
        while found := _in_new_folder(folder, partial(kill, at_call=number, half=half)):
            _note(found, "in mid-write" if half else "at a call", results)
            number += step
        results[f"calls of a whole run, {'halves' if half else 'whole'}"] = number - 1


def _in_new_folder(folder: Path, act: Callable[[Path], Found | None]) -> Found | None:
    at = Path(tempfile.mkdtemp(dir=folder))
    try:
        return act(at)
    finally:
        shutil.rmtree(at)


def _note(found: Found | None, kind: str, results: Counter[str]) -> int:
    if found is None:
        return 0
    results["kills"] += 1
    results[f"kills {kind}"] += 1
    results["points acknowledged" if found.acknowledged > 1 else "kills before the first point"] += max(
        1, found.acknowledged - 1
    )
    if not found.is_there:
        results["no file yet"] += 1
    if found.problem:
        results[f"problem: {found.problem.replace(os.sep, ' ')[-90:]}"] += 1
    return 1


def _again_with_the_library() -> int:
    source = Path(__file__).with_name("kill_at_call.c")
    with tempfile.TemporaryDirectory(prefix="roofscope-library-") as folder:
        library = Path(folder, "kill_at_call.so")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
        environment = {**os.environ, "LD_PRELOAD": str(library), _PRELOADED: "1"}
        command = [*module_command("roofscope.tests.faults.kills_of_the_store"), *sys.argv[1:]]
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
