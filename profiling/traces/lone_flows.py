"""Arrows that have one end are left out of a trace that goes to other viewers, which report each as an error.

Kineto writes such ends at calls that launch nothing (`flows.py` says why). All else stays as it was, byte for
byte.
"""

from collections.abc import Hashable

import numpy as np

from roofscope.profiling.results.chrome_trace import TraceError
from roofscope.profiling.traces.chunks import EventReader, find_layout
from roofscope.profiling.traces.columns import Whole
from roofscope.profiling.traces.events import Event
from roofscope.profiling.traces.source import from_bytes

_STEPS = ("s", "t", "f")


def without_lone_flows(chrome_json: bytes) -> bytes:
    """The JSON text without the events of flows that lack their begin or their end.

    What is no trace, and one that is broken, stays as it is: where each event ends is not certain there.
    """
    source = from_bytes(chrome_json)
    try:
        reader = EventReader(source, find_layout(source, "trace"), lambda _: None)
    except TraceError:
        return chrome_json
    places: list[Whole] = []
    ends: list[Whole] = []
    flows: list[tuple[int, str, Hashable]] = []  # the event's number, its phase and its flow
    count = 0
    for batch in reader.batches():
        events = enumerate(batch.events, count)
        flows += [(number, each.ph, _flow(each)) for number, each in events if each.ph in _STEPS]
        count += len(batch.events)
        places.append(batch.offset)
        ends.append(batch.offset + batch.length)
    begun = {flow for _, phase, flow in flows if phase == "s"}
    ended = {flow for _, phase, flow in flows if phase == "f"}
    lone = [number for number, _, flow in flows if flow not in begun or flow not in ended]
    if not lone or reader.dropped or reader.repaired or reader.is_cut:
        return chrome_json
    return _without(chrome_json, lone, np.concatenate(places), np.concatenate(ends))


def _flow(event: Event) -> Hashable:
    number = event.id if isinstance(event.id, int | str) else repr(event.id)
    return event.cat, event.name, number


def _without(text: bytes, gone: list[int], begin: Whole, end: Whole) -> bytes:
    """Each with the comma behind it; those at the end with the comma before them."""
    stays = np.ones(len(begin), bool)
    stays[gone] = False
    kept = np.flatnonzero(stays)
    after = int(end[kept[-1]]) if len(kept) else int(begin[0])
    stops = [*begin[kept[:-1] + 1].tolist(), after]
    pieces = (text[first:stop] for first, stop in zip(begin[kept].tolist(), stops, strict=False))
    return b"".join((text[: int(begin[0])], *pieces, text[int(end[-1]) :]))
