"""A session's points as CSV and JSON, and as a table of sizes by implementations."""

import json
import math
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec
from msgspec import Struct

from roofscope import __version__
from roofscope.profiling.analysis.advice.record import WhyRecord
from roofscope.profiling.analysis.flatten import point_records
from roofscope.profiling.analysis.frame import make_frame
from roofscope.profiling.analysis.point_record import PointRecord
from roofscope.profiling.analysis.tuning_record import TuningRecord, tuning_records
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.plain_text import cell_text, escaped_in_json
from roofscope.profiling.results.session import Identity, Origin, Session
from roofscope.profiling.roofline.conditions import Conditions
from roofscope.profiling.roofline.roofline import Ceiling

if TYPE_CHECKING:
    from pandas import DataFrame

_END = "\r\n"  # RFC 4180


class CeilingRecord(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One ceiling, its value under the name of its unit."""

    bound: str
    mix: str | None
    source: str
    value_byte_per_s: float | None = None
    value_flop_per_s: float | None = None
    method: str
    device_uuid: str
    recorded_at: str
    clock_hz: float | None = None
    conditions: Conditions | None = None


Schema = Literal["roofscope/1"]
SCHEMA: Schema = "roofscope/1"  # of every JSON document; changes when a reader would have to


class SessionDocument(Struct, frozen=True):
    """All of a session in one JSON object; an unknown value is null, and so is an infinite one."""

    schema: Schema
    roofscope_version: str  # that wrote the document
    created_at: str
    session: Identity
    environment: Environment | None
    device: Device | None
    environments: tuple[Origin, ...]  # each by the number that its points have
    ceilings: tuple[CeilingRecord, ...]
    points: tuple[PointRecord, ...]
    why: tuple[WhyRecord, ...] = ()  # of the measured points: what limits each, in words
    tunings: tuple[TuningRecord, ...] = ()  # what autotuners tried


def session_document(session: Session, why: tuple[WhyRecord, ...] = ()) -> SessionDocument:
    return SessionDocument(
        schema=SCHEMA,
        roofscope_version=__version__,
        created_at=session.created_at,
        session=session.identity,
        environment=session.environment,
        device=session.device,
        environments=session.origins,
        ceilings=tuple(map(_ceiling_record, session.roofline.ceilings)),
        points=tuple(point_records(session)),
        why=why,
        tunings=tuning_records(session.points),
    )


def json_report(session: Session, why: tuple[WhyRecord, ...] = ()) -> str:
    """The document as text."""
    return json_text(session_document(session, why)) + "\n"


def json_text(document: Struct) -> str:
    """Indented. What acts on a terminal is escaped as JSON escapes it: it reads back as it was."""
    try:
        encoded = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    except UnicodeEncodeError:  # the name of a file that is not UTF-8, which Python's own reader takes back
        encoded = json.dumps(_finite(msgspec.to_builtins(document)), indent=2, ensure_ascii=False)
    return escaped_in_json(encoded)


def _finite(value: object) -> object:
    """JSON has no infinity: null, as msgspec writes it."""
    if isinstance(value, dict):
        return {key: _finite(below) for key, below in cast("dict[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_finite(below) for below in cast("list[object]", value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def csv_report(session: Session) -> str:
    """The frame as RFC 4180 text, its CRLF included, with a header line.

    An unknown value is an empty cell, a count never reached ``inf``. A float reads back to the same float.
    """
    frame: Any = make_frame([session])  # pandas types only part of what follows
    # A count with gaps and infinities is a float in a frame; here it is written as a count.
    for name in ("break_even_wall_call_count", "break_even_graph_call_count"):
        frame[name] = frame[name].map(_count_text)
    return csv_text(frame)


def csv_text(frame: "DataFrame") -> str:
    """RFC 4180 text in which no cell is a formula and no character acts; numbers are as they were."""
    safe: Any = frame.rename(columns=lambda name: cell_text(str(name)))
    for place, dtype in enumerate(safe.dtypes):
        if dtype in ("string", "object"):
            column = safe.iloc[:, place]
            safe.isetitem(place, column.map(_safe))
    return safe.to_csv(index=False, lineterminator=_END)


def _safe(cell: object) -> object:
    return cell_text(cell) if isinstance(cell, str) else cell


def _count_text(count: float) -> str:
    if math.isnan(count):
        return ""
    return str(int(count)) if math.isfinite(count) else str(count)


def _ceiling_record(ceiling: Ceiling) -> CeilingRecord:
    is_memory = ceiling.bound.is_memory
    return CeilingRecord(
        bound=str(ceiling.bound),
        mix=str(ceiling.mix) if ceiling.mix else None,
        source=str(ceiling.source),
        value_byte_per_s=ceiling.value if is_memory else None,
        value_flop_per_s=None if is_memory else ceiling.value,
        method=ceiling.method,
        device_uuid=ceiling.device_uuid,
        recorded_at=ceiling.recorded_at,
        clock_hz=ceiling.clock_hz,
        conditions=ceiling.conditions,
    )
