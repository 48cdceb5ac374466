"""What measured shapes come to: rows, worst ratios and exit codes, on invented times without a GPU."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from roofscope.benchmarks.recorded_jobs import StopBetweenJobs
from roofscope.benchmarks.shapes.__main__ import BELOW, FINE, NOTHING, UNFINISHED, main
from roofscope.benchmarks.shapes.lines import Planned, done, planned
from roofscope.benchmarks.shapes.summary import falls_short, markdown, standings
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.profiling.results.outcome import (
    Cancelled,
    Outcome,
    SkipKind,
    Skipped,
    TimeStats,
)
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.supervision.recording import Ending
from roofscope.tests.sessions import DEVICE, ENVIRONMENT, empty_session, make_session, write_session

CATALOG = scan()
replace = msgspec.structs.replace
MODEL = next(point.measured for point in make_session().points if point.measured)
OURS_S, DRIFT = 1e-3, (1.0, 1.02, 1.05, 1.03, 1.01, 1.04)
Ratios = Callable[[int, Implementation], float | None]


def plans_of(count: int = 4, kernel: str = "softmax") -> list[Planned]:
    found = CATALOG.kernel(kernel)
    assert found is not None
    memory_bytes = DEVICE.memory_bytes or 0
    return planned(
        found,
        Dtype.BFLOAT16,
        seed=5,
        count=count,
        device="cuda:0",
        memory_bytes=memory_bytes,
        first_id=1,
    )


def timed(seconds: float) -> Outcome:
    samples = tuple(seconds * drift for drift in DRIFT)
    median_s = sorted(samples)[len(samples) // 2]
    stats = TimeStats(median_s, min(samples), max(samples), samples, 10, tuple(range(len(samples))))
    return replace(MODEL, time=stats)


def session_of(plans: Sequence[Planned], ratio: Ratios) -> Session:
    """A session in which each implementation takes this many times as long as our fastest; None: refused."""
    session = empty_session()
    session.specs = {kernel.spec.name: kernel.spec for kernel in CATALOG.kernels}
    for number, plan in enumerate(plans):
        for implementation in plan.job.implementations:
            times = ratio(number, implementation)
            outcome = (
                Skipped(SkipKind.UNSUPPORTED, f"{implementation.title} takes no such sizes.")
                if times is None
                else timed(times * OURS_S)
            )
            point = Point(len(session.points) + 1, plan.job, implementation, outcome, session.created_at)
            session.points = (*session.points, point)
    return session


def usual(_: int, implementation: Implementation) -> float | None:
    """Ours is as fast as can be; eager takes twice as long, torch.compile 1.5 times, the library 1.2."""
    if implementation.provider in (Provider.CUDA, Provider.TRITON):
        return 1.0 if implementation.stem == "cuda_registers" else 1.1
    return {Provider.EAGER: 2.0, Provider.COMPILE: 1.5}.get(implementation.provider, 1.2)


def test_the_worst_ratio_is_found_by_peer() -> None:
    def one_slow_shape(number: int, implementation: Implementation) -> float | None:
        if number == 2 and implementation.provider is Provider.EAGER:
            return 0.85
        return usual(number, implementation)

    plans = plans_of()
    measured = done(plans, [session_of(plans, one_slow_shape)])
    found = {standing.peer: standing for standing in standings(measured)}
    assert found["best peer"].worst == found["eager PyTorch"].worst == pytest.approx(0.85)
    assert found["torch.compile"].worst == pytest.approx(1.5)
    assert found["Liger-Kernel"].worst == pytest.approx(1.2)
    assert found["eager PyTorch"].at == found["best peer"].at
    assert found["best peer"].below == 1
    assert found["torch.compile"].below == 0
    assert [falls_short(one) for one in measured] == [False, False, True, False]
    text = list(markdown(measured))
    assert sum("**below 0.90**" in line for line in text) == 1
    assert any(line.startswith("| softmax | best peer | 4 | 1.200 | **0.850** |") for line in text)


def test_a_shape_that_versions_refuse_has_its_row_all_the_same() -> None:
    def refusing(number: int, implementation: Implementation) -> float | None:
        refuses = implementation.stem == "cuda_registers" or implementation.provider is Provider.LIBRARY
        return None if refuses and number == 1 else usual(number, implementation)

    plans = plans_of()
    measured = done(plans, [session_of(plans, refusing)])
    assert len(measured) == 4
    assert not any(map(falls_short, measured))
    found = {standing.peer: standing for standing in standings(measured)}
    assert len(found["Liger-Kernel"].ratios) == 3
    assert found["best peer"].worst == pytest.approx(1.2)
    assert any(
        line.startswith("- softmax/library_liger was skipped at 1 shape: ") for line in markdown(measured)
    )


def test_ours_without_a_time_falls_short_but_no_peer_is_no_fault() -> None:
    def ours_fails(number: int, implementation: Implementation) -> float | None:
        is_ours = implementation.provider in (Provider.CUDA, Provider.TRITON)
        return None if (is_ours if number == 0 else number == 1 and not is_ours) else 1.0

    plans = plans_of(3)
    measured = done(plans, [session_of(plans, ours_fails)])
    assert [falls_short(one) for one in measured] == [True, False, False]
    text = "\n".join(markdown(measured))
    assert text.count("**ours has no time**") == 1
    assert text.count("no peer has a time") == 1


def test_each_row_has_as_many_cells_as_its_header() -> None:
    plans = plans_of()
    text = list(markdown(done(plans, [session_of(plans, usual)])))
    for table in (text[: text.index("")], text[text.index("") + 1 :]):
        assert len({line.count("|") for line in table if line.startswith("|")}) == 1


def test_what_was_stopped_or_edited_is_measured_again() -> None:
    plans = plans_of()
    session = session_of(plans, usual)
    stopped = Cancelled()
    edited = replace(session.points[-1].implementation, source_hash="another")
    first, *middle, last = session.points
    session.points = (replace(first, outcome=stopped), *middle, replace(last, implementation=edited))
    assert [one.shape.number for one in done(plans, [session])] == [2, 3]
    again = session_of(plans[:1], usual)
    assert [one.shape.number for one in done(plans, [session, again])] == [1, 2, 3]


def test_the_newest_job_of_a_shape_counts() -> None:
    plans = plans_of(1)
    slower = session_of(plans, lambda n, i: 0.5 if i.provider is Provider.EAGER else usual(n, i))
    [measured] = done(plans, [slower, session_of(plans, usual)])
    assert not falls_short(measured)
    [measured] = done(plans, [session_of(plans, usual), slower])
    assert falls_short(measured)


@pytest.fixture
def without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = cpu_device()
    monkeypatch.setattr("roofscope.benchmarks.shapes.__main__.local_devices", lambda: (cpu,))


@pytest.mark.usefixtures("without_gpu")
@pytest.mark.parametrize(
    ("shapes", "eager", "code"), [(4, 2.0, FINE), (4, 0.8, BELOW), (6, 2.0, UNFINISHED), (6, 0.8, BELOW)]
)
def test_a_file_is_printed_without_a_gpu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shapes: int, eager: float, code: int
) -> None:
    session = session_of(plans_of(), lambda n, i: eager if i.provider is Provider.EAGER else usual(n, i))
    path = write_session(session, tmp_path / "shapes.roofscope")
    arguments = ["softmax", "--seed", "5", "--shapes", str(shapes), "--session", str(path)]
    assert main(arguments) == code
    out = capsys.readouterr().out
    assert "NVIDIA H200" in out
    assert "roofscope.benchmarks.shapes softmax --seed 5" in out
    assert out.count("| softmax | ") == 4 + len(list(standings(done(plans_of(), [session]))))
    assert ("2 of 6 shapes are not measured yet" in out) is (shapes == 6)


@pytest.mark.usefixtures("without_gpu")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["softmax", "--seed", "1"], "There is no CUDA GPU here to compare on, and no session to print."),
        (["nonsense", "--seed", "1"], "The library has no kernel 'nonsense'."),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(arguments) == NOTHING
    assert capsys.readouterr().err.strip() == message


@pytest.mark.usefixtures("without_gpu")
def test_a_peer_that_nobody_has_is_said_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["softmax", "--seed", "1", "--peers", "eager", "quak"]) == NOTHING
    said = capsys.readouterr().err.strip()
    assert said.startswith("No kernel here has a peer 'quak'; peers are compile_default, ")
    assert "library_quack" in said
    assert "triton" not in said


@pytest.mark.usefixtures("without_gpu")
def test_another_seed_has_none_of_a_files_shapes(tmp_path: Path) -> None:
    path = write_session(session_of(plans_of(), usual), tmp_path / "shapes.roofscope")
    assert main(["softmax", "--seed", "6", "--shapes", "4", "--session", str(path)]) == NOTHING


class Measuring:
    """Stands in for the engine: each job asked for comes out with invented times, up to so many of them."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []  # the ids of the jobs of each call
        self.most = 100

    def __call__(
        self, _: object, jobs: Sequence[Job], device: Device, path: Path, *, append: bool, **options: object
    ) -> Ending:
        self.asked.append([job.id for job in jobs])
        assert append is path.exists()
        with SessionStore.append(path) if append else SessionStore.create(path) as store:
            store.add_environment(ENVIRONMENT, device.id)
            for job in jobs[: self.most]:
                for implementation in job.implementations:
                    times = usual(0, implementation)
                    assert times is not None
                    store.add_outcome(job, implementation, timed(times * OURS_S))
        return Ending(path=path)


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> Measuring:
    engine = Measuring()
    monkeypatch.setattr("roofscope.benchmarks.shapes.__main__.local_devices", lambda: (DEVICE,))
    monkeypatch.setattr("roofscope.benchmarks.shapes.__main__.record_jobs", engine)
    return engine


