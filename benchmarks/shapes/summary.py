"""What the measured shapes come to: a Markdown row each, then the worst ratio of each kernel and peer.

A ratio is ours over theirs in speed, so their time over ours: above 1 ours is faster.
"""

from collections.abc import Iterator, Sequence
from statistics import median

from msgspec import Struct

from roofscope.app.presentation.formatting import range_text, size_and_fill_text
from roofscope.benchmarks.peers.table import OURS, PEERS, named, peer_over_ours, time_of
from roofscope.benchmarks.shapes.lines import Measured
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Cancelled, Failed, Skipped
from roofscope.profiling.results.session import Point

LEAST = 0.90  # of the speed of the best peer, at any shape
_HEADER = ("kernel", "no.", "shape", "sizes", "best of ours", "eager", "torch.compile", "libraries")
_WORST_HEADER = ("kernel", "peer", "shapes", "median", "worst", "at", f"below {LEAST:.2f}")


class Standing(Struct, frozen=True):
    """A kernel's best versions against one peer, or the fastest of all, over the shapes that both have."""

    kernel: str
    peer: str
    ratios: tuple[float, ...]
    worst: float
    at: str  # the sizes of the worst

    @property
    def below(self) -> int:
        return sum(ratio < LEAST for ratio in self.ratios)


def falls_short(measured: Measured) -> bool:
    """Whether ours is below the least at a shape, or has no time where a peer has one."""
    if measured.line.fastest(*PEERS) is None:
        return False
    ratio = _ratio(measured, measured.line.fastest(*PEERS))
    return ratio is None or ratio < LEAST


def standings(measured: Sequence[Measured]) -> Iterator[Standing]:
    """By kernel: against the fastest peer, then against each."""
    kernels = dict.fromkeys(one.shape.workload.kernel for one in measured)
    for kernel in kernels:
        of_kernel = [one for one in measured if one.shape.workload.kernel == kernel]
        if found := _standing(kernel, "best peer", [(one, one.line.fastest(*PEERS)) for one in of_kernel]):
            yield found
        peers = {
            point.implementation.stem: point.implementation.label
            for one in of_kernel
            for point in one.line.points
            if point.implementation.provider in PEERS
        }
        for stem, label in peers.items():
            if found := _standing(kernel, label, [(one, one.line.of(stem)) for one in of_kernel]):
                yield found


def markdown(measured: Sequence[Measured]) -> Iterator[str]:
    """The rows, the standings, then a line a reason: versions without a time, and at how many shapes."""
    yield _joined((*_HEADER, "ours / best peer in speed", ""))
    yield _joined((*["---"] * 4, *["---:"] * 5, "---"))
    for one in measured:
        yield _joined(_cells(one))
    yield ""
    yield _joined(_WORST_HEADER)
    yield _joined(("---", "---", "---:", "---:", "---:", "---", "---:"))
    for found in standings(measured):
        worst = f"**{found.worst:.3f}**" if found.worst < LEAST else f"{found.worst:.3f}"
        yield _joined(
            (
                *(found.kernel, found.peer, str(len(found.ratios)), f"{median(found.ratios):.3f}"),
                *(worst, found.at, str(found.below or "")),
            )
        )
    if absent := list(_absent(measured)):
        yield ""
        yield from absent


def _standing(kernel: str, peer: str, pairs: Sequence[tuple[Measured, Point | None]]) -> Standing | None:
    found = [(ratio, _sizes(one)) for one, point in pairs if (ratio := _ratio(one, point)) is not None]
    if not found:
        return None
    worst, at = min(found)
    return Standing(kernel, peer, tuple(ratio for ratio, _ in found), worst, at)


def _ratio(measured: Measured, peer: Point | None) -> float | None:
    found = peer_over_ours(peer, measured.line.fastest(*OURS))
    return found.ratio if found else None


def _sizes(measured: Measured) -> str:
    workload = measured.shape.workload
    return f"{workload.dtype} {size_and_fill_text(workload)}"


def _cells(measured: Measured) -> Iterator[str]:
    line, shape = measured.line, measured.shape
    best, peer = line.fastest(*OURS), line.fastest(*PEERS)
    yield from (shape.workload.kernel, str(shape.number), str(shape.kind), _sizes(measured))
    yield f"{best.implementation.label} {time_of(best)}" if best else ""
    yield from (time_of(line.fastest(Provider.EAGER)), time_of(line.fastest(Provider.COMPILE)))
    yield ", ".join(
        named(point)
        for point in line.points
        if point.measured and point.implementation.provider is Provider.LIBRARY
    )
    found = peer_over_ours(peer, best)
    yield f"{found.ratio:.3f} ({range_text(found.low, found.high)})" if found else ""
    yield _judged(measured)


def _judged(measured: Measured) -> str:
    if measured.line.fastest(*PEERS) is None:
        return "no peer has a time"
    if not falls_short(measured):
        return ""
    return f"**below {LEAST:.2f}**" if measured.line.fastest(*OURS) else "**ours has no time**"


def _absent(measured: Sequence[Measured]) -> Iterator[str]:
    """A line a version: reasons name sizes, and would be a line a shape."""
    counts: dict[tuple[str, str], list[str]] = {}
    for one in measured:
        for point in one.line.points:
            if isinstance(point.outcome, Skipped | Failed | Cancelled):
                key = point.implementation.key, type(point.outcome).__name__.lower()
                counts.setdefault(key, []).append(point.outcome.message)
    for (key, how), messages in counts.items():
        shapes = "1 shape" if len(messages) == 1 else f"{len(messages)} shapes"
        yield f"- {key} was {how} at {shapes}: {messages[0]}"


def _joined(cells: Sequence[str] | Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"
