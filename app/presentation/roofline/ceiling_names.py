"""The names of the ceilings, outside the plot: each where its own line leaves it, and tied to it.

Those that leave at the right stand in a gutter there, row by row in the order of their lines. Those that
leave at the top stand above it. So a name is always nearest its own line, and never on a point.
"""

import math
from collections.abc import Sequence

from msgspec import Struct

from roofscope.app.presentation.roofline.ceiling_words import Words, shares_row
from roofscope.app.presentation.roofline.geometry import Box, Font, Pair, View
from roofscope.app.presentation.roofline.rows import apart
from roofscope.app.presentation.roofline.scene import ChartScene, RoofLine
from roofscope.app.presentation.tokens import Tone
from roofscope.profiling.roofline.roofline import Ceiling

TIE = 16.0  # pixels from the plot's edge to a name
_AIR = 6.0  # right of a name
_BETWEEN = 14.0  # two names above the plot
_LEAD = 7.0  # a name above the plot begins so far left of its line
_MOST = 0.2  # of the chart's width for names; above, they leave their unit out
OWN_ROOF = "100 %: its own roof"


class LineShape(Struct, frozen=True):
    """The visible piece of a ceiling, in pixels."""

    line: RoofLine
    start: Pair
    end: Pair
    is_target: bool  # the ceiling that limits the selected point

    @property
    def tone(self) -> Tone:
        return Tone.TARGET if self.is_target else Tone.LIT if self.line.lit else Tone.DIM


class NamePart(Struct, frozen=True):
    """A text that starts at x, in the colour of its line."""

    text: str
    x: float
    tone: Tone


class CeilingName(Struct, frozen=True):
    """A name outside the plot, and a thin line from it to each line that it names."""

    parts: tuple[NamePart, ...]
    box: Box
    ceilings: tuple[Ceiling, ...]
    ties: tuple[tuple[Pair, Pair], ...]  # from the line's end at the plot's edge, one a ceiling

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


class Gutter(Struct, frozen=True):
    """The room that the names take outside the plot; the same for every view of a scene."""

    right: float
    top: float
    words: Words


class Leaving(Struct, frozen=True):
    """Where a ceiling leaves the plot, by the right edge or the top one; in pixels."""

    ceiling: Ceiling
    at: Pair
    at_top: bool
    tone: Tone
    inner_end: Pair | None  # where its line ends inside the plot, from where a faint one leads on


def gutter_for(scene: ChartScene, font: Font, width: float) -> Gutter:
    """Room for the names of all that the scene draws, in a chart of this width in pixels."""
    ceilings = tuple({line.ceiling: None for line in scene.drawn_lines})
    says_source = len({ceiling.source for ceiling in ceilings}) > 1
    for short in (False, True):
        words = Words(short=short, says_source=says_source)
        rows = [*([ceiling] for ceiling in ceilings), *_of_one_value(ceilings)]
        widest = max((font.width(words.row(row)) for row in rows), default=0.0)
        if widest <= _MOST * width:
            break
    widest = max(widest, font.width(source_note(ceilings)))
    if scene.is_of_roof:
        widest = max(widest, font.width(OWN_ROOF))
    if not ceilings and not scene.is_of_roof:
        return Gutter(_AIR + TIE, font.height, words)
    rows = 1 if scene.is_of_roof else 2  # ridge points, and over them what leaves at the top
    return Gutter(TIE + widest + _AIR, rows * font.height + 6, words)


def source_note(ceilings: Sequence[Ceiling]) -> str:
    """Whence the values of all come, said once; "" where they have several sources."""
    sources = {ceiling.source for ceiling in ceilings}
    return str(sources.pop()) if len(sources) == 1 else ""


def leaving(view: View, shapes: Sequence[LineShape]) -> list[Leaving]:
    """Every ceiling that is seen, at the edge that it leaves by or would, if its line went on."""
    pieces: dict[Ceiling, list[LineShape]] = {}
    for shape in shapes:
        pieces.setdefault(shape.line.ceiling, []).append(shape)
    found: list[Leaving] = []
    for ceiling, parts in pieces.items():
        tone = max((part.tone for part in parts), key=_brightness)
        last = max(part.end for part in parts)
        if not ceiling.bound.is_memory:
            found.append(Leaving(ceiling, (view.box.right, last[1]), False, tone, None))
            continue
        slope = math.log10(ceiling.value)
        at_top = view.y.high - slope <= view.x.high
        at = (
            (view.px(view.y.high - slope), view.box.top)
            if at_top
            else (view.box.right, view.py(view.x.high + slope))
        )
        found.append(Leaving(ceiling, at, at_top, tone, last if math.dist(last, at) > 1 else None))
    return found


