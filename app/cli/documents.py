"""What ``--json`` prints: one document a command, each a struct, so that its JSON Schema can be published.

Values are in SI base units with the unit in the name; null stands for what is not known.
"""

from msgspec import Struct

from roofscope.app.cli.counters_document import CountersDocument
from roofscope.app.cli.document import Document
from roofscope.app.cli.swept import SweptImplementation
from roofscope.app.cli.trace_documents import (
    TraceCompareDocument,
    TraceDocument,
    TraceFileDocument,
    TraceRepairDocument,
    TraceRooflineDocument,
    TracesDocument,
)
from roofscope.app.presentation.compile_lab import Laboratory
from roofscope.app.presentation.projection import Projection
from roofscope.profiling.analysis.advice.record import WhyNotRecord, WhyRecord
from roofscope.profiling.analysis.export import json_text
from roofscope.profiling.analysis.flatten import point_records
from roofscope.profiling.analysis.point_record import PointRecord
from roofscope.profiling.analysis.tuning_record import TuningRecord
from roofscope.profiling.devices.device import Device, DeviceState
from roofscope.profiling.doctor import Check
from roofscope.profiling.planning.catalog import CatalogProblem
from roofscope.profiling.planning.parameters import Value
from roofscope.profiling.planning.spec import Axis, Dtype, Preset, Provider
from roofscope.profiling.results.debugging import DebugReport
from roofscope.profiling.results.generated import Code
from roofscope.profiling.results.marks import pins_of
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.results.session import Session
from roofscope.profiling.roofline.roofline import Ceiling


class FaultDocument(Document, frozen=True, kw_only=True, tag="fault"):
    """Of a command that did nothing: what happened, to what, and what to do."""

    error: str
    exit_code: int


class RunDocument(Document, frozen=True, kw_only=True, tag="run"):
    """Of ``run`` and ``show``. ``problem``: why the run did not do all that was planned."""

    session: str | None  # the file; null where none was kept
    device: Device | None
    points: tuple[PointRecord, ...]
    problem: str = ""
    why: tuple[WhyRecord, ...] = ()  # of `show --why`
    proofs: tuple[Proof, ...] = ()  # of a session that holds a self-test, the newest of each name


class DebugDocument(Document, frozen=True, kw_only=True, tag="debug"):
    """Of ``run --debug``. Nothing in it is a measurement."""

    device: Device
    reports: tuple[DebugReport, ...]  # of each version in turn


class WhyDocument(Document, frozen=True, kw_only=True, tag="why"):
    session: str
    points: tuple[WhyRecord, ...]
    without_time: tuple[WhyNotRecord, ...] = ()


class TuningDocument(Document, frozen=True, kw_only=True, tag="tuning"):
    """Of ``tuning``: what autotuners tried, and the winner beside its runner-up."""

    session: str
    tunings: tuple[TuningRecord, ...]


class CompileDocument(Document, frozen=True, kw_only=True, tag="compile-report"):
    session: str
    workloads: tuple[Laboratory, ...]


class ProjectDocument(Document, frozen=True, kw_only=True, tag="project"):
    """Times there are bounds by a data sheet, and no predictions."""

    session: str
    projection: Projection


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
    inconclusive_count: int = 0  # proofs that the host's noise forbids to judge
    problem: str = ""


class AnsweredAdversary(Struct, frozen=True, kw_only=True):
    """A cheat or an honest control of the corpus, and what the engine answered."""

    name: str
    title: str
    group: str
    source: str
    expected: tuple[str, ...]  # the kinds of outcomes that are right
    answered: str
    cause: str
    is_right: bool | None  # null where it was not tried
    is_fooled: bool  # a cheat has a time without a flag, or an honest control has none


class AdversariesDocument(Document, frozen=True, kw_only=True, tag="adversaries"):
    """Of ``selftest --adversaries``."""

    device: Device
    passed: bool
    adversaries: tuple[AnsweredAdversary, ...]
    problem: str = ""


class DoctorDocument(Document, frozen=True, kw_only=True, tag="doctor"):
    checks: tuple[Check, ...]
    missing: tuple[str, ...] = ()  # of what --require names


class DeviceDocument(Document, frozen=True, kw_only=True, tag="device"):
    device: Device
    state: DeviceState


class ListedParameter(Struct, frozen=True, kw_only=True):
    name: str
    choices: tuple[Value, ...]
    default: Value


class ListedImplementation(Struct, frozen=True, kw_only=True):
    name: str
    provider: Provider
    label: str
    left_out: str = ""  # why a plan leaves it out unless it is asked for
    domain: str = ""  # the condition that sizes must meet; "" where its file states none
    parameters: tuple[ListedParameter, ...] = ()  # declared constants, of which ``run --set`` chooses


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


class SourceFileDocument(Struct, frozen=True, kw_only=True):
    name: str
    language: str
    text: str


class KernelDocument(Struct, frozen=True, kw_only=True):
    """A kernel of a call: its launch as the profiler saw it, and what its compiler said."""

    name: str
    launches_per_call: float | None
    time_s: float | None  # of a call
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    cluster: tuple[int, int, int] | None
    stages: int | None
    constants: dict[str, str]
    registers: int | None
    spill_bytes: int | None
    shared_bytes: int | None
    occupancy: float | None  # of the warps that a multiprocessor holds
    blocks_per_multiprocessor: int | None
    limited_by: tuple[str, ...]


