"""Ceilings as straight lines in log10 coordinates, and where a memory's and a pipe's meet."""

import math
from collections.abc import Sequence

from msgspec import Struct

from roofscope.profiling.roofline.roofline import Bound, Ceiling, Roofline, Source, ridge_point

FAR = 30.0  # decades: beyond any view, so that lines run on while the user pans


class RoofLine(Struct, frozen=True):
    """A straight piece of a ceiling. ``lit`` when it can bound what is shown or selected."""

    ceiling: Ceiling
    start: tuple[float, float]
    end: tuple[float, float]
    lit: bool
    is_main: bool  # gets a label; the other access mixes of a memory are thin lines beside it


class RidgePoint(Struct, frozen=True):
    """Where a memory and a compute ceiling meet."""

    x: float
    y: float
    lit: bool
    compute: Ceiling


def roof_lines(
    roofline: Roofline, sources: frozenset[Source], bounds: frozenset[Bound], lit: frozenset[Bound] | None
) -> tuple[tuple[RoofLine, ...], tuple[RidgePoint, ...]]:
    lines: list[RoofLine] = []
    ridges: list[RidgePoint] = []
    for source in Source:
        if source not in sources:
            continue
        compute = [c for bound in Bound if bound in bounds for c in roofline.of(bound, source)]
        own_memory = roofline.of(Bound.DRAM, source)
        memory = own_memory[0] if own_memory else roofline.best(Bound.DRAM)
        for ceiling in compute:
            is_lit = lit is None or ceiling.bound in lit
            lines.append(_compute_line(ceiling, memory, is_lit))
            if memory:
                x, y = math.log10(ridge_point(memory, ceiling)), math.log10(ceiling.value)
                ridges.append(RidgePoint(x, y, is_lit, ceiling))
        tops = [c.value for c in compute]
        lit_tops = [c.value for c in compute if lit is None or c.bound in lit]
        for index, ceiling in enumerate(own_memory):
            lines.extend(_memory_lines(ceiling, tops, lit_tops, is_main=index == 0))
        for ceiling in roofline.of(Bound.L2, source)[:1]:
            lines.extend(_memory_lines(ceiling, tops, [], is_main=True))
    return tuple(lines), tuple(ridges)


def _compute_line(ceiling: Ceiling, memory: Ceiling | None, lit: bool) -> RoofLine:
    y = math.log10(ceiling.value)
    start = math.log10(ridge_point(memory, ceiling)) if memory else -FAR
    return RoofLine(ceiling, (start, y), (FAR, y), lit, is_main=True)


def _memory_lines(
    ceiling: Ceiling, tops: Sequence[float], lit_tops: Sequence[float], *, is_main: bool
) -> list[RoofLine]:
    """The slope up to the highest lit compute ceiling, and dim from there to the highest of all."""
    slope = math.log10(ceiling.value)
    top = math.log10(max(tops)) - slope if tops else FAR
    lit_top = math.log10(max(lit_tops)) - slope if lit_tops else (FAR if not tops else -FAR)
    pieces: list[RoofLine] = []
    if lit_top > -FAR:
        pieces.append(RoofLine(ceiling, (-FAR, slope - FAR), (lit_top, lit_top + slope), True, is_main))
    if top > lit_top:
        pieces.append(RoofLine(ceiling, (lit_top, lit_top + slope), (top, top + slope), False, is_main))
    return pieces
