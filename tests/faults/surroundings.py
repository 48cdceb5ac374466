"""What else may be wrong: temporary and cache folders, streams, limits, and the session's file in mid-run."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

from roofscope.profiling.paths import SUFFIX
from roofscope.tests.faults.corpus import FOLDER, MEASURED, Around, Fault

_SLOW = FOLDER / "slow_kernel.py"
_SESSION = f"run{SUFFIX}"


def _delete(folder: Path) -> None:
    for path in _files(folder):
        path.unlink()


def _truncate(folder: Path) -> None:
    for path in _files(folder):
        with path.open("r+b") as file:
            file.truncate(100)


def _scribble(folder: Path) -> None:
    for path in _files(folder):
        with path.open("r+b") as file:
            file.write(b"scribbled " * 1000)


def _replace(folder: Path) -> None:
    path = folder / _SESSION
    path.rename(folder / "moved")
    path.mkdir()


def _rename(folder: Path) -> None:
    (folder / _SESSION).rename(folder / "moved")


def _delete_log(folder: Path) -> None:
    for suffix in ("-wal", "-shm"):
        (folder / f"{_SESSION}{suffix}").unlink(missing_ok=True)


def _other_writer(folder: Path) -> None:
    """Another program adds to it, as SQLite allows."""
    with sqlite3.connect(folder / _SESSION, timeout=10) as other:
        other.execute("CREATE TABLE theirs (x)")
        other.execute("INSERT INTO theirs VALUES (1)")


def _remove_temporary(folder: Path) -> None:
    shutil.rmtree(folder / "tmp")
    (folder / "tmp").write_text("a file now")


def _remove_cache(folder: Path) -> None:
    shutil.rmtree(folder / "cache")


def _remove_kernels(folder: Path) -> None:
    """The folder of the kernel that runs; those of others stay."""
    for path in (folder / "kernels").iterdir():
        if not path.name.startswith("after_"):
            shutil.rmtree(path)


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{_SESSION}*"))


def _of_the_file(name: str, title: str, act: Callable[[Path], None], stage: str = "measure") -> Fault:
    """The user must read of it; until then what was acknowledged must be somewhere."""
    return Fault(
        f"session_{name}",
        title,
        "session",
        (MEASURED,),
        ("damaged", "cannot", "removed", "lost"),
        path=_SLOW,
        around=Around(at_stage=stage, act=act, may_end=True),
    )


def _around(name: str, title: str, prefix: str = "", redirect: str = "") -> Fault:
    """The run must go on all the same."""
    around = Around(prefix=prefix, redirect=redirect)
    return Fault(f"around_{name}", title, "around", around=around)


def _in_need(name: str, title: str, prefix: str, redirect: str, *says: str) -> Fault:
    """The run may end early, and says why: with one of these words."""
    around = Around(prefix=prefix, redirect=redirect, may_end=True)
    return Fault(f"around_{name}", title, "around", says=says, around=around)


def _meanwhile(name: str, title: str, act: Callable[[Path], None], *right: str) -> Fault:
    around = Around(at_stage="measure", act=act)
    return Fault(f"around_{name}", title, "around", right or (MEASURED,), path=_SLOW, around=around)


FAULTS = (
    _of_the_file("deleted", "The session's file is deleted in mid-run.", _delete),
    _of_the_file("truncated", "The session's file is cut off in mid-run.", _truncate),
    _of_the_file("scribbled", "The session's file is written over in mid-run.", _scribble),
    _of_the_file("replaced", "A folder takes the place of the session's file.", _replace),
    _of_the_file("renamed", "The session's file is renamed in mid-run.", _rename),
    _of_the_file("log_deleted", "The session's log is deleted in mid-run.", _delete_log),
    _of_the_file("other_writer", "Another program adds a table to the session.", _other_writer),
    _around("no_tmpdir", "TMPDIR names no folder.", "export TMPDIR=/nonexistent/folder"),
    _around("tmpdir_a_file", "TMPDIR names a file.", 'export TMPDIR="$FAULT_FOLDER/kernels/spec.py"'),
    _around("no_home", "There is no HOME.", "unset HOME XDG_CACHE_HOME XDG_DATA_HOME"),
    _around("home_unwritable", "HOME is a file.",
            "export HOME=/dev/null; unset XDG_CACHE_HOME XDG_DATA_HOME XDG_CONFIG_HOME"),
    _around("cache_a_file", "The cache's folder is a file.", "export XDG_CACHE_HOME=/dev/null"),
    _in_need("stdout_closed", "Standard output is closed.", "", ">&-", "stdout cannot be written"),
    _around("stderr_closed", "Standard error is closed.", "", "2>&-"),
    _around("stdin_closed", "Standard input is closed.", "", "<&-"),
    _in_need("all_closed", "All three standard streams are closed.", "", "<&- >&- 2>&-", ""),
    _in_need("stdout_full", "Standard output is full.", "", ">/dev/full", "No space left"),
    _in_need("no_reader", "Nobody reads standard output.",
            "mkfifo \"$FAULT_FOLDER/pipe\"; head -c 1 \"$FAULT_FOLDER/pipe\" >/dev/null &",
            '>"$FAULT_FOLDER/pipe"', ""),
    _around("ascii", "The terminal takes ASCII only.", "export PYTHONIOENCODING=ascii LC_ALL=C PYTHONUTF8=0"),
    _around("unknown_locale", "The locale is none.", "export LC_ALL=xx_YY LANG=xx_YY PYTHONUTF8=0"),
    _in_need("few_descriptors", "The program may open 40 files.", "ulimit -n 40", "", "open files",
            "descriptor"),
    _in_need("small_files", "No file may be longer than 64 KiB: a full disk.", "ulimit -f 64", "",
            "cannot be written", "written"),
    _in_need("odd_umask", "New files may be read by nobody.", "umask 777", "", "cannot", "not be"),
    _around("interrupt_ignored", "SIGINT, SIGTERM and SIGHUP are ignored.", "trap '' INT TERM HUP"),
    _around("children_ignored", "SIGCHLD is ignored: children are reaped by nobody.", "trap '' CHLD"),
    _meanwhile("tmpdir_lost", "TMPDIR is deleted in mid-run.", _remove_temporary),
    _meanwhile("cache_lost", "The cache's folder is deleted in mid-run.", _remove_cache),
    _meanwhile("kernel_lost", "The kernel's folder is deleted in mid-run.", _remove_kernels),
)  # fmt: skip