def test_the_same_command_goes_on_with_what_is_left(tmp_path: Path, measuring: Measuring) -> None:
    arguments = [
        "softmax",
        "copy",
        "--seed",
        "5",
        "--shapes",
        "3",
        "--session",
        str(tmp_path / "s.roofscope"),
    ]
    measuring.most = 4
    assert main(arguments) == UNFINISHED
    measuring.most = 100
    assert main(arguments) == FINE
    assert main(arguments) == FINE
    assert measuring.asked == [[f"job-{number}" for number in range(1, 7)], ["job-9", "job-10"]]


def test_shapes_of_another_card_are_not_measured_again(
    tmp_path: Path, measuring: Measuring, capsys: pytest.CaptureFixture[str]
) -> None:
    other, own = tmp_path / "other.roofscope", tmp_path / "own.roofscope"
    session = session_of(plans_of(2), usual)
    assert session.environment is not None
    card = replace(DEVICE, uuid="GPU-another")
    session.environment, session.device = replace(session.environment, devices=(card,)), card
    write_session(session, other)
    arguments = ["softmax", "--seed", "5", "--shapes", "4", "--session"]
    assert main([*arguments, str(other)]) == NOTHING
    assert "has results of another card, NVIDIA H200: name it by --also" in capsys.readouterr().err
    assert measuring.asked == []
    assert main([*arguments, str(own), "--also", str(other)]) == FINE
    assert measuring.asked == [["job-3", "job-4"]]


def test_a_busy_device_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("roofscope.benchmarks.shapes.__main__.local_devices", lambda: (DEVICE,))
    busy = Ending(busy="Another Roofscope is measuring.")
    monkeypatch.setattr("roofscope.benchmarks.shapes.__main__.record_jobs", lambda *_, **__: busy)
    assert main(["softmax", "--seed", "5", "--session", str(tmp_path / "s.roofscope")]) == NOTHING
    assert capsys.readouterr().err.endswith("\nAnother Roofscope is measuring.\n")


def test_a_run_stops_when_its_time_is_over_and_a_job_has_all_its_outcomes() -> None:
    plans, clock, presses = plans_of(2), [0.0], [0]

    class Run:
        def press_stop(self) -> None:
            presses[0] += 1

    points = session_of(plans, usual).points
    stop = StopBetweenJobs([plan.job for plan in plans], 10.0, lambda: clock[0])
    stop.started(Run())
    for point in points[:2]:
        stop.saw(point)
    clock[0] = 11.0
    of_first = len(plans[0].job.implementations)
    for point in points[2 : of_first - 1]:
        stop.saw(point)
    assert presses == [0]
    stop.saw(points[of_first - 1])
    assert presses == [1]
