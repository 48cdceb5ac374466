"""Pins on the roofline: a number each, and arrows from the first of a kernel with the change."""

from msgspec import Struct

from roofscope.app.presentation.compare.table import ratio_cell
from roofscope.app.presentation.roofline.scene import ChartScene
from roofscope.profiling.analysis.pairs import pairs_of_pins
from roofscope.profiling.results.marks import pins_of
from roofscope.profiling.results.session import Session

Place = tuple[float, float]


class PinSign(Struct, frozen=True):
    """A pinned point in the chart's coordinates; ``rank`` 1 is the first pin."""

    at: Place
    rank: int


class PinArrow(Struct, frozen=True):
    """From the baseline to another pin of its kernel, whose ``rank`` it has."""

    start: Place
    end: Place
    rank: int
    text: str


class PinsOnChart(Struct, frozen=True):
    signs: tuple[PinSign, ...] = ()
    arrows: tuple[PinArrow, ...] = ()


def pins_on_chart(session: Session, scene: ChartScene) -> PinsOnChart:
    """Of the pins those that the scene shows."""
    if not session.marks:
        return PinsOnChart()
    shown = {point.number: (point.x, point.y) for point in (*scene.ghosts, *scene.points)}
    ranks = {number: rank for rank, number in enumerate(pins_of(session.marks), start=1)}
    signs = tuple(PinSign(shown[number], rank) for number, rank in ranks.items() if number in shown)
    arrows = tuple(
        PinArrow(
            shown[pair.a.point.number],
            shown[pair.b.point.number],
            ranks[pair.b.point.number],
            ratio_cell(pair),
        )
        for pair in pairs_of_pins(session)
        if pair.b and pair.ratio and {pair.a.point.number, pair.b.point.number} <= shown.keys()
    )
    return PinsOnChart(signs, arrows)
