"""Which files a command may write."""

import os
import sys
from collections.abc import Collection
from pathlib import Path

from roofscope.app.cli.errors import refuse
from roofscope.app.presentation.export import SUFFIXES
from roofscope.app.presentation.files import why_unwritable, write_file
from roofscope.profiling.paths import SUFFIX

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


def check_target(target: Path, source: Path, suffixes: Collection[str]) -> None:
    """Refuse to write over the session itself, or into a name that promises another format than these.

    A suffix that promises nothing is the user's own business: ``/dev/stdout``, ``points.txt``.
    """
    if target == STDOUT:
        return
    try:
        is_source = target.exists() and target.samefile(source)
    except (OSError, ValueError) as error:  # a folder closed to us, a name too long or with a null in it
        refuse(why_unwritable(target, error))
    if is_source:
        refuse(f"{target} is the session itself and would be lost; give --out another name.")
    suffix = target.suffix.lower()
    if suffix in {SUFFIX, *SUFFIXES} and suffix not in suffixes:
        refuse(f"{target} names a {suffix} file; end it in {' or '.join(suffixes)}.")


def check_writable(target: Path) -> None:
    """Refuse what cannot be written. Tried: permissions do not tell, for instance of /proc."""
    if target == STDOUT or (target.exists() and not (target.is_file() or target.is_dir())):
        return  # a device or a pipe: opening it has effects of its own
    is_new = not target.exists()
    try:
        target.open("ab").close()
        if is_new:
            Path(os.path.realpath(target)).unlink()  # of a link, what it leads to
    except OSError as error:
        refuse(why_unwritable(target, error))
