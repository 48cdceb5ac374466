"""The sentences that a reader of pairs must know: devices, what the intervals hold, missing times."""

from collections.abc import Sequence

from roofscope.app.presentation.compare.marks_text import workload_name
from roofscope.app.presentation.formatting import counted_text, percent_text
from roofscope.app.presentation.point_row import reason_text, status_text
from roofscope.profiling.analysis.pairs import Change, Pair, SessionPairs, device_of
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.session import Session, version

_APART = "Measured apart: clocks and temperature may have changed in between"
_MOST_REASONS = 8  # of rows without a time


def apart_text(pair: Pair) -> str:
    held = percent_text(pair.between_runs)
    return f"{_APART}; the interval holds {held} for what two runs of unchanged code differ by."


def session_text(session: Session, name: str) -> str:
    device = session.device.name if session.device else "an unknown device"
    return one_line(f"{name} ({device}, {session.created_at[:10]})")


def device_notes(a: Session, b: Session, pairs: Sequence[Pair]) -> list[str]:
    notes: list[str] = []
    kinds = sorted(
        {(device_of(a, p.a.point), device_of(b, p.b.point)) for p in pairs if p.b and p.is_by_roof}, key=str
    )
    for mine, other in (tuple(one_line(name or "") for name in names) for names in kinds):
        notes.append(
            f"{mine or 'An unknown device'} and {other or 'an unknown device'} are two kinds of device: "
            "points are compared by the fraction that each reaches of its own roof, and not by time; the "
            "intervals hold the errors of both roofs."
        )
    if not kinds:
        notes += _two_devices_note(a.device, b.device)
    for package in ("torch", "triton"):
        mine, other = version(a, package), version(b, package)
        if mine and other and mine != other:
            notes.append(f"A had {package} {one_line(mine)}, B {one_line(other)}.")
    return notes


def _two_devices_note(a: Device | None, b: Device | None) -> list[str]:
    """Where no pair is of two kinds: two of one kind, or two sessions that have no pair."""
    if a is None or b is None or a.uuid == b.uuid:
        return []
    mine, other = one_line(a.name), one_line(b.name)
    if mine != other:
        return [f"A was measured on {mine} and B on {other}, which are two kinds of device."]
    if a.kind is DeviceKind.CPU:
        return [f"A and B were measured on two machines, each with one {mine}."]
    return [f"A and B were measured on two {mine}, not on the same one."]


def together(pairs: Sequence[Pair]) -> list[str]:
    count = sum(pair.ratio is not None and pair.change is not Change.SAME for pair in pairs)
    return [f"{count} comparisons hold 95 % together."] if count > 1 else []


def apart(pairs: Sequence[Pair]) -> list[str]:
    apart = [
        pair for pair in pairs if pair.ratio and not pair.common_rounds and pair.change is not Change.SAME
    ]
    return [apart_text(apart[0]).replace("the interval holds", "the intervals hold")] if apart else []


def work_note(pairs: Sequence[Pair]) -> list[str]:
    if any(pair.is_by_roof for pair in pairs):
        return ["Pins of different work or GPUs are compared by the share that each reaches of its own roof."]
    return []


def unchanged_note(found: SessionPairs) -> list[str]:
    """How far apart the same source came out: the scale of what an edit must exceed."""
    apart = found.apart
    held = next((pair.between_runs for pair in found.pairs if pair.ratio), 0.0)
    middle, most = percent_text(apart.middle), percent_text(apart.most)
    said = f"{apart.rows} rows of unchanged source differ by {middle} in the middle and {most} at most"
    held_too = f"so much comes from measuring apart, and each interval holds {percent_text(held)} for it."
    return [f"{_APART}. {said}: {held_too}"]


def reasons(pairs: Sequence[Pair]) -> list[str]:
    """Why a row has no time, a sentence each."""
    sides = [side.point for pair in pairs for side in (pair.a, pair.b) if side]
    untimed = {point.number: point for point in sides if point.measured is None}
    found = [
        f"{workload_name(point)}, {point.implementation.label}: {status_text(point)}. {reason_text(point)}"
        for point in untimed.values()
    ]
    more = len(found) - _MOST_REASONS
    shown = map(one_line, found[:_MOST_REASONS])
    return [
        *shown,
        *([f"{counted_text(more, 'more row')} without a time."] if more > 0 else []),
    ]


def alone_note(found: SessionPairs) -> list[str]:
    if not found.only_a and not found.only_b:
        return []
    return [f"{counted_text(found.only_a, 'point')} only in A, {found.only_b} only in B."]
