"""A trace written again as valid JSON: each event that could be read, and all that stood around them."""

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from roofscope.profiling.traces.chunks import Batch, EventReader, Layout, find_layout
from roofscope.profiling.traces.columns import Trace
from roofscope.profiling.traces.events import event_json
from roofscope.profiling.traces.repair import UNREADABLE
from roofscope.profiling.traces.source import Progress, Source, from_bytes
from roofscope.profiling.traces.top_level import before_events, behind_events

_raw_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_raw_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def repaired_json(trace: Trace, progress: Progress | None = None) -> Iterator[bytes]:
    """Pieces of the whole text. What is valid stays as it was written."""
    source = from_bytes(trace.json_bytes())
    layout = find_layout(source, trace.title)
    reader = EventReader(source, layout, progress or _silent)
    yield _before(source, layout)
    is_first = True
    for batch in reader.batches():
        for text in _texts(source, batch):
            yield b"\n  " + text if is_first else b",\n  " + text
            is_first = False
    yield b"\n  ]"
    if not layout.is_bare:
        yield _behind(source, layout, reader.ends_at)


def _silent(_: float) -> None:
    return None


def _before(source: Source, layout: Layout) -> bytes:
    if layout.is_bare:
        return b"["
    text = source.read(0, layout.events_at).removeprefix(b"\xef\xbb\xbf")
    if _is_object(text + b"]}"):
        return text
    fields = msgspec.json.encode(before_events(source, layout))[:-1]
    return fields + (b", " if len(fields) > 1 else b"") + b'"traceEvents": ['


def _behind(source: Source, layout: Layout, ends_at: int) -> bytes:
    if ends_at < 0:
        return b"}"
    text = source.read(ends_at, source.size)
    if _is_object(b'{"": 0' + text):
        return text
    fields = msgspec.json.encode(behind_events(source, layout, ends_at))[1:]
    return (b", " if len(fields) > 1 else b"") + fields


def _texts(source: Source, batch: Batch) -> Iterator[bytes]:
    """The events of a batch at once where all of it is valid, else one by one."""
    first = int(batch.offset[0])
    region = source.read(first, int(batch.offset[-1] + batch.length[-1]) - first)
    if batch.is_plain and _count(region) == len(batch.events):
        yield region
        return
    for offset, length in zip(batch.offset.tolist(), batch.length.tolist(), strict=True):
        if text := event_json(source.read(offset, length)):
            yield text


def _count(region: bytes) -> int:
    """Of the values that stand there between commas; -1 where they are no valid JSON."""
    try:
        region.decode()  # msgspec looks at no text that it passes over
        return len(_raw_list(b"".join((b"[", region, b"]"))))
    except UNREADABLE:
        return -1


def _is_object(text: bytes) -> bool:
    try:
        text.decode()
        found: Any = _raw_fields(text)
    except UNREADABLE:
        return False
    return bool(found)


def packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """As gzip, without a name and a time, so that the same trace gives the same file."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    yield from map(packer.compress, pieces)
    yield packer.flush()
