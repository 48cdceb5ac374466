"""Whether a Chrome trace keeps to its format: what each viewer relies on, each fault as one sentence.

The format: "Trace Event Format" (Google, 2016). Checked of each event: a phase that the format has, a process
and a thread, a finite time, a duration that is not negative; of all: each flow has its begin and its end, in
order, and each slice of two events is closed on its thread.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Raw, Struct

from roofscope.profiling.decoding import UnreadableError, decode

_PHASES = frozenset("BEXiICbnesStTpFPNODMVvRcfaA()")
_FLOW = frozenset("stf")
_NO_TIME = frozenset("MVv")
_NO_THREAD = frozenset("MVvCacbnesTSFPNOD")


class _Event(Struct):
    ph: str
    pid: int | str | None = None
    tid: int | str | None = None
    ts: float | None = None
    dur: float | None = None
    cat: str = ""
    name: str = ""
    id: int | str | None = None

    @property
    def flow(self) -> tuple[str, str, int | str | None]:
        return self.cat, self.name, self.id


class _File(Struct):
    traceEvents: list[Raw]  # named by Chrome


_EVENTS = msgspec.json.Decoder(_Event)


def faults_of(chrome_json: bytes) -> tuple[str, ...]:
    """The faults of a trace, none for a valid one."""
    try:
        raws = decode(chrome_json, _File, most_bytes=len(chrome_json)).traceEvents
    except UnreadableError as error:
        return (f"It is no JSON object with a list traceEvents ({error}).",)
    counts: Counter[str] = Counter()
    sound: list[_Event] = []
    for raw in raws:
        try:
            event = _EVENTS.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            counts[f"cannot be read ({error})"] += 1
            continue
        if fault := _fault(event):
            counts[fault] += 1
        else:
            sound.append(event)
    said = [f"{count} events {fault}." for fault, count in counts.items()]
    return (*said, *_flow_faults(sound), *_open_faults(sound))


def _fault(event: _Event) -> str:
    """What is wrong with it, as a clause; "" where nothing is."""
    phase = event.ph
    if phase not in _PHASES or len(phase) != 1:
        return f"have the phase {phase!r}, which the format does not know"
    if phase not in _NO_TIME and not _is_time(event.ts):
        return f"of phase {phase} have no finite time"
    if phase == "X" and (not _is_time(event.dur) or (event.dur or 0) < 0):
        return "of phase X have no duration, or a negative one"
    if event.pid is None:
        return f"of phase {phase} name no process"
    if phase not in _NO_THREAD and event.tid is None:
        return f"of phase {phase} name no thread"
    if phase in _FLOW and event.id is None:
        return f"of phase {phase} have no id"
    return ""


def _is_time(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _flow_faults(events: Sequence[_Event]) -> Iterator[str]:
    begins: dict[tuple[str, str, int | str | None], float] = {}
    for event in events:
        if event.ph == "s":
            begins[event.flow] = min(event.ts or 0.0, begins.get(event.flow, math.inf))
    ends = [event for event in events if event.ph == "f"]
    ended = {event.flow for event in ends}
    if without_begin := sum(event.flow not in begins for event in ends):
        yield f"{without_begin} flows end and begin nowhere."
    if without_end := sum(flow not in ended for flow in begins):
        yield f"{without_end} flows begin and end nowhere."
    if backwards := sum((event.ts or 0.0) < begins.get(event.flow, -math.inf) for event in ends):
        yield f"{backwards} flows end before they begin."


def _open_faults(events: Sequence[_Event]) -> Iterator[str]:
    depth: Counter[tuple[int | str | None, int | str | None]] = Counter()
    ends_alone = 0
    for event in events:
        thread = event.pid, event.tid
        if event.ph == "B":
            depth[thread] += 1
        elif event.ph == "E":
            ends_alone += depth[thread] == 0
            depth[thread] = max(0, depth[thread] - 1)
    if ends_alone:
        yield f"{ends_alone} slices end and begin nowhere."
    if still_open := sum(depth.values()):
        yield f"{still_open} slices begin and end nowhere."
