"""A sweep's values as ``plot --json`` prints them: an implementation, its sizes, and why one has no time."""

from msgspec import Struct

from roofscope.app.presentation.sweep.scene import SweepLine, SweepScene
from roofscope.profiling.planning.spec import Provider


class SweptSize(Struct, frozen=True, kw_only=True):
    """A size of an implementation; ``value`` null where it has no time, for the reason given."""

    point: int
    x: float
    sizes: str
    value: float | None
    low: float | None
    high: float | None
    flags: tuple[str, ...]
    reason: str = ""


class SweptImplementation(Struct, frozen=True, kw_only=True):
    implementation: str
    provider: Provider
    sizes: tuple[SweptSize, ...]


def swept_implementations(scene: SweepScene) -> tuple[SweptImplementation, ...]:
    return tuple(
        SweptImplementation(implementation=line.key, provider=line.provider, sizes=_sizes(line))
        for line in scene.lines
    )


def _sizes(line: SweepLine) -> tuple[SweptSize, ...]:
    timed = [
        SweptSize(
            point=dot.number,
            x=dot.x,
            sizes=dot.sizes,
            value=dot.y,
            low=dot.low,
            high=dot.high,
            flags=dot.warnings,
        )
        for dot in line.dots
    ]
    others = [
        SweptSize(
            point=gap.number,
            x=gap.x,
            sizes=gap.sizes,
            value=None,
            low=None,
            high=None,
            flags=(),
            reason=gap.reason,
        )
        for gap in line.gaps
    ]
    return tuple(sorted((*timed, *others), key=lambda size: (size.x, size.point)))
