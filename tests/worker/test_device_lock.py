"""The lock of a device: one file for all workers of the machine, whatever lies in its place."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from roofscope.profiling.paths import LOCKS, lock_folder
from roofscope.profiling.worker.device_lock import DeviceBusy, lock_device
from roofscope.tests.children import python

HOLD = """
import sys
from roofscope.profiling.worker.device_lock import DeviceBusy, lock_device
try:
    handle = lock_device("GPU-1", "a GPU")
except DeviceBusy as error:
    sys.exit(str(error))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROOFSCOPE_LOCKS", str(tmp_path))
    return tmp_path


def lock_file(locks: Path) -> Path:
    lock_device("GPU-1", "a GPU").close()
    [path] = locks.iterdir()
    return path


def test_the_locks_lie_in_one_fixed_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ROOFSCOPE_LOCKS")
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert lock_folder() == LOCKS == Path("/tmp")


def test_two_workers_with_two_temporary_folders_share_one_lock(locks: Path, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    first, second = ({**os.environ, "TMPDIR": str(folder)} for folder in folders)
    with subprocess.Popen(
        python(HOLD), env=first, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        refused = subprocess.run(
            python(HOLD), env=second, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        assert refused.stderr == (
            "Another Roofscope is measuring on a GPU; wait until it is done, or stop it there.\n"
        )
        holder.communicate()
    lock_device("GPU-1", "a GPU").close()


def test_devices_do_not_wait_for_each_other(locks: Path) -> None:
    with (
        lock_device("GPU-1", "a GPU"),
        lock_device("GPU-2", "another"),
        pytest.raises(DeviceBusy, match="measuring on a GPU"),
    ):
        lock_device("GPU-1", "a GPU")
    assert len(list(locks.iterdir())) == 2


def test_any_user_may_use_the_file_whatever_the_umask(locks: Path) -> None:
    before = os.umask(0o077)
    try:
        path = lock_file(locks)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o666


def test_a_link_is_not_followed(locks: Path, tmp_path: Path) -> None:
    path = lock_file(locks)
    path.unlink()
    path.symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="cannot be opened"):
        lock_device("GPU-1", "a GPU")
    assert not (tmp_path / "victim").exists()


def test_a_pipe_in_its_place_stops_nobody_for_ever(locks: Path) -> None:
    path = lock_file(locks)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(OSError, match="is no plain file; remove it"):
        lock_device("GPU-1", "a GPU")
