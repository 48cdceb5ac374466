"""Events and whole traces written by hand, and what is read of them."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from roofscope.profiling.traces.columns import Category, Trace
from roofscope.profiling.traces.reading import open_trace, read_trace_bytes

RECORDED = Path(__file__).parent / "data" / "traces"
Event = dict[str, Any]


def recorded(name: str) -> Trace:
    return open_trace(RECORDED / f"block-{name}.json.gz")


def counted(trace: Trace, category: Category) -> int:
    return int(np.count_nonzero(trace.slices.category == category))


def slice_(name: str, begin: float, long: float, **fields: Any) -> Event:
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 2, "ts": begin, "dur": long, **fields}


def kernel(name: str, begin: float, long: float, correlation: int) -> Event:
    said = {"device": 0, "stream": 7, "correlation": correlation}
    return slice_(name, begin, long, cat="kernel", pid=0, tid=7, args=said)


def launch(begin: float, long: float, correlation: int) -> Event:
    said = {"correlation": correlation}
    return slice_("cudaLaunchKernel", begin, long, cat="cuda_runtime", args=said)


def flow(phase: str, number: Any, event: Event, cat: str = "ac2g") -> Event:
    ends = {"bp": "e"} if phase == "f" else {}
    place = {key: event[key] for key in ("pid", "tid", "ts")}
    return {"ph": phase, "id": number, "cat": cat, "name": cat, **place, **ends}


def text_of(events: list[Any], indent: int | None = None) -> str:
    return json.dumps({"schemaVersion": 1, "traceEvents": events, "traceName": "t"}, indent=indent)


def read(text: str | bytes) -> Trace:
    raw = text.encode() if isinstance(text, str) else text
    return read_trace_bytes(gzip.compress(raw, 1), "t")


def read_events(*events: Any) -> Trace:
    return read(text_of(list(events)))


def names_of(trace: Trace) -> list[str]:
    return [trace.name_of(at) for at in range(len(trace.slices))]


def arrows(trace: Trace) -> list[tuple[str, str]]:
    pairs = zip(trace.flows.source.tolist(), trace.flows.target.tolist(), strict=True)
    return sorted((trace.name_of(begin), trace.name_of(end)) for begin, end in pairs)


OPERATOR = slice_("op", 10.5, 4.25, args={"External id": 3})


def write_no_traces(folder: Path) -> dict[Path, str]:
    """What people take for traces, and what the sentence about each must hold.

    The bomb is one only where a test lowers ``source._FREE_OF_RATIO``: a real one takes seconds to make.
    """
    made = {
        "bomb.json.gz": (gzip.compress(b'{"traceEvents": [' + b" " * (4 << 20)), "times its size"),
        "nothing.json": (b"", "is empty"),
        "picture.json": (b"\x89PNG\r\n\x1a\n" + bytes(100), "is no JSON"),
        "deep.json": (b'{"traceEvents": ' + b"[" * 100_000, "holds no event that can be read"),
        "sparse.json": (b"", "begins with zeros"),
    }
    for name, (content, _) in made.items():
        (folder / name).write_bytes(content)
    with (folder / "sparse.json").open("wb") as file:
        file.truncate(5 << 30)
    return {folder / name: said for name, (_, said) in made.items()}
