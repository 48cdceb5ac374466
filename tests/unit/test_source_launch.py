"""What is told of a call's kernels: launches as profiled, what compilers said, and occupancy."""

from msgspec.structs import replace

from roofscope.app.presentation.detail_facts import sections
from roofscope.app.presentation.point_row import point_rows
from roofscope.app.presentation.source.launch import is_same_kernel, kernels_of, launch_sections
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import BuildInfo, BuiltKernel, Launch, Measured, ProfiledKernel
from roofscope.profiling.results.session import Point, Session
from roofscope.tests.sessions import make_session

LAUNCH = Launch(32768, 256, 40, 17408, 0.75, (32768, 1, 1), (128, 2, 1))
SOFTMAX = ProfiledKernel("_softmax", 1.0, 2e-4, LAUNCH)
COPY = ProfiledKernel("Memcpy DtoD (Device -> Device)", 2.0, 1e-4)
BUILT = BuiltKernel("_softmax", 40, 8, 17408, (2, 1, 1), 8, 3, (("COLS", "1024"),))


def session_with(**changes: object) -> tuple[Session, Point]:
    session = make_session()
    point = next(point for point in session.points if point.measured)
    measured = point.measured
    assert isinstance(measured, Measured)
    changed = replace(point, outcome=replace(measured, **changes))
    session.points = tuple(changed if one is point else one for one in session.points)
    return session, changed


def texts(session: Session, point: Point) -> list[tuple[str, dict[str, str]]]:
    found = launch_sections(session, point)
    return [(each.title, {fact.name: fact.value for fact in each.facts}) for each in found]


def test_a_launch_and_its_compilers_words_stand_together() -> None:
    session, point = session_with(kernels=(SOFTMAX, COPY), build=BuildInfo(0.1, kernels=(BUILT,)))
    [(name, facts), (copy, _)] = texts(session, point)
    assert (name, copy) == ("_softmax", "Memcpy DtoD (Device -> Device)")
    assert facts == {
        "Time a call": "200.0 µs",
        "Launches a call": "1",
        "Grid": "32768 blocks",
        "Block": "128 × 2 = 256 threads",
        "Cluster": "2 blocks",
        "Warps a block": "8",
        "Stages": "3",
        "Constants": "COLS = 1024",
        "Registers": "40",
        "Spills": "8 B",
        "Shared memory": "17.0 KiB",
        "Occupancy": "75 %: 6 blocks, 48 of 64 warps at once",
        "Limited by": "registers",
        "Profiler's figure": "75 %",
    }


def test_dynamic_shared_memory_is_what_the_source_does_not_declare() -> None:
    built = BuiltKernel("_softmax", 40, 0, 1024)
    session, point = session_with(kernels=(SOFTMAX,), build=BuildInfo(0.1, kernels=(built,)))
    [(_, facts)] = texts(session, point)
    assert facts["of it dynamic"] == "16.0 KiB"


def test_a_kernel_that_no_profiler_saw_is_told_by_its_compiler() -> None:
    session, point = session_with(kernels=(), build=BuildInfo(0.1, kernels=(BUILT,)))
    [(name, facts)] = texts(session, point)
    assert name == "_softmax"
    assert facts["Warps a block"] == "8"
    assert facts["Occupancy"].startswith("75 %")
    assert "Grid" not in facts


def test_a_grid_that_fills_no_device_is_named() -> None:
    small = replace(SOFTMAX, launch=replace(LAUNCH, blocks=66, grid=(66, 1, 1)))
    session, point = session_with(kernels=(small,), build=BuildInfo(0.1))
    [(_, facts)] = texts(session, point)
    assert facts["Limited by"] == "the grid, which has fewer blocks than would fit"
    assert facts["Occupancy"] == "12 %: 1 block, 8 of 64 warps at once"


def test_the_figures_of_an_older_session_are_those_of_its_one_kernel() -> None:
    session, point = session_with(
        kernels=(ProfiledKernel("_softmax", 1.0, 2e-4),), build=BuildInfo(0.1, 32, 0, 48)
    )
    [(_, facts)] = texts(session, point)
    assert (facts["Registers"], facts["Shared memory"]) == ("32", "48 B")
    assert "Occupancy" not in facts  # nothing says how many threads a block has
    session, point = session_with(kernels=(SOFTMAX, COPY), build=BuildInfo(0.1, 32, 0, 48))
    assert point.measured
    assert [kernel.built for kernel in kernels_of(point.measured)] == [None, None]


def test_names_of_templates_are_joined() -> None:
    assert is_same_kernel("void gelu<float>(float const*, float*)", "gelu")
    assert is_same_kernel("gelu(float const*)", "gelu")
    assert is_same_kernel("gelu", "gelu")
    assert not is_same_kernel("gelu_backward", "gelu")


def test_the_details_tell_the_occupancy_and_what_limits_it() -> None:
    session, point = session_with(kernels=(SOFTMAX,), build=BuildInfo(0.1, kernels=(BUILT,)))
    row = next(row for row in point_rows(session, Provider.EAGER, None) if row.point == point)
    build = next(each for each in sections(row, session) if each.title == "Build")
    fact = next(fact for fact in build.facts if fact.name == "Occupancy")
    assert fact.value == "75 %, limited by registers"
    assert fact.tip.startswith("_softmax: 75 %: 6 blocks")
