"""What Linux counts of the time that processes wait for a core."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from roofscope.profiling.process_tree import below
from roofscope.profiling.supervision import core_waits
from roofscope.profiling.supervision.core_waits import CoreWaits

CHAIN = "import subprocess; subprocess.Popen(['sleep', '600']).wait()"


def test_all_below_a_process_are_found() -> None:
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        pytest.skip("this Linux keeps no lists of children")
    with subprocess.Popen([sys.executable, "-c", CHAIN]) as process:
        until = time.monotonic() + 60
        while not (found := below(process.pid)):
            assert time.monotonic() < until
        assert process.pid in below(os.getpid())
        os.kill(found[0], 9)
    assert below(process.pid) == []


def test_the_one_that_waited_most_counts_since_the_last_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def waited(pid: int, seconds: float) -> None:
        (tmp_path / str(pid)).mkdir(exist_ok=True)
        (tmp_path / str(pid) / "schedstat").write_text(f"5000000000 {round(seconds * 1e9)} 77\n")

    def three(_pid: int) -> list[int]:
        return [7, 8, 9]

    monkeypatch.setattr(core_waits, "_PROC", tmp_path)
    monkeypatch.setattr(core_waits, "below", three)
    waited(7, 1.0)
    waited(8, 100.0)
    waits = CoreWaits(5, now=50.0)
    waited(7, 3.0)
    waited(8, 100.5)
    assert waits.since_last(now=50.5) == 0.0  # it has just looked
    assert waits.since_last(now=60.0) == pytest.approx(2.0)
    waited(7, 3.25)
    waited(9, 0.5)  # started meanwhile
    assert waits.since_last(now=62.0) == pytest.approx(0.5)
    waited(7, 99.0)
    assert waits.since_last(now=65.0) == pytest.approx(3.0)  # no longer than the time
