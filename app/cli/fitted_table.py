"""A table laid out in the columns that a terminal has: no figure is ever cut, nor parted from its unit.

Names give way first: they are elided in the middle, as long as those of one group stay distinct. Then whole
columns are left out, the least important first, and a line below the table says which.
"""

import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct
from rich.text import Text

from roofscope.app.presentation.formatting import MISSING

_GAP = "  "
_INDENT = "  "
_SHORTEST_NAME = 12


class Column(Struct, frozen=True):
    """The highest ``rank`` is the first to be left out; 0 always stays."""

    title: str
    rank: int
    style: str = ""
    is_number: bool = True


class Group(Struct, frozen=True):
    """Rows under a heading, which is a name and the figures after it. Each row begins with its own name."""

    name: str
    figures: str
    rows: tuple[tuple[str, ...], ...]


class FittedTable(Struct, frozen=True):
    """``full_width`` is what it takes to leave nothing out and to elide no name."""

    lines: tuple[Text, ...]
    left_out: tuple[str, ...]
    full_width: int


class _Shown(NamedTuple):
    column: Column
    width: int
    at: int  # in a row


def fitted(title: str, columns: Sequence[Column], groups: Sequence[Group], width: int) -> FittedTable:
    """Lines of at most ``width`` characters, unless a name and the columns of rank 0 take more.

    ``title`` heads the names, ``columns`` are the others. One that is empty in every row is no loss, and
    not named as left out.
    """
    names = [[_INDENT + row[0] for row in group.rows] for group in groups]
    longest = max(len(title), *(len(name) for group in names for name in group))
    every = _filled(columns, [row for group in groups for row in group.rows])
    shown = _with_room(every, width - min(longest, _shortest(names)))
    name_width = max(1, min(longest, width - _taken(shown)))
    lines = [_line(elided(title, name_width), name_width, [(each, each.column.title, "") for each in shown])]
    for group in groups:
        lines += [Text(line, "bold") for line in _heading(group, width)]
        for row in group.rows:
            name = elided(_INDENT + row[0], name_width)
            cells = [(each, row[each.at], each.column.style) for each in shown]
            lines.append(_line(name, name_width, cells))
    left_out = tuple(each.column.title for each in every if each not in shown)
    return FittedTable(tuple(lines), left_out, longest + _taken(every))


def left_out_text(table: FittedTable) -> str:
    """Which columns are missing and how to see them; "" where none is."""
    if not table.left_out:
        return ""
    return (
        f"Left out for want of room: {', '.join(table.left_out)}. "
        f"A terminal of {table.full_width} columns shows all, and so does a pipe or a file."
    )


def elided(text: str, width: int) -> str:
    """Without its middle where it is too long: a name's two ends tell most of it."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def wrapped(text: str, width: int) -> str:
    """Prose within the terminal's width, its later lines indented."""
    return "\n".join(textwrap.wrap(text, max(width, 20), subsequent_indent=_INDENT, break_on_hyphens=False))


def _filled(columns: Sequence[Column], rows: Sequence[tuple[str, ...]]) -> list[_Shown]:
    return [
        _Shown(column, max(len(column.title), *(len(row[at]) for row in rows)), at)
        for at, column in enumerate(columns, 1)
        if any(row[at] not in ("", MISSING) for row in rows)
    ]


def _with_room(every: Iterable[_Shown], width: int) -> list[_Shown]:
    shown = list(every)
    while _taken(shown) > width:
        last = max(shown, key=lambda each: each.column.rank)
        if last.column.rank == 0:
            break
        shown.remove(last)
    return shown


def _taken(shown: Iterable[_Shown]) -> int:
    return sum(len(_GAP) + each.width for each in shown)


def _shortest(groups: Iterable[Sequence[str]]) -> int:
    """The least width at which names of one group that differ still differ when elided."""

    def lost(width: int) -> bool:
        return any(len({elided(name, width) for name in group}) < len(set(group)) for group in names)

    names = list(groups)
    width = _SHORTEST_NAME
    while lost(width):
        width += 1
    return width


def _heading(group: Group, width: int) -> list[str]:
    """In one line where the name keeps enough of itself beside the figures."""
    room = width - 1 - len(group.figures)
    if room >= min(len(group.name), _SHORTEST_NAME):
        return [f"{elided(group.name, room)} {group.figures}"]
    return [elided(group.name, width), *wrapped(_INDENT + group.figures, width).splitlines()]


def _line(name: str, name_width: int, cells: Iterable[tuple[_Shown, str, str]]) -> Text:
    line = Text(name.ljust(name_width))
    for shown, cell, style in cells:
        padded = cell.rjust(shown.width) if shown.column.is_number else cell.ljust(shown.width)
        line.append(_GAP).append(padded, style or None)
    line.rstrip()
    return line
