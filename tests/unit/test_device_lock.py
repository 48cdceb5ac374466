"""The lock of a device: one file for all workers of the machine, whatever lies in its place."""

import fcntl
import os
import pwd
import re
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from roofscope.profiling import paths
from roofscope.profiling.devices import device_lock
from roofscope.profiling.devices.device_lock import DeviceBusy, lock_device, lock_when_free, why_busy
from roofscope.profiling.paths import LOCKS, lock_folder
from roofscope.tests.children import python

HOLD = """
import sys
from roofscope.profiling.devices.device_lock import DeviceBusy, lock_device
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


def test_the_locks_lie_in_one_fixed_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROOFSCOPE_LOCKS")
    before = lock_folder()
    assert before in LOCKS
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert lock_folder() == before


def test_all_users_come_to_the_same_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Root may write to the first two here; another user could not."""
    folders = [tmp_path / name for name in ("roots", "without_sticky", "everybodys", "last")]
    for folder, mode in zip(folders, (0o755, 0o777, 0o1777, 0o1777), strict=True):
        folder.mkdir()
        folder.chmod(mode)
    monkeypatch.delenv("ROOFSCOPE_LOCKS")
    monkeypatch.setattr(paths, "LOCKS", (tmp_path / "absent", *folders))
    assert lock_folder() == tmp_path / "everybodys"


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
        user = pwd.getpwuid(os.getuid()).pw_name
        assert re.fullmatch(
            rf"Another Roofscope is measuring on a GPU \(process {holder.pid} of {user}, since \d\d:\d\d\); "
            "wait until it is done, or stop it there.\n",
            refused.stderr,
        )
        holder.communicate()
    lock_device("GPU-1", "a GPU").close()


def test_a_worker_waits_for_the_one_before_it_but_not_for_ever(locks: Path) -> None:
    before = lock_device("GPU-1", "a GPU")
    with pytest.raises(DeviceBusy):
        lock_when_free("GPU-1", "a GPU", within_s=0.0)
    threading.Timer(0.2, before.close).start()
    lock_when_free("GPU-1", "a GPU", within_s=60.0).close()


def test_devices_do_not_wait_for_each_other(locks: Path) -> None:
    with (
        lock_device("GPU-1", "a GPU"),
        lock_device("GPU-2", "another"),
        pytest.raises(DeviceBusy, match="measuring on a GPU"),
    ):
        lock_device("GPU-1", "a GPU")
    assert len(list(locks.iterdir())) == 2


def test_who_holds_it_is_the_kernels_word_and_not_the_files(
    locks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any user may write the file: a lie in it, or a sequence for the terminal, must not be repeated."""
    kernels_list = locks.parent / "locks"
    monkeypatch.setattr(device_lock, "_KERNELS_LIST", kernels_list)
    with lock_device("GPU-1", "a GPU"):
        [path] = locks.iterdir()
        file = path.stat()
        kernels_list.write_text(
            f"1: POSIX  ADVISORY  WRITE 17 00:01:{file.st_ino} 0 EOF\n"
            f"2: FLOCK  ADVISORY  WRITE {os.getpid()} "
            f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino} 0 EOF\n"
        )
        path.write_text('{"pid":1,"uid":0,"since_s":0}')
        assert f"(process {os.getpid()} of " in why_busy("GPU-1", "a GPU")
        path.write_text("\x1b[31m" * 1000)
        assert f"(process {os.getpid()} of " in why_busy("GPU-1", "a GPU")
        kernels_list.unlink()  # a container may hide it
        assert "measuring on a GPU; wait" in why_busy("GPU-1", "a GPU")
        path.write_text('{"pid":4711,"uid":4294967294,"since_s":1e300}')
        assert "measuring on a GPU; wait" in why_busy("GPU-1", "a GPU")
    assert why_busy("GPU-1", "a GPU") == ""


def test_no_child_holds_the_lock(locks: Path) -> None:
    ready, tell = os.pipe()
    held = lock_device("GPU-1", "a GPU")
    assert not os.get_inheritable(held._descriptor or -1)
    forked = os.fork()
    if forked == 0:
        os.write(tell, b".")
        signal.pause()
        os._exit(0)
    with subprocess.Popen(
        ["sh", "-c", "echo; exec sleep 600"], close_fds=False, stdout=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        run.stdout.readline()
        os.read(ready, 1)
        try:
            assert why_busy("GPU-1", "a GPU")
            held.close()
            assert why_busy("GPU-1", "a GPU") == ""
        finally:
            run.kill()
            os.kill(forked, signal.SIGKILL)
            os.waitpid(forked, 0)
    os.close(ready)
    os.close(tell)


def test_a_lock_whose_file_was_removed_is_taken_anew(locks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else two would hold two files of one name."""
    path = lock_file(locks)
    lock = fcntl.flock

    def remove_meanwhile(descriptor: int, operation: int) -> None:
        if path.exists() and os.fstat(descriptor).st_ino == first:
            path.unlink()
        lock(descriptor, operation)

    first = path.stat().st_ino
    keep = path.open()  # so that its inode's number is not used again
    monkeypatch.setattr(device_lock.fcntl, "flock", remove_meanwhile)
    with lock_device("GPU-1", "a GPU"), keep:
        monkeypatch.undo()
        monkeypatch.setenv("ROOFSCOPE_LOCKS", str(locks))
        assert path.stat().st_ino != first
        assert why_busy("GPU-1", "a GPU")


def test_a_file_that_may_only_be_read_locks_as_well(locks: Path) -> None:
    path = lock_file(locks)
    path.chmod(0o444)
    with lock_device("GPU-1", "a GPU"):
        assert why_busy("GPU-1", "a GPU")


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
    with pytest.raises(OSError, match=r"\(Too many levels of symbolic links\); remove it\.$"):
        why_busy("GPU-1", "a GPU")
    assert not (tmp_path / "victim").exists()


def test_a_pipe_in_its_place_stops_nobody_for_ever(locks: Path) -> None:
    path = lock_file(locks)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(OSError, match="is no plain file; remove it"):
        lock_device("GPU-1", "a GPU")


def test_neither_does_a_folder(locks: Path) -> None:
    path = lock_file(locks)
    path.unlink()
    path.mkdir()
    with pytest.raises(OSError, match=r"cannot be opened|is no plain file"):
        lock_device("GPU-1", "a GPU")


def test_a_folder_that_is_not_there_is_what_the_user_must_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOFSCOPE_LOCKS", str(tmp_path / "absent"))
    with pytest.raises(OSError, match=r"\(No such file or directory\); make its folder .*absent, for all"):
        lock_device("GPU-1", "a GPU")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as two users")
def test_another_user_finds_the_same_lock_and_who_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = 65534

    def as_nobody() -> str:
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            os.setuid(nobody)
            os.write(send, why_busy("GPU-1", "a GPU").encode() or b"free")
            os._exit(0)
        os.waitpid(child, 0)
        os.close(send)
        with os.fdopen(receive) as said:
            return said.read()

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        Path(folder).chmod(0o1777)
        monkeypatch.setenv("ROOFSCOPE_LOCKS", folder)
        before = os.umask(0o077)
        try:
            with lock_device("GPU-1", "a GPU"):
                assert f"(process {os.getpid()} of root, since " in as_nobody()
        finally:
            os.umask(before)
        assert as_nobody() == "free"
        with lock_device("GPU-1", "a GPU"):  # whose file another user has written meanwhile
            assert "of root" in as_nobody()
