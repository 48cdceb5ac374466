"""What a call allocates, in the details, the table and the exports."""

import msgspec
import pytest

from roofscope.app.presentation.detail_facts import sections
from roofscope.app.presentation.point_columns import COLUMNS
from roofscope.app.presentation.point_row import PointRow, point_rows
from roofscope.profiling.analysis.flatten import point_records
from roofscope.profiling.devices.device import DeviceKind
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import CodeNote, CompileNotes, MemoryUse
from roofscope.profiling.results.session import Session
from roofscope.tests.sessions import make_session

GIB = 1 << 30


def remembered(**by_provider: MemoryUse) -> Session:
    """The invented session, its points with this memory."""
    session, points = make_session(), []
    for point in session.points:
        memory = by_provider.get(point.implementation.provider)
        if point.measured and memory:
            outcome = msgspec.structs.replace(point.measured, memory=memory)
            points.append(msgspec.structs.replace(point, outcome=outcome))
        else:
            points.append(point)
    session.points = tuple(points)
    return session


def row_of(session: Session, key: str) -> PointRow:
    rows = point_rows(session, Provider.EAGER, None)
    return next(row for row in rows if row.point.implementation.key == key and row.point.measured)


def facts(session: Session, key: str, title: str) -> dict[str, str]:
    found = (part for part in sections(row_of(session, key), session) if part.title == title)
    return {fact.name: fact.value for part in found for fact in part.facts}


def test_the_details_say_what_fusion_saves():
    eager, fused = MemoryUse(5 * GIB // 2, GIB), MemoryUse(GIB, GIB)
    session = remembered(eager=eager, cuda=fused)
    assert facts(session, "softmax/cuda_warp", "Memory of a call") == {
        "Peak": "1.00 GiB",
        "Outputs": "1.00 GiB",
        "Temporary": "0 B",
        "Fusion saves": "1.50 GiB of the 1.50 GiB of eager PyTorch",
    }
    assert "Fusion saves" not in facts(session, "softmax/eager", "Memory of a call")


def test_older_sessions_say_nothing_and_a_cpu_says_why():
    session = make_session()
    assert facts(session, "softmax/cuda_warp", "Memory of a call") == {}
    assert session.device is not None
    session.device = msgspec.structs.replace(session.device, kind=DeviceKind.CPU)
    assert "CPU's allocator" in facts(session, "softmax/cuda_warp", "Memory of a call")["Memory"]


def test_table_and_exports_have_the_same_figures():
    session = remembered(eager=MemoryUse(5 * GIB // 2, GIB))
    row = row_of(session, "softmax/eager")
    texts = {column.title: column.text(row) for column in COLUMNS}
    assert texts["Temporary"] == "1.50 GiB"
    assert texts["Kernels"] == "1"
    assert texts["Host"].endswith("s")
    record = next(each for each in point_records(session) if each.number == row.point.number)
    assert (record.peak_bytes, record.temporary_bytes) == (5 * GIB // 2, 3 * GIB // 2)
    assert next(point_records(make_session())).peak_bytes is None


@pytest.mark.parametrize("hostile", ["", "\x1b[31m\n"])
def test_a_graph_break_has_its_line_in_details_and_exports(hostile: str):
    session = make_session()
    point = row_of(session, "softmax/compile_default").point
    assert point.measured is not None
    note = CodeNote(f"{hostile}Unsupported item()", "eager.py", 11, "if x.sum().item() > 0:")
    build = msgspec.structs.replace(point.measured.build, compile_notes=CompileNotes((note,), (note,)))
    changed = msgspec.structs.replace(point, outcome=msgspec.structs.replace(point.measured, build=build))
    session.points = tuple(changed if each.number == point.number else each for each in session.points)
    found = facts(session, "softmax/compile_default", "Build")
    for name in ("Breaks at", "Guard failed"):
        assert found[name].startswith("eager.py:11, ")
        assert not {"\n", "\x1b"} & set(found[name])
    record = next(each for each in point_records(session) if each.number == point.number)
    assert record.graph_breaks_at == f"eager.py:11 {hostile}Unsupported item()"
