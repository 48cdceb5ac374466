"""The bandwidth strip: kernels without FLOPs have no arithmetic intensity, only a bandwidth."""

import math

from msgspec import Struct

from roofscope.app.presentation.roofline.caption import STRIP_TITLE
from roofscope.app.presentation.roofline.ceiling_names import CeilingName, Leaving, names_above
from roofscope.app.presentation.roofline.ceiling_words import Words
from roofscope.app.presentation.roofline.geometry import Font, View
from roofscope.app.presentation.roofline.points import StripPoint
from roofscope.app.presentation.roofline.ranges import Range
from roofscope.app.presentation.roofline.scene import ChartScene
from roofscope.app.presentation.tokens import Tone
from roofscope.profiling.roofline.roofline import Ceiling

LANE = 16.0  # pixels that a kernel takes
STRIP_MARKER = 9.0
_TITLE_AIR = 16.0


class StripScene(Struct, frozen=True):
    """x is log10 of byte/s; each kernel has a lane, lane 0 on top."""

    x_range: Range
    kernels: tuple[str, ...]
    points: tuple[StripPoint, ...]
    ceilings: tuple[Ceiling, ...]  # those that judge its points, highest first
    says_source: bool  # where it is not the one that the plot above says for all

    def lane(self, point: StripPoint) -> int:
        return self.kernels.index(point.kernel)


class StripLayout(Struct, frozen=True):
    """In pixels: where ceilings stand, and their names above the lanes."""

    lines: tuple[float, ...]
    names: tuple[CeilingName, ...]


def lay_out_strip(strip: StripScene, view: View, font: Font, beyond: float) -> StripLayout:
    """Name each ceiling over its own line, right of the strip's title and up to ``beyond`` the lanes."""
    words = Words(short=False, says_source=strip.says_source)
    top = view.box.top
    left = [
        Leaving(ceiling, (view.px(math.log10(ceiling.value)), top), True, Tone.LIT, None)
        for ceiling in strip.ceilings
    ]
    room = (view.box.left + font.width(STRIP_TITLE) + _TITLE_AIR, view.box.right + beyond - 4)
    names = names_above(left, words, font, room, top - font.height - 5, top)
    return StripLayout(tuple(leave.at[0] for leave in left), tuple(names))


def strip_of(scene: ChartScene) -> StripScene | None:
    """None while every kernel shown has an intensity."""
    if not scene.strip:
        return None
    judging = dict.fromkeys(point.roof for point in scene.strip if point.roof)
    ceilings = tuple(sorted(judging, key=lambda ceiling: -ceiling.value))
    tops = [math.log10(ceiling.value) for ceiling in ceilings]
    tops = tops or [max(point.x for point in scene.strip)]
    extent = Range(math.floor(min(tops) * 4) / 4 - 1.5, math.ceil(max(tops) * 4 + 0.6) / 4)
    return StripScene(
        extent.widened_to(point.x for point in scene.strip),
        tuple(dict.fromkeys(point.kernel for point in scene.strip)),
        scene.strip,
        ceilings,
        says_source={ceiling.source for ceiling in ceilings} != {line.ceiling.source for line in scene.lines},
    )
