"""Recorded traces, changed: what the timeline gets of them must hold together, and be saved as valid JSON."""

import gzip
import json
import random
import tempfile
from functools import cache
from pathlib import Path

from roofscope.app.presentation.traces.comparison import comparison_sentences
from roofscope.profiling.results.chrome_trace import TraceError
from roofscope.profiling.traces.columns import Category, Trace
from roofscope.profiling.traces.comparison import NothingToCompare, compare_traces
from roofscope.profiling.traces.reading import open_trace, read_trace_bytes
from roofscope.profiling.traces.roofline import trace_roofline
from roofscope.profiling.traces.saving import repaired_json
from roofscope.tests.fuzz.mutate import changed_bytes, changed_value


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="roofscope-fuzz-"))


@cache
def recorded_traces() -> tuple[bytes, ...]:
    """The head, a middle and the tail of recorded ones: each kind of event, and mutations that reach them."""
    folder = Path(__file__).parents[1] / "data" / "traces"
    return tuple(_excerpt(gzip.decompress(path.read_bytes())) for path in sorted(folder.glob("*.json.gz")))


def _excerpt(whole: bytes) -> bytes:
    content = json.loads(whole)
    events = content["traceEvents"]
    kept = [*events[:12], *(each for at, each in enumerate(events) if at % 40 == 0), *events[-20:]]
    device = [each for each in events if each.get("args", {}).get("stream") == 7][:6]
    same = {each["args"]["correlation"] for each in device}
    launches = [each for each in events if each.get("args", {}).get("correlation") in same]
    flows = [each for each in events if each.get("id") in same]
    ids = {each["args"].get("External id") for each in device} - {None}
    operators = [
        each
        for each in events
        if each.get("cat") == "cpu_op" and each.get("args", {}).get("External id") in ids
    ]
    content["traceEvents"] = [*kept, *launches, *flows, *operators]
    return json.dumps(content, indent=1).encode()


def changed_timeline(chance: random.Random) -> bytes:
    good = chance.choice(recorded_traces())
    match chance.randrange(6):
        case 0:
            return changed_bytes(gzip.compress(good, 1, mtime=0), chance)
        case 1:
            return good[: chance.randrange(len(good))]
        case 2:
            return json.dumps(changed_value(json.loads(good), chance)).encode()
        case 3:
            events = json.loads(good)["traceEvents"]
            return json.dumps([changed_value(each, chance) for each in events]).encode()
        case _:
            return changed_bytes(good, chance)


def feed_timeline(data: bytes) -> str:
    path = _folder() / "changed.json"
    path.write_bytes(data)
    try:
        trace = open_trace(path)
    except TraceError as error:
        return "" if str(error).count(". ") == 0 else f"more than a sentence: {error}"
    return _fault_of(trace) or _fault_of_facts(trace) or _fault_of_saved(trace)


def _fault_of(trace: Trace) -> str:
    slices, begin = trace.slices, trace.lane_begin.tolist()
    if begin[0] or begin[-1] != len(slices) or len(begin) != len(trace.lanes) + 1:
        return "lanes that do not hold the slices"
    for lane, first, last in zip(trace.lanes, begin[:-1], begin[1:], strict=True):
        depth, start = slices.depth[first:last], slices.start_ns[first:last]
        if first == last or int(depth.max()) + 1 != lane.most_deep or (start[1:] < start[:-1]).any():
            return "a lane that is empty, out of order or of another depth"
    if slices.start_ns.min() < 0 or slices.duration_ns.min() < 0 or slices.end_ns.max() != trace.end_ns:
        return "a slice outside of the trace"
    ends = (*trace.flows.source.tolist(), *trace.flows.target.tolist())
    if any(not 0 <= each < len(slices) for each in ends):
        return "an arrow to nothing"
    for at in range(0, len(slices), 7):
        trace.name_of(at)
        trace.arguments_of(at)
    return ""


def _fault_of_facts(trace: Trace) -> str:
    """All work of GPUs is known or named as unknown, and a trace is like itself."""
    at_work = trace.slices.category <= Category.MEMSET
    worked_s = float(trace.slices.duration_ns[at_work].sum()) * 1e-9
    if abs(trace_roofline(trace).time_s - worked_s) > 1e-6 * worked_s + 1e-9:
        return "a roofline that loses time"
    try:
        compared = compare_traces([trace, trace])
    except NothingToCompare:
        return "work that is not compared" if at_work.any() else ""
    comparison_sentences(compared)
    same = all(not any(kernel.differences_s) for kernel in compared.kernels)
    return "" if same else "a trace that differs from itself"


def _fault_of_saved(trace: Trace) -> str:
    saved = b"".join(repaired_json(trace))
    json.loads(saved)
    again = read_trace_bytes(gzip.compress(saved, 1), "t")
    if again.health.repaired or again.health.is_cut or len(again.slices) != len(trace.slices):
        return f"{trace.health}, {len(trace.slices)} slices; saved {again.health}, {len(again.slices)}"
    return ""
