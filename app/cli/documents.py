"""What ``--json`` prints: one document a command, each a struct, so that its JSON Schema can be published.

Values are in SI base units with the unit in the name; null stands for what is not known.
"""

from typing import Literal

import msgspec
from msgspec import Struct

from roofscope import __version__
from roofscope.profiling.analysis.verdict import VerdictKind, verdict
from roofscope.profiling.devices.device import Device, DeviceState
from roofscope.profiling.doctor import Check
from roofscope.profiling.planning.catalog import CatalogProblem
from roofscope.profiling.planning.spec import Axis, Dtype, Preset, Provider
from roofscope.profiling.results.outcome import Cancelled, Failed, Flag, Measured, Skipped
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.roofline.roofline import Ceiling

SCHEMA = "roofscope/1"


class Document(Struct, frozen=True, kw_only=True, tag_field="document"):
    """What every document begins with. ``schema`` changes when a reader would have to."""

    schema: Literal["roofscope/1"] = SCHEMA
    roofscope_version: str = __version__


class PointResult(Struct, frozen=True, kw_only=True):
    """One outcome of one implementation."""

    number: int
    kernel: str
    implementation: str
    provider: Provider
    dtype: Dtype
    sizes: dict[str, int]
    outcome: Literal["measured", "skipped", "failed", "cancelled"]
    message: str = ""  # why there is no time
    median_s: float | None = None
    low_s: float | None = None  # of the interval that holds the median with 95 % confidence
    high_s: float | None = None
    achieved_bandwidth_byte_per_s: float | None = None
    achieved_flop_per_s: float | None = None
    relative_error: float | None = None
    verdict: VerdictKind
    limiter: str | None = None
    fraction_of_roof: float | None = None
    flags: tuple[Flag, ...] = ()


class SessionDocument(Document, frozen=True, kw_only=True, tag="session"):
    """Of ``run`` and ``show``. ``problem``: why the run did not do all that was planned."""

    session: str | None  # the file; null where none was kept
    device: Device | None
    points: tuple[PointResult, ...]
    problem: str = ""


class CeilingsDocument(Document, frozen=True, kw_only=True, tag="ceilings"):
    device: Device
    ceilings: tuple[Ceiling, ...]
    is_kept: bool = False  # measured before and not now
    problem: str = ""


class SelftestDocument(Document, frozen=True, kw_only=True, tag="selftest"):
    session: str | None
    device: Device
    passed: bool
    proofs: tuple[Proof, ...]
    missing_count: int = 0  # proofs asked for and not carried out
    problem: str = ""


class DoctorDocument(Document, frozen=True, kw_only=True, tag="doctor"):
    checks: tuple[Check, ...]
    missing: tuple[str, ...] = ()  # of what --require names


class DeviceDocument(Document, frozen=True, kw_only=True, tag="device"):
    device: Device
    state: DeviceState


class ListedImplementation(Struct, frozen=True, kw_only=True):
    name: str
    provider: Provider
    label: str
    left_out: str = ""  # why a plan leaves it out unless it is asked for


class ListedKernel(Struct, frozen=True, kw_only=True):
    name: str
    title: str
    formula: str
    folder: str
    axes: tuple[Axis, ...]
    dtypes: tuple[Dtype, ...]
    presets: tuple[Preset, ...]
    sweep: tuple[dict[str, int], ...]
    implementations: tuple[ListedImplementation, ...]


class ListDocument(Document, frozen=True, kw_only=True, tag="list"):
    kernels: tuple[ListedKernel, ...]
    problems: tuple[CatalogProblem, ...]


AnyDocument = (
    SessionDocument | CeilingsDocument | SelftestDocument | DoctorDocument | DeviceDocument | ListDocument
)


def print_document(document: Document) -> None:
    """As indented JSON on stdout."""
    print(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def session_document(session: Session, problem: str = "") -> SessionDocument:
    return SessionDocument(
        session=str(session.path),
        device=session.device,
        points=tuple(point_result(point, session) for point in session.points),
        problem=problem,
    )


def point_result(point: Point, session: Session) -> PointResult:
    judged = verdict(point, session)
    measured = point.measured
    time = measured.time if measured else None
    return PointResult(
        number=point.number,
        kernel=point.implementation.kernel,
        implementation=point.implementation.stem,
        provider=point.implementation.provider,
        dtype=point.job.workload.dtype,
        sizes=point.job.workload.sizes,
        outcome=_outcome_word(point),
        message="" if isinstance(point.outcome, Measured) else point.outcome.message,
        median_s=time.median_s if time else None,
        low_s=time.low_s if time else None,
        high_s=time.high_s if time else None,
        achieved_bandwidth_byte_per_s=point.achieved_bandwidth,
        achieved_flop_per_s=point.achieved_flop_rate,
        relative_error=measured.verification.relative_error if measured else None,
        verdict=judged.kind,
        limiter=judged.limiter.label if judged.limiter else None,
        fraction_of_roof=judged.fraction_of_roof,
        flags=judged.flags,
    )


def _outcome_word(point: Point) -> Literal["measured", "skipped", "failed", "cancelled"]:
    match point.outcome:
        case Measured():
            return "measured"
        case Skipped():
            return "skipped"
        case Failed():
            return "failed"
        case Cancelled():
            return "cancelled"
