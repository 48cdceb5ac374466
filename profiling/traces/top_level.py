"""What a trace says beside its events: the sheet of its devices."""

from typing import Any, cast

import msgspec

from roofscope.profiling.plain_text import one_line
from roofscope.profiling.traces.chunks import Layout
from roofscope.profiling.traces.columns import DeviceSheet
from roofscope.profiling.traces.events import whole
from roofscope.profiling.traces.repair import UNREADABLE, mended
from roofscope.profiling.traces.source import Source

_MOST_BYTES = 16 << 20  # before the events, and as much behind them; stacks of other tools may be more
_MOST_DEVICES = 64


def before_events(source: Source, layout: Layout) -> dict[str, Any]:
    """The fields before `traceEvents`; nothing where they are no JSON."""
    if layout.is_bare or layout.events_at > _MOST_BYTES:
        return {}
    return _fields(source.read(0, layout.events_at).removeprefix(b"\xef\xbb\xbf") + b"]}")


def behind_events(source: Source, layout: Layout, ends_at: int) -> dict[str, Any]:
    """The fields behind `traceEvents`; nothing where the file is cut or they are no JSON."""
    if layout.is_bare or ends_at < 0 or source.size - ends_at > _MOST_BYTES:
        return {}
    text = source.read(ends_at, _MOST_BYTES).lstrip(b" \t\r\n,")
    return _fields(b"{" + (text or b"}"))


def _fields(text: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(text)
    except UNREADABLE:
        new = mended(text, 0)
        found = msgspec.json.decode(new[0]) if new else None
    if not isinstance(found, dict):
        return {}
    fields = cast(dict[str, Any], found)
    fields.pop("traceEvents", None)
    return fields


def device_sheets(source: Source, layout: Layout, ends_at: int) -> tuple[DeviceSheet, ...]:
    said = before_events(source, layout).get("deviceProperties")
    if said is None:
        said = behind_events(source, layout, ends_at).get("deviceProperties")
    if not isinstance(said, list):
        return ()
    sheets = cast(list[Any], said)[:_MOST_DEVICES]
    return tuple(_sheet(cast(dict[str, Any], each)) for each in sheets if isinstance(each, dict))


def _sheet(said: dict[str, Any]) -> DeviceSheet:
    def amount(key: str) -> int:
        return max(0, whole(said.get(key), 0))

    return DeviceSheet(
        amount("id"),
        one_line(str(said.get("name", "")))[:200],
        amount("numSms"),
        amount("totalGlobalMem"),
        amount("computeMajor"),
        amount("computeMinor"),
    )
