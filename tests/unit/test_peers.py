"""The comparison with other people's kernels: goals, ratios and the table, on invented times."""

from pathlib import Path

import msgspec
import pytest

from roofscope.benchmarks.peers.__main__ import NOTHING, Planned, done, main
from roofscope.benchmarks.peers.goals import AtLeast, OfCeiling, judged_by_ceiling, judged_by_ratio
from roofscope.benchmarks.peers.rows import ROWS, Row
from roofscope.benchmarks.peers.table import (
    HEADER,
    Found,
    Line,
    candidates,
    ceiling_of,
    heading,
    judgements,
    markdown,
    peer_over_ours,
)
from roofscope.profiling.devices.environment import Package
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.profiling.results.outcome import SkipKind, Skipped, TimeStats
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.roofline.roofline import Bound, Mix, Source
from roofscope.tests.sessions import CEILINGS, empty_session, make_session

replace = msgspec.structs.replace


@pytest.fixture
def session() -> Session:
    return make_session()


def timed(point: Point, provider: Provider, variant: str, samples_s: tuple[float, ...]) -> Point:
    """The point as another implementation's, with these times."""
    assert point.measured is not None
    median_s = sorted(samples_s)[len(samples_s) // 2]
    rounds = tuple(range(len(samples_s)))
    time = TimeStats(median_s, min(samples_s), max(samples_s), samples_s, 10, rounds)
    implementation = Implementation("softmax", provider, variant, f"{provider} {variant}")
    number = point.number + 1000 * (1 + list(Provider).index(provider))
    outcome = replace(point.measured, time=time)
    return replace(point, number=number, implementation=implementation, outcome=outcome)


def line_of(session: Session, *times: tuple[Provider, str, float], goals: tuple[object, ...] = ()) -> Line:
    """Implementations whose times drift alike from round to round, in seconds."""
    model = next(p for p in session.points if p.measured and p.implementation.kernel == "softmax")
    points = tuple(
        timed(model, provider, variant, tuple(seconds * drift for drift in (1.0, 1.02, 1.05, 1.03, 1.01)))
        for provider, variant, seconds in times
    )
    row = Row("C1", "softmax", model.job.workload.dtype, goals=goals)  # pyright: ignore[reportArgumentType]
    return Line(row, model.job, points)


def test_goals_are_met_or_missed_by_their_share() -> None:
    goal = OfCeiling(0.97, Mix.COPY)
    assert judged_by_ceiling(goal, 4.2e12, 4.28e12).text == "met"
    assert judged_by_ceiling(goal, 4.0e12, 4.28e12).text == "**missed by 3.7 %**"
    assert judged_by_ceiling(goal, None, 4.28e12).text == "not compared"
    beaten = AtLeast(1.0, "library_liger")
    assert judged_by_ratio(beaten, 1.08, 1.07, 1.09).text == "met"
    assert judged_by_ratio(beaten, 0.998, 0.99, 1.01).text == "**missed by 0.2 %** (within the interval)"
    assert judged_by_ratio(AtLeast(0.85, "library_cudnn", "triton"), 0.9, 0.89, 0.91).text == "met"
    assert not judged_by_ratio(beaten, None).is_missed
    assert beaten.text == "best >= 1 x liger"


def test_a_ceiling_is_that_of_dram_and_measured_in_a_burst() -> None:
    dram = next(c for c in CEILINGS if c.mix is Mix.READ)
    others = [replace(dram, bound=Bound.L2), replace(dram, source=Source.MEASURED_SUSTAINED)]
    others = [replace(c, value=2 * dram.value) for c in others]
    assert ceiling_of(make_session(ceilings=[*others, dram]), Mix.READ) == dram.value
    assert ceiling_of(make_session(ceilings=others), Mix.READ) is None


def test_ratios_are_taken_within_rounds(session: Session) -> None:
    line = line_of(session, (Provider.CUDA, "registers", 1e-3), (Provider.LIBRARY, "liger", 1.1e-3))
    found = peer_over_ours(line.of("library_liger"), line.of("cuda_registers"))
    assert found is not None
    assert (found.ratio, found.low, found.high) == pytest.approx((1.1, 1.1, 1.1))
    assert peer_over_ours(None, line.of("cuda_registers")) is None


def test_the_best_of_ours_is_held_against_the_peer_named(session: Session) -> None:
    goals = (
        AtLeast(1.0, "library_liger"),
        AtLeast(1.0),
        AtLeast(0.9, "eager", "triton"),
        AtLeast(1.0, "gone"),
    )
    line = line_of(
        session,
        *((Provider.CUDA, "registers", 1e-3), (Provider.TRITON, "rows", 1.5e-3)),
        *((Provider.EAGER, "", 1.2e-3), (Provider.LIBRARY, "liger", 0.8e-3)),
        goals=goals,
    )
    found = [judgement.text for judgement in judgements(Found(line, session))]
    assert found == ["**missed by 20.0 %**", "**missed by 20.0 %**", "**missed by 11.1 %**", "not compared"]


def test_ceilings_are_those_measured_of_the_mix(session: Session) -> None:
    line = line_of(session, (Provider.CUDA, "registers", 1e-3), goals=(OfCeiling(0.5, Mix.COPY),))
    [judgement] = judgements(Found(line, session))
    ceiling, point = ceiling_of(session, Mix.COPY), line.of("cuda_registers")
    if ceiling is None:
        assert judgement.share is None
    else:
        assert point is not None
        assert judgement.share == pytest.approx((point.achieved_bandwidth or 0) / ceiling / 0.5)


def test_the_table_tells_who_has_no_time_and_why(session: Session) -> None:
    line = line_of(session, (Provider.CUDA, "registers", 1e-3), (Provider.EAGER, "", 1.2e-3))
    liger = replace(
        line.points[1],
        implementation=Implementation("softmax", Provider.LIBRARY, "liger", "h"),
        outcome=Skipped(SkipKind.UNAVAILABLE, "It is not here."),
    )
    text = list(markdown([Found(replace(line, points=(*line.points, liger)), session)]))
    assert text[0] == f"| {' | '.join(HEADER)} |"
    assert {row.count("|") for row in text[:3]} == {len(HEADER) + 1}
    assert "**registers 1.020 ms**" in text[2]
    assert "1.200 (1.2" in text[2]
    assert f"- softmax/library_liger {line.row.dtype}: It is not here." in text


@pytest.mark.parametrize(
    ("torch", "dsl", "is_said"),
    [("2.15.0+cu132", "4.8.0", True), ("2.15.0", "4.8.1", False), ("2.11.0+cu130", "4.8.0", False)],
)
def test_the_heading_says_where_eager_is_quack(session: Session, torch: str, dsl: str, is_said: bool) -> None:
    assert session.environment is not None
    packages = (Package("torch", torch), Package("nvidia-cutlass-dsl", dsl))
    session.environment = replace(session.environment, packages=packages)
    said = heading(session, "peers", ["softmax"])
    assert f"nvidia-cutlass-dsl {dsl}" in said
    assert "`python3 main.py -m roofscope.benchmarks.peers softmax`" in said
    assert ("copy of QuACK" in said) is is_said


def test_every_row_is_to_reach_the_best_of_its_peers() -> None:
    assert all(AtLeast(1.0) in row.goals for row in ROWS)
    assert {row.kernel for row in ROWS if not row.has_serious_peer} == {
        *("matmul_w4a16", "quantize_int4", "quantize_int8", "rms_norm_quantize_fp8"),
        "weighted_sum_backward",
    }


def test_a_row_without_a_serious_peer_says_so(session: Session) -> None:
    line = line_of(session, (Provider.CUDA, "registers", 1e-3), (Provider.EAGER, "", 1.2e-3))
    alone = replace(line, row=replace(line.row, has_serious_peer=False))
    assert "no serious peer" not in "".join(markdown([Found(line, session)]))
    assert "), no serious peer |" in "".join(markdown([Found(alone, session)]))
    ours = replace(alone, points=line.points[:1])
    assert "| no serious peer |" in "".join(markdown([Found(ours, session)]))


def test_every_row_can_be_planned() -> None:
    catalog = scan()
    for row in ROWS:
        kernel = catalog.kernel(row.kernel)
        assert kernel is not None, row
        large = kernel.spec.preset("large")
        assert large is not None
        assert kernel.spec.problem_with({**large.sizes, **row.sizes}) is None
        assert row.dtype in kernel.spec.dtypes
        stems = candidates(kernel, row.dtype)
        named = {goal.peer for goal in row.goals if isinstance(goal, AtLeast) and goal.peer}
        assert named <= set(stems)
        assert not any("naive" in stem or "textbook" in stem for stem in stems)


def test_a_row_is_done_where_every_version_has_an_outcome_of_its_file_now(session: Session) -> None:
    job = next(job for job in session.jobs if job.workload.kernel == "softmax")
    row = Row("C1", "softmax", job.workload.dtype)
    [one] = done([Planned(row, replace(job, id="job-77"))], [session])
    assert {point.implementation for point in one.line.points} == set(job.implementations)
    edited = (replace(job.implementations[0], source_hash="0" * 64), *job.implementations[1:])
    assert not done([Planned(row, replace(job, implementations=edited))], [session])
    empty = empty_session(ceilings=())
    assert [one.session for one in done([Planned(row, job)], [empty, session])] == [session]
    larger = replace(job.workload, sizes={name: 2 * size for name, size in job.workload.sizes.items()})
    assert not done([Planned(row, replace(job, workload=larger))], [session])


def test_without_a_gpu_and_a_session_there_is_nothing_to_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("roofscope.benchmarks.peers.__main__.local_devices", lambda: [cpu_device()])
    assert main(["softmax", "--session", str(tmp_path / "new.roofscope")]) == NOTHING
    assert "no session to print" in capsys.readouterr().err
    assert main(["slow_loop"]) == NOTHING
    assert "No row has such a kernel." in capsys.readouterr().err
    assert main(["softmax:8x13"]) == NOTHING
    assert "No row has these sizes. There are: softmax:524288x256, " in capsys.readouterr().err


def test_one_row_of_a_kernel_can_be_asked_for(
    session: Session, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("roofscope.benchmarks.peers.__main__.local_devices", lambda: [cpu_device()])
    monkeypatch.setattr("roofscope.benchmarks.peers.__main__.load", lambda _: session)
    main(["softmax:8x131072", "softmax:8192x65536", "copy", "--also", "a.roofscope"])
    assert "3 of 3 rows are not measured yet" in capsys.readouterr().out


def test_what_wgmma_replaces_contends_in_float32_only() -> None:
    matmul = scan().kernel("matmul")
    assert matmul is not None
    assert "cuda_ffma" in candidates(matmul, Dtype.FLOAT32)
    assert not {"cuda_ffma", "cuda_mma"} & set(candidates(matmul, Dtype.BFLOAT16))
