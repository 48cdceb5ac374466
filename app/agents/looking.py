"""The tools that measure nothing: what is here, why, the session, and two points as they were measured."""

from msgspec.structs import replace

from roofscope import __version__
from roofscope.app.agents.answering import flag_answers, point_answers, session_answer, summary
from roofscope.app.agents.answers import (
    CeilingAnswer,
    CompareAnswer,
    HereAnswer,
    Lacking,
    LibraryKernel,
    SessionAnswer,
    WhyAnswer,
)
from roofscope.app.agents.requests import (
    AgentFault,
    HereRequest,
    SessionRequest,
    WhyRequest,
    in_arguments,
)
from roofscope.app.agents.workbench import Workbench
from roofscope.app.presentation.formatting import percent_text, ratio_text
from roofscope.app.presentation.verdict_text import ceiling_name, ceiling_text
from roofscope.app.presentation.why_record import why_not_records, why_records
from roofscope.profiling.analysis.advice.record import WhyRecord
from roofscope.profiling.analysis.pairs import Pair, pair_of
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.devices.host import package_version
from roofscope.profiling.doctor import CheckState, examine
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.planning.catalog import Kernel, scan
from roofscope.profiling.results.marks import Mark, why_unfit
from roofscope.profiling.results.session import Point, Session, timestamp
from roofscope.profiling.results.session_connection import SessionError
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.roofline.cache import CacheKey, CeilingCache
from roofscope.profiling.roofline.nameplate import nameplate
from roofscope.profiling.roofline.roofline import Ceiling


def what_is_here(bench: Workbench, request: HereRequest) -> HereAnswer:
    """Raises AgentFault."""
    known = bench.known_session()
    kept = CeilingCache(lambda _: None).load(CacheKey.of(bench.device, package_version("torch")))
    measured = kept or tuple(c for c in (known.ceilings if known else ()) if c.source.is_measured)
    lacking = [check for check in examine() if check.state is not CheckState.OK]
    kernels = scan().kernels
    if request.kernel:
        found = [kernel for kernel in kernels if kernel.spec.name == request.kernel]
        if not found:
            names = ", ".join(kernel.spec.name for kernel in kernels)
            raise AgentFault(f"The library has no kernel {request.kernel[:100]!r}; it has {names}.")
        kernels = tuple(found)
    roofs = ", ".join(map(ceiling_text, measured))
    count = len(known.points) if known else 0
    return HereAnswer(
        summary=one_line(
            f"{bench.device.name} ({bench.device.id}). "
            + (f"Measured ceilings: {roofs}. " if roofs else "No ceiling is measured yet. ")
            + f"The session {bench.path.name} holds {count} point{'s' * (count != 1)}."
        ),
        device=bench.device,
        ceilings=tuple(map(_ceiling, (*measured, *nameplate(bench.device, timestamp())))),
        are_ceilings_measured=bool(measured),
        library=tuple(_kernel(kernel, is_whole=bool(request.kernel)) for kernel in kernels),
        doctor=tuple(Lacking(name=one.name, finding=one.finding, fix=one.fix) for one in lacking),
        session=str(bench.path),
        point_count=count,
        roofscope_version=__version__,
    )


def why(bench: Workbench, request: WhyRequest) -> WhyAnswer:
    """Raises AgentFault."""
    session = bench.session()
    point = point_numbered(session, request.point)
    return WhyAnswer(
        summary=summary(session, point),
        flags=flag_answers(verdict(point, session)),
        why=next((_worded(record) for record in why_records(session, [point])), None),
        why_not=next(iter(why_not_records([point])), None),
    )


def _worded(record: WhyRecord) -> WhyRecord:
    others = tuple(map(in_arguments, record.others))
    return replace(record, next_step=in_arguments(record.next_step), others=others)


def compared(session: Session, a: int, b: int) -> CompareAnswer:
    """Two points of a session, in turn where one job timed both. Raises AgentFault."""
    one, other = point_numbered(session, a), point_numbered(session, b)
    if one is other:
        raise AgentFault(f"Point {one.number} cannot be compared with itself; name another one.")
    pair = pair_of(session, one, other)
    first, second = point_answers(session, (one, other))
    ratio = pair.ratio
    return CompareAnswer(
        summary=one_line(compared_sentence(session, pair)),
        a=first,
        b=second,
        by="fraction of roof" if pair.is_by_roof else "time",
        ratio=ratio.ratio if ratio else None,
        ratio_low=ratio.low if ratio and ratio.is_known else None,
        ratio_high=ratio.high if ratio and ratio.is_known else None,
        change=str(pair.change),
        is_in_turn=one.job == other.job,
        common_rounds=pair.common_rounds,
        between_runs=pair.between_runs,
    )