def names_at_right(left: Sequence[Leaving], view: View, gutter: Gutter, font: Font) -> list[CeilingName]:
    """Rows in the order of the lines, each as near its own as the neighbours allow."""
    leaves = sorted((leave for leave in left if not leave.at_top), key=lambda leave: leave.at[1])
    leave_of = {leave.ceiling: leave for leave in leaves}
    rows = [[leave_of[ceiling] for ceiling in row] for row in _of_one_value(list(leave_of))]
    most = max(1, int(view.box.height // font.height))
    while len(rows) > most:  # too many lines for as many texts: the nearest two share one
        gaps = [rows[i + 1][0].at[1] - rows[i][-1].at[1] for i in range(len(rows) - 1)]
        index = gaps.index(min(gaps))
        rows[index : index + 2] = [[*rows[index], *rows[index + 1]]]
    wanted = [sum(leave.at[1] for leave in row) / len(row) for row in rows]
    middles = apart(wanted, font.height, view.box.top + font.height / 2, view.box.bottom - font.height / 2)
    names: list[CeilingName] = []
    x = view.box.right + TIE
    room = gutter.right - TIE
    for row, middle in zip(rows, middles, strict=True):
        text = gutter.words.row(_ceilings(row), lambda text: font.width(text) <= room)
        tone = max((leave.tone for leave in row), key=_brightness)
        box = Box(x, middle - font.height / 2, font.width(text), font.height)
        ties = tuple((leave.at, (x - 3, middle)) for leave in row)
        names.append(CeilingName((NamePart(text, x, tone),), box, _ceilings(row), ties))
    return names


def names_above(
    left: Sequence[Leaving], words: Words, font: Font, room: tuple[float, float], top: float, foot: float
) -> list[CeilingName]:
    """Names over the lines that leave at the top, each beginning over its own.

    Where lines of one memory are too close for a text each, one names them in their order. ``room`` are the
    least and the greatest x, ``top`` is where texts stand and ``foot`` the plot's edge.
    """
    leaves = sorted((leave for leave in left if leave.at_top), key=lambda leave: leave.at[0])
    runs = [[leave] for leave in leaves]
    names: list[CeilingName] = []
    index, limit = len(runs) - 1, room[1]
    while index >= 0:
        # Those further left need room as well, at least for what they say in short.
        bounds = {run[0].ceiling.bound for run in runs[:index]} - {runs[index][0].ceiling.bound}
        others = [[leave for leave in leaves if leave.ceiling.bound is bound] for bound in bounds]
        kept = sum(_run_parts(run, words, font, 0.0)[1] + _BETWEEN for run in others)
        wanted = runs[index][0].at[0] - _LEAD
        foreign = [leave.at[0] for leave in leaves if leave.ceiling.bound in bounds]
        least = max([room[0] + kept, *(x + 4 for x in foreign if x < wanted)])  # not over another's line
        parts, width = _run_parts(runs[index], words, font, limit - least)
        if index + 1 < len(runs) and wanted + width > limit and _of_one_memory(runs[index], runs[index + 1]):
            runs[index : index + 2] = [[*runs[index], *runs[index + 1]]]
            names.pop()
            limit = names[-1].box.left - _BETWEEN if names else room[1]
            continue
        x = max(room[0] + kept, min(wanted, limit - width))
        names.append(_name_above(runs[index], parts, x, top, font, foot))
        limit = x - _BETWEEN
        index -= 1
    return names[::-1]


def _of_one_memory(first: Sequence[Leaving], second: Sequence[Leaving]) -> bool:
    return first[0].ceiling.bound is second[0].ceiling.bound


def _run_parts(
    run: Sequence[Leaving], words: Words, font: Font, room: float
) -> tuple[list[tuple[str, Tone]], float]:
    """Texts in their lines' colours and their width; one for all where there is no room for each."""
    tone_of = {leave.ceiling: leave.tone for leave in run}
    rows = _of_one_value(list(tone_of))
    tones = [max((tone_of[ceiling] for ceiling in row), key=_brightness) for row in rows]
    parts = list(zip(words.parts(rows), tones, strict=True))
    ends = [pick(run, key=lambda leave: leave.ceiling.value).tone for pick in (min, max)]
    spans = [words.span(_ceilings(run), bare=bare) for bare in (False, True)]
    shorter = [parts, *(list(zip(span, ends, strict=False)) for span in spans)]
    widths = [sum(font.width(text) for text, _ in texts) for texts in shorter]
    index = next((index for index, width in enumerate(widths) if width <= room), len(widths) - 1)
    return shorter[index], widths[index]


def _name_above(
    run: Sequence[Leaving],
    texts: Sequence[tuple[str, Tone]],
    left: float,
    top: float,
    font: Font,
    foot: float,
) -> CeilingName:
    x, parts = left, list[NamePart]()
    for text, tone in texts:
        parts.append(NamePart(text, x, tone))
        x += font.width(text)
    box = Box(left, top, x - left, font.height)
    ties = tuple(
        ((leave.at[0], foot), (min(max(leave.at[0], left + 2), x - 2), box.bottom - 1)) for leave in run
    )
    return CeilingName(tuple(parts), box, _ceilings(run), ties)


def _of_one_value(ceilings: Sequence[Ceiling]) -> list[list[Ceiling]]:
    """Lines that lie on each other share a row: as they are written, they have one value."""
    rows: list[list[Ceiling]] = []
    for ceiling in ceilings:
        row = next((row for row in rows if shares_row(row, ceiling)), None)
        if row:
            row.append(ceiling)
        else:
            rows.append([ceiling])
    return rows


def _ceilings(row: Sequence[Leaving]) -> tuple[Ceiling, ...]:
    return tuple(leave.ceiling for leave in row)


def _brightness(tone: Tone) -> int:
    return (Tone.DIM, Tone.LIT, Tone.TARGET).index(tone)
