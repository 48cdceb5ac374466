"""An export replaces regular files only, each whole."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from roofscope.app.presentation.files import why_unwritable, write_file


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write_file(path, b"new")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o640)
    before = path.stat().st_ino
    write_file(path, b"newer")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"newer", 0o640)
    assert path.stat().st_ino != before  # never half of it under this name
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    path, link = tmp_path / "a.csv", tmp_path / "link"
    path.write_bytes(b"old")
    link.symlink_to(path)
    write_file(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"


def test_a_file_of_another_user_stays_that_users(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"old")
    try:
        os.chown(path, 4711, 4711)
    except PermissionError:
        pytest.skip("only root gives files away")
    write_file(path, b"new")
    assert (path.read_bytes(), path.stat().st_uid) == (b"new", 4711)


def test_a_file_that_is_a_mount_is_written_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(_self: Path, _target: Path) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    path = tmp_path / "a.csv"
    path.write_bytes(b"old")
    monkeypatch.setattr(Path, "replace", busy)
    write_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_second_name_of_a_file_shows_the_same(tmp_path: Path) -> None:
    path, other = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_bytes(b"old")
    os.link(path, other)
    write_file(path, b"new")
    assert other.read_bytes() == b"new"


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes device nodes")
    try:
        write_file(device, b"new")
    except PermissionError:
        pytest.skip("this file system has no devices")
    assert stat.S_ISCHR(device.stat().st_mode)


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"x" * 200_000)
    reader.join(60)
    assert read == [b"x" * 200_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_the_window_waits_for_no_reader(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="No such device"):
        write_file(pipe, b"new", may_wait=False)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("none/a.csv", "there is no folder"),
        ("x" * 300, "File name too long"),
        (".", "it is a folder"),
        ("a.csv/b.csv", "there is no folder|Not a directory"),
    ],
)
def test_what_cannot_be_written_is_said(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "a.csv").write_bytes(b"old")
    with pytest.raises(OSError, match=why) as caught:
        write_file(tmp_path / name, b"new")
    assert why_unwritable(Path("a"), caught.value).startswith("a cannot be written: ")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)
    with pytest.raises(OSError, match="No space"):
        write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