def compared_sentence(session: Session, pair: Pair) -> str:
    """Such as ``Point 5 (gelu.py/triton_gelu) is 1.31× (1.29 to 1.33) as fast as point 3 (...): faster.``."""
    assert pair.b is not None
    a, b = (f"point {side.point.number} ({side.point.implementation.key})" for side in (pair.a, pair.b))
    if pair.ratio is None:
        lacking = next(side.point for side in (pair.a, pair.b) if side.point.measured is None)
        return summary(session, lacking)
    known = (pair.ratio.low, pair.ratio.high) if pair.ratio.is_known else ()
    times = ratio_text(pair.ratio.ratio, *known)
    how = f"timed in turn, {pair.common_rounds} rounds"
    if not pair.common_rounds and pair.a.point.job == pair.b.point.job:
        how = "timed in turn, but in too few rounds for an interval"
    elif not pair.common_rounds:
        how = f"measured apart, where unchanged code differs by {percent_text(pair.between_runs)}"
    what = "as near its roof as" if pair.is_by_roof else "as fast as"
    return f"{b[:1].upper()}{b[1:]} is {times} {what} {a}, {how}: {pair.change}."


def session(bench: Workbench, request: SessionRequest) -> SessionAnswer:
    """What was measured; first what the request says of a point, or of the file. Raises AgentFault."""
    marks = request.note is not None or request.tag or request.pin is not None
    if marks and not request.point:
        raise AgentFault("note, tag and pin are of a point; give its number as point.")
    if marks:
        _mark(bench, request)
    if request.rename:
        bench.rename(request.rename)
    if (known := bench.known_session()) is None:
        return SessionAnswer(
            session=str(bench.path), device=bench.device.name, point_count=0, best=(), points=()
        )
    return session_answer(known, request.kernel, request.limit)


def point_numbered(session: Session, number: int) -> Point:
    """The newest for 0. Raises AgentFault."""
    if not session.points:
        raise AgentFault("The session holds no point; call measure_file first.")
    if not number:
        return session.points[-1]
    found = next((point for point in session.points if point.number == number), None)
    if found is None:
        first, last = session.points[0].number, session.points[-1].number
        raise AgentFault(f"The session has no point {number}; its points are {first} to {last}.")
    return found


def _mark(bench: Workbench, request: SessionRequest) -> None:
    known = bench.session()
    point = point_numbered(known, request.point)
    before = after = known.marks.get(point.number, Mark())
    if request.note is not None:
        after = after.noted(request.note)
    if request.tag:
        after = after.tagged(request.tag)
    if request.pin is not None:
        after = after.pinned(timestamp()) if request.pin else after.unpinned()
    if reason := why_unfit(after):
        raise AgentFault(reason)
    if after == before:
        return
    try:
        with SessionStore.append(bench.path, known) as store:
            store.add_mark(point.number, after)
    except SessionError as error:
        raise AgentFault(one_line(str(error))) from error


def _ceiling(ceiling: Ceiling) -> CeilingAnswer:
    is_memory = ceiling.bound.is_memory
    return CeilingAnswer(
        name=ceiling_name(ceiling),
        source=str(ceiling.source),
        value_byte_per_s=ceiling.value if is_memory else None,
        value_flop_per_s=None if is_memory else ceiling.value,
    )


def _kernel(kernel: Kernel, *, is_whole: bool) -> LibraryKernel:
    spec = kernel.spec
    return LibraryKernel(
        name=spec.name,
        formula=spec.formula,
        folder=str(kernel.folder) if is_whole else "",
        implementations=tuple(found.stem for found in kernel.implementations) if is_whole else (),
        dtypes=tuple(map(str, spec.dtypes)) if is_whole else (),
        sizes={preset.name: preset.sizes for preset in spec.presets} if is_whole else {},
    )
