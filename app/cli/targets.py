"""Which files a command may write: one rule for every ``--out``, asked before the work."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from roofscope.app.cli.errors import refuse
from roofscope.app.presentation.files import is_special, why_misnamed, why_unwritable, write_file
from roofscope.profiling.paths import SUFFIX, is_shipped

STDOUT = Path("-")  # the usual name for it in --out


def put(content: bytes, target: Path) -> None:
    """Write a file, or to stdout; refuse where the file cannot be written."""
    if target == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        return
    try:
        write_file(target, content)
    except BrokenPipeError:
        raise
    except OSError as error:
        refuse(why_unwritable(target, error))


def beside(session: Path) -> Path:
    """By whose folder and name a file is called where none is named; not in the program's own folder."""
    return Path(session.name) if is_shipped(session) else session


def check_target(target: Path, source: Path | None, suffixes: Sequence[str]) -> None:
    """Refuse a name that does not end as what is written there must, a folder, and the session itself.

    A device or a pipe that is there (``/dev/stdout``) may have any name; a folder that is not there is not
    made, because a misspelt one would hide what it is to hold.
    """
    if target == STDOUT:
        return
    try:
        if target.is_dir():
            refuse(f"{target} is a folder; name a file in it, such as {target / f'a{suffixes[0]}'}.")
        if source and target.exists() and target.samefile(source):
            refuse(f"{target} is the session itself and would be lost; give --out another name.")
        if why := why_misnamed(target, suffixes):
            refuse(why)
        _require_folder(target)
    except (OSError, ValueError) as error:  # a folder closed to us, a name too long or with a null in it
        refuse(why_unwritable(target, error))


def check_session_target(target: Path) -> None:
    """As for any file; a session is never written over another file, nor into a device."""
    check_target(target, None, (SUFFIX,))
    if target == STDOUT or is_special(target):
        refuse(f"{target} cannot hold a session, which is a file; name one, such as a{SUFFIX}.")


def check_writable(target: Path) -> None:
    """Refuse what cannot be written. Tried: permissions do not tell, for instance of /proc."""
    if target == STDOUT or is_special(target):
        return  # opening a device or a pipe has effects of its own
    is_new = not target.exists()
    try:
        target.open("ab").close()
        if is_new:
            Path(os.path.realpath(target)).unlink()  # of a link, what it leads to
    except OSError as error:
        refuse(why_unwritable(target, error))


def _require_folder(target: Path) -> None:
    folder = Path(os.path.realpath(target)).parent if target.is_symlink() else target.parent
    if folder.is_dir() or is_special(target):
        return
    if folder.exists():
        refuse(f"{target} cannot be written: {folder} is no folder.")
    refuse(f"{target} cannot be written: there is no folder {folder}; make it first.")
