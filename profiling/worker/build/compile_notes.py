"""What Dynamo says while it compiles: where a graph breaks and why, and which guard made it compile again."""

import re
from collections.abc import Iterable
from pathlib import Path
from types import CodeType
from typing import Any

from torch._dynamo import utils

from roofscope.profiling.results.outcome import CodeNote, CompileNotes

_MOST_NOTES = 20
_MOST_TEXT = 240

# Private lists of the whole process; a torch without them gives no notes.
_breaks: list[Any] = getattr(utils, "graph_break_reasons", [])
_failures: dict[CodeType, list[Any]] = getattr(utils, "guard_failures", {})

_NUMBER = re.compile(r"^\d+/\d+: ")  # of the frame and of its compilation


class Notebook:
    """Reads Dynamo's lists as differences, because they grow with everything that a process compiles."""

    def __init__(self) -> None:
        self._break_count = 0
        self._failure_counts: dict[CodeType, int] = {}
        self.settle()

    def settle(self) -> CompileNotes:
        """What was noted since the last time."""
        broken = _breaks[self._break_count :]
        self._break_count = len(_breaks)
        failed: list[CodeNote] = []
        for code, reasons in _failures.items():
            failed += (_failure(code, reason) for reason in reasons[self._failure_counts.get(code, 0) :])
            self._failure_counts[code] = len(reasons)
        return CompileNotes(tuple(map(_break, broken)), tuple(failed))


def together(one: CompileNotes, other: CompileNotes) -> CompileNotes:
    """Both, each note once with its count."""
    return CompileNotes(
        _counted((*one.breaks, *other.breaks)), _counted((*one.recompiles, *other.recompiles))
    )


def _counted(notes: Iterable[CodeNote]) -> tuple[CodeNote, ...]:
    counts: dict[CodeNote, int] = {}
    for note in notes:
        key = CodeNote(note.reason, note.file, note.line, note.code)
        counts[key] = counts.get(key, 0) + note.count
    found = (CodeNote(key.reason, key.file, key.line, key.code, count) for key, count in counts.items())
    return tuple(found)[:_MOST_NOTES]


def _break(reason: Any) -> CodeNote:
    """Of torch's GraphCompileReason: its last frame is the line at fault."""
    frame = reason.user_stack[-1] if reason.user_stack else None
    if frame is None:
        return CodeNote(_first_line(reason.reason))
    return CodeNote(
        _first_line(reason.reason), _name(frame.filename), frame.lineno or 0, _first_line(frame.line)
    )


def _failure(code: CodeType, reason: Any) -> CodeNote:
    """``2/1: 2 <= x.size()[0]  # return x.sin()  # eager.py:6 in g`` without its number and its comments."""
    condition, _, comment = _NUMBER.sub("", _first_line(reason)).partition("  # ")
    return CodeNote(
        condition.strip(), _name(code.co_filename), code.co_firstlineno, comment.partition("  # ")[0].strip()
    )


def _first_line(text: Any) -> str:
    return next(iter(str(text or "").splitlines()), "").strip()[:_MOST_TEXT]


def _name(path: str) -> str:
    return Path(path).name
