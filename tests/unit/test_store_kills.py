"""A few kills of a program that writes a session; all of them: tests/faults/kills_of_the_store.py."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from roofscope.profiling.paths import module_command

KILLS = module_command("roofscope.tests.faults.kills_of_the_store")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="calls are counted by a preloaded library")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="which gcc makes")
def test_kills_lose_nothing_and_leave_files_that_open(tmp_path: Path) -> None:
    done = subprocess.run(
        [*KILLS, "--random", "10", "--calls", "37"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    *_, last = done.stdout.splitlines()
    problems, _, _, kills, _ = last.split()
    assert problems == "0"
    assert int(kills) > 25
