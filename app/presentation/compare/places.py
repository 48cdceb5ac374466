"""Where pins' numbers, arrows and their texts stand in pixels, none upon another."""

import math
from collections.abc import Callable, Sequence

from msgspec import Struct

from roofscope.app.presentation.compare.arrows import PinArrow, PinsOnChart
from roofscope.app.presentation.roofline.geometry import Box, Pair, View

SIGN = 13.0  # pixels across a pin's number
_AWAY = 12.0  # from a marker's middle to its number's, both ways
_CLEAR = 7.0  # that an arrow keeps from both markers
_HEAD = 7.0
_GAP = 10.0
_PADDING = 4.0
_MOST_STEPS = 40
_STEPS_OFF_NAMES = 8  # of half a line: further off nobody knows whose text it is


class PlacedSign(Struct, frozen=True):
    middle: Pair
    rank: int


class PlacedArrow(Struct, frozen=True):
    """``line`` is empty between markers that all but coincide; ``barbs`` are the head's three places."""

    line: tuple[Pair, ...]
    barbs: tuple[Pair, ...]
    ground: Box
    text: str


class PlacedPins(Struct, frozen=True):
    signs: tuple[PlacedSign, ...]
    arrows: tuple[PlacedArrow, ...]


def place_pins(
    pins: PinsOnChart,
    view: View,
    width_of: Callable[[str], float],
    height: float,
    names: Sequence[Box] = (),
) -> PlacedPins:
    """``width_of`` a text and ``height`` of a line, in pixels. Only what is in the view.

    Texts keep off ``names``, those of points, where a place near by does.
    """
    taken: list[Box] = []
    signs: list[PlacedSign] = []
    for sign in pins.signs:
        if not view.shows(*sign.at):
            continue
        x, y = view.px(sign.at[0]) - _AWAY, view.py(sign.at[1]) - _AWAY
        box = _free_place(_box_round(x, y), taken, (-SIGN - 1, 0.0))
        signs.append(PlacedSign((box.left + SIGN / 2, box.top + SIGN / 2), sign.rank))
    shown = [arrow for arrow in pins.arrows if view.shows(*arrow.start) and view.shows(*arrow.end)]
    shown.sort(key=lambda arrow: -arrow.end[1])  # from the top down, as their texts give way
    placed = tuple(_placed(arrow, view, width_of, height, taken, names) for arrow in shown)
    return PlacedPins(tuple(signs), placed)


def _placed(
    arrow: PinArrow,
    view: View,
    width_of: Callable[[str], float],
    height: float,
    taken: list[Box],
    names: Sequence[Box],
) -> PlacedArrow:
    text = f"{arrow.rank}: {arrow.text}"
    width = width_of(text) + 2 * _PADDING
    start, end = ((view.px(x), view.py(y)) for x, y in (arrow.start, arrow.end))
    left = end[0] + _GAP
    if left + width > view.box.right - _PADDING:
        left = end[0] - _GAP - width
    wanted = Box(left, end[1] - height / 2, width, height)
    ground = _off_names(wanted, taken, names, view.box) or _free_place(wanted, taken, (0.0, height + 1))
    line = _line(start, end)
    return PlacedArrow(line, _barbs(*line) if line else (), ground, text)


def _off_names(box: Box, taken: list[Box], names: Sequence[Box], inside: Box) -> Box | None:
    """The nearest place above or below that no text has; it is taken from then on."""
    for step in sorted(range(-_STEPS_OFF_NAMES, _STEPS_OFF_NAMES + 1), key=abs):
        found = Box(box.left, box.top + step * box.height / 2, box.width, box.height)
        if inside.holds(found) and not any(map(found.meets, (*taken, *names))):
            taken.append(found)
            return found
    return None


def _free_place(box: Box, taken: list[Box], step: Pair) -> Box:
    """The first free one in steps from where it should be; it is taken from then on."""
    for count in range(_MOST_STEPS):
        found = Box(box.left + count * step[0], box.top + count * step[1], box.width, box.height)
        if not any(found.meets(other) for other in taken):
            taken.append(found)
            return found
    return box


def _box_round(x: float, y: float) -> Box:
    return Box(x - SIGN / 2, y - SIGN / 2, SIGN, SIGN)


def _line(start: Pair, end: Pair) -> tuple[Pair, ...]:
    """Between the two markers, clear of both."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy)
    if length <= 2 * _CLEAR + 2:
        return ()
    x, y = dx / length * _CLEAR, dy / length * _CLEAR
    return (start[0] + x, start[1] + y), (end[0] - x, end[1] - y)


def _barbs(start: Pair, end: Pair) -> tuple[Pair, ...]:
    angle = math.atan2(end[1] - start[1], end[0] - start[0])
    size = min(_HEAD, math.dist(start, end))
    left, right = (
        (end[0] - size * math.cos(angle + turn), end[1] - size * math.sin(angle + turn))
        for turn in (0.45, -0.45)
    )
    return left, end, right
