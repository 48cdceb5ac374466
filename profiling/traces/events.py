"""One event of a Chrome trace as the reader takes it, from JSON that is right or nearly right."""

import math
from typing import Any, cast

import msgspec
from msgspec import Struct, field

from roofscope.profiling.traces.repair import UNREADABLE, mended

_LARGEST = 2**61


class Arguments(Struct, gc=False):
    """The few arguments that columns are made of. Any: one wrong type must not cost the whole chunk."""

    correlation: Any = -1
    external: Any = field(name="External id", default=-1)
    external_before: Any = field(name="external id", default=-1)  # as Kineto wrote it until 2023
    device: Any = None
    stream: Any = None
    name: Any = None  # of a process or thread
    labels: Any = None
    sort_index: Any = None
    bytes: Any = field(name="Bytes", default=None)
    allocated: Any = field(name="Total Allocated", default=None)
    device_id: Any = field(name="Device Id", default=None)
    device_type: Any = field(name="Device Type", default=None)


class Event(Struct, gc=False):
    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: Any = None
    tid: Any = None
    ts: float | str | None = None  # us
    dur: float | str | None = None  # us
    id: Any = None
    bp: Any = None
    args: Arguments | None = None


NO_ARGUMENTS = Arguments()
event_list = msgspec.json.Decoder(list[Event]).decode
_one_event = msgspec.json.Decoder(Event).decode


def lenient_event(json_text: bytes) -> Event | None:
    """An event whose fields may have any type: a number for a name, a list for its arguments."""
    try:
        return _one_event(json_text)
    except UNREADABLE:
        pass
    found = decoded(json_text)
    if not isinstance(found, dict):
        return None
    fields = cast(dict[str, Any], found)
    arguments = fields.get("args")
    texts: dict[str, Any] = {key: _text(fields.get(key)) for key in ("ph", "cat", "name")}
    others: dict[str, Any] = {key: fields.get(key) for key in ("pid", "tid", "id", "bp")}
    others |= {key: _time(fields.get(key)) for key in ("ts", "dur")}
    args = msgspec.convert(arguments, Arguments) if isinstance(arguments, dict) else None
    return Event(**texts, **others, args=args)


def event_json(json_text: bytes) -> bytes | None:
    """Valid JSON of an event, which is as it was where it was valid."""
    if decoded(json_text) is not None:
        return json_text
    new = mended(json_text, 0)
    return new[0] if new else None


def decoded(json_text: bytes) -> Any:
    """None where this is no valid JSON."""
    try:
        return msgspec.json.decode(json_text)
    except UNREADABLE:
        return None


def _time(value: Any) -> float | str | None:
    """Numpy would take true for 1 us."""
    return value if isinstance(value, int | float | str) and not isinstance(value, bool) else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)[:200]


def whole(value: Any, otherwise: int = -1) -> int:
    """An integer, also one that was written as text or with a point; ``otherwise`` where it is none."""
    if type(value) is int:
        return value if -_LARGEST < value < _LARGEST else otherwise
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return otherwise
    if not math.isfinite(number) or abs(number) >= _LARGEST:
        return otherwise
    if isinstance(value, str) and value.strip().lstrip("+-").isdecimal():
        return int(value)
    return int(number)


def number(value: Any) -> float:
    """Microseconds, also as text; not a number where there is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