class SourceDocument(Document, frozen=True, kw_only=True, tag="source"):
    """Of ``source``: what stands behind a point. ``code``: what was asked for of it."""

    session: str
    point: int
    implementation: str
    lesson: tuple[str, ...]
    files: tuple[SourceFileDocument, ...]
    failing_file: str | None
    failing_line: int | None  # from 1
    kernels: tuple[KernelDocument, ...]
    code: tuple[Code, ...]


class SweepDocument(Document, frozen=True, kw_only=True, tag="plot"):
    """Of ``plot --json``: a kernel over its sizes. ``unit``: of values and their ends."""

    session: str
    device: Device | None
    kernel: str
    dtype: Dtype | None
    quantity: str
    unit: str
    axis: str
    baseline: str
    implementations: tuple[SweptImplementation, ...]


class ComparedSession(Struct, frozen=True, kw_only=True):
    session: str
    device: Device | None
    created_at: str


class ComparedPoint(Struct, frozen=True, kw_only=True):
    number: int  # in its session
    implementation: str
    dtype: Dtype
    sizes: dict[str, int]
    fill: str  # uniform or normal
    regime: str
    median_s: float | None
    low_s: float | None
    high_s: float | None
    fraction_of_roof: float | None
    source_sha256: str
    outcome: str = "measured"
    message: str = ""  # why there is no time


class ComparedPair(Struct, frozen=True, kw_only=True):
    """``ratio`` above 1 is in favour of b; its ends are null where too few blocks were kept."""

    a: ComparedPoint
    b: ComparedPoint | None
    by: str  # time, or fraction of roof
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    change: str
    common_rounds: int  # 0: measured apart
    between_runs: float = 0.0  # what two runs of unchanged code differ by, a share, which the interval holds


class CompareDocument(Document, frozen=True, kw_only=True, tag="compare"):
    """Of ``compare``. ``b`` null: of one session its pins, or the history of an implementation."""

    a: ComparedSession
    b: ComparedSession | None
    pairs: tuple[ComparedPair, ...]
    notes: tuple[str, ...]
    problem: str = ""  # what --fail-slower found


class MarkedPoint(Struct, frozen=True, kw_only=True):
    point: int
    implementation: str
    pinned_at: str | None  # ISO 8601, UTC
    note: str
    tags: tuple[str, ...]


class PinDocument(Document, frozen=True, kw_only=True, tag="pin"):
    """The marks of a session: pins in their order, the first of which is the baseline, then others."""

    session: str
    marks: tuple[MarkedPoint, ...]


class TrustedFolderDocument(Struct, frozen=True, kw_only=True):
    path: str
    owners: tuple[str, ...]  # other than the user and root, when it was trusted


class TrustDocument(Document, frozen=True, kw_only=True, tag="trust"):
    """Of ``trust``: what is trusted after it."""

    folders: tuple[TrustedFolderDocument, ...]


class WrittenDocument(Document, frozen=True, kw_only=True, tag="written"):
    """Of ``report`` and ``salvage``: the file that was written."""

    session: str
    file: str
    point_count: int


class DeletedPoint(Struct, frozen=True, kw_only=True):
    point: int
    implementation: str
    deleted_at: str | None  # ISO 8601, UTC


class DeleteDocument(Document, frozen=True, kw_only=True, tag="delete"):
    """Of ``delete``: the points that are deleted after it."""

    session: str
    deleted: tuple[DeletedPoint, ...]


AnyDocument = (
    RunDocument
    | FaultDocument
    | TrustDocument
    | WrittenDocument
    | DeleteDocument
    | DebugDocument
    | PinDocument
    | CountersDocument
    | TraceDocument
    | TracesDocument
    | TraceFileDocument
    | TraceRepairDocument
    | TraceCompareDocument
    | TraceRooflineDocument
    | SweepDocument
    | CompareDocument
    | SourceDocument
    | WhyDocument
    | TuningDocument
    | CompileDocument
    | ProjectDocument
    | CeilingsDocument
    | SelftestDocument
    | AdversariesDocument
    | DoctorDocument
    | DeviceDocument
    | ListDocument
)


def print_document(document: Document) -> None:
    """As indented JSON on stdout."""
    print(json_text(document))


def pin_document(session: Session) -> PinDocument:
    pins = pins_of(session.marks)
    points = {point.number: point for point in session.points}
    numbers = (*pins, *sorted(set(session.marks) - set(pins)))
    marked = [(points[number], session.marks[number]) for number in numbers if number in points]
    return PinDocument(
        session=str(session.path),
        marks=tuple(
            MarkedPoint(
                point=point.number,
                implementation=point.implementation.key,
                pinned_at=mark.pinned_at,
                note=mark.note,
                tags=mark.tags,
            )
            for point, mark in marked
            if not mark.is_empty
        ),
    )


def run_document(session: Session, problem: str = "", why: tuple[WhyRecord, ...] = ()) -> RunDocument:
    points = tuple(point_records(session))
    path, device = str(session.path), session.device
    proofs = session.newest_proofs
    return RunDocument(session=path, device=device, points=points, problem=problem, why=why, proofs=proofs)
