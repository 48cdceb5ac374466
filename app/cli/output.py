"""The command line's stdout and stderr: what reaches a terminal is text that any terminal can show."""

import codecs
import io
import os
import sys
from typing import TextIO

import typer

_ASCII = {
    "µ": "u",
    "×": "x",
    "·": ".",
    "–": "-",
    "—": "-",
    "…": "...",
    "±": "+-",
    "≥": ">=",
    "≤": "<=",
    "→": "->",
    "²": "^2",
    "³": "^3",
    "°": "deg ",
    "✓": "+",
    "✗": "x",
    "†": "+",
    "’": "'",
    "“": '"',
    "”": '"',
    "\u00a0": " ",
    "\u202f": " ",
}


class OutputLost(OSError):
    """What was to be printed could not be: stdout is closed, or its disk is full."""


def take_over_stdio() -> None:
    """Make stdout and stderr such that no character and no state of theirs ends a run half way.

    What their encoding lacks is written in ASCII. Stdout that fails raises OutputLost, with which the command
    ends; of a stderr that fails there is nobody to tell.
    """
    codecs.register_error("roofscope", _in_ascii)
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        _fill(number, flags)
    sys.stdout = _stream(sys.stdout, _Stdout(1, "w", closefd=False))
    sys.stderr = _stream(sys.stderr, _Stderr(2, "w", closefd=False))


def say(text: str, *, err: bool = False, colour: str | None = None) -> None:
    """A line for the user."""
    from roofscope.profiling.plain_text import visible  # help and completion load nothing of the engine

    typer.secho(visible(text), err=err, fg=colour)


def _fill(number: int, flags: int) -> None:
    """Give a closed descriptor a file of which each use fails.

    Else the next file opened would get its number: a session as descriptor 1 would be printed into.
    """
    try:
        os.fstat(number)
    except OSError:
        opened = os.open(os.devnull, flags)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)


def _stream(old: TextIO | None, raw: io.FileIO) -> io.TextIOWrapper:
    encoding = getattr(old, "encoding", None) or "utf-8"
    is_terminal = raw.isatty()
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding, "roofscope", line_buffering=is_terminal or raw.fileno() == 2
    )


class _Stdout(io.FileIO):
    def write(self, data: object) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type] - any buffer
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputLost(error.errno, error.strerror) from None


class _Stderr(io.FileIO):
    def write(self, data: object) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type] - any buffer
        except OSError:
            return memoryview(data).nbytes  # type: ignore[arg-type]


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """For what an encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    found = (_ASCII.get(one, one.encode("ascii", "backslashreplace").decode()) for one in lacking)
    return "".join(found), error.end
