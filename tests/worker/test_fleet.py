"""Several devices at once: invented GPUs with workers that compute nothing, and this CPU twice."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from roofscope.app.cli import run as command
from roofscope.app.cli import run_options
from roofscope.app.cli.table import table_lines
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.paths import LIBRARY, module_command
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.plan import Job, SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.profiling.results.outcome import Cancelled, Failed, FailureKind, Measured
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision import recording
from roofscope.profiling.supervision.fleet import HeadlessFleet, Member
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.recorder import Gain
from roofscope.profiling.supervision.recording import Ceilings, Ending, record
from roofscope.profiling.supervision.run_events import BecameIdle, OutcomeArrived, RunEvent, WorkerLost
from roofscope.profiling.supervision.target import LocalTarget
from roofscope.tests.sessions import DEVICE
from roofscope.tests.worker.toys import REFERENCE, add_toy

TWIN = replace(DEVICE, id="cuda:1", uuid="GPU-twin")
CATALOG = scan([LIBRARY])


class FakeTarget(LocalTarget, frozen=True):
    mode: str = "quick"
    marker: str = "/nonexistent"

    def argv(self) -> tuple[str, ...]:
        return (*module_command("roofscope.tests.qt.fake_worker"), self.mode, self.marker)


def modes(*of_each: str, marker: Path = Path("/nonexistent")) -> Callable[[Sequence[Device]], list[Member]]:
    def members_of(devices: Sequence[Device]) -> list[Member]:
        pairs = zip(devices, of_each, strict=True)
        return [
            Member(device, FakeTarget(gpu=device.uuid, mode=mode, marker=str(marker)))
            for device, mode in pairs
        ]

    return members_of


def some_jobs(*kernels: str, catalog: Catalog = CATALOG) -> tuple[Job, ...]:
    return plan_jobs(
        [kernel for kernel in catalog.kernels if kernel.spec.name in kernels],
        device="cuda:0",
        dtypes=[Dtype.FLOAT32],
        size_choices=[SizeChoice("small"), SizeChoice("medium")],
        providers=[Provider.EAGER, Provider.COMPILE, Provider.TRITON],
    )


class Watched:
    """What a run reported."""

    def __init__(self) -> None:
        self.reports: list[RunEvent] = []

    def __call__(self, report: RunEvent, gained: Gain | None) -> None:
        self.reports.append(report)


def measure(
    path: Path,
    jobs: Sequence[Job],
    members_of: Callable[[Sequence[Device]], list[Member]],
    watch: Callable[[RunEvent, Gain | None], None] | None = None,
) -> Ending:
    return record(
        path,
        CATALOG,
        (DEVICE, TWIN),
        [Run(job) for job in jobs],
        watch or Watched(),
        CeilingCache(print, path.parent / "ceilings"),
        ceilings=Ceilings.KEEP,
        members_of=members_of,
    )


@pytest.fixture(autouse=True)
def nothing_else_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The devices are invented, so nobody can be asked about them."""
    monkeypatch.setattr(recording, "refusal", lambda *_, **__: "")


def keys(points: Sequence[Point]) -> list[tuple[str, str]]:
    return sorted((point.job.id, point.implementation.key) for point in points)


def planned(jobs: Sequence[Job]) -> list[tuple[str, str]]:
    return sorted((job.id, implementation.key) for job in jobs for implementation in job.implementations)


def uuids_of_jobs(session: Session) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for point in session.points:
        device = session.device_of(point)
        assert device is not None
        found.setdefault(point.job.id, set()).add(device.uuid)
    return found


def test_two_devices_share_a_plan_by_whole_jobs_in_one_session(tmp_path: Path) -> None:
    jobs = some_jobs("softmax", "gelu", "matmul")
    path = tmp_path / "a.roofscope"
    ending = measure(path, jobs, modes("quick", "quick"))
    session = load(path)
    assert not ending.busy
    assert keys(session.points) == planned(jobs)
    by_job = uuids_of_jobs(session)
    assert all(len(uuids) == 1 for uuids in by_job.values())
    assert set[str]().union(*by_job.values()) == {DEVICE.uuid, TWIN.uuid}
    assert [(device.id, device.uuid) for device in session.devices] == [
        ("cuda:0", DEVICE.uuid),
        ("cuda:1", "GPU-twin"),
    ]
    for point in session.points:  # each with its own device's ceilings, by id and by UUID
        device = session.device_of(point)
        assert device is not None
        assert point.job.device == device.id
        roofs = session.roofline_of(point).ceilings
        assert {ceiling.device_uuid for ceiling in roofs} == {device.uuid}
        assert any(ceiling.source.is_measured for ceiling in roofs)
    session.show(TWIN)
    assert {ceiling.device_uuid for ceiling in session.roofline.ceilings} == {TWIN.uuid}


def test_the_table_is_in_the_order_of_the_plan(tmp_path: Path) -> None:
    jobs = some_jobs("softmax", "gelu", "matmul")
    measure(tmp_path / "a.roofscope", jobs, modes("quick", "slow"))
    session = load(tmp_path / "a.roofscope")
    lines = [line.plain for line in table_lines(session, 1000)]
    assert lines[0] == "NVIDIA H200 (cuda:0), NVIDIA H200 (cuda:1)"
    heads = [line for line in lines[2:] if line and not line.startswith(" ") and "cuda:" in line]
    assert [head.split()[0] for head in heads[: len(jobs)]] == [job.workload.kernel for job in jobs]
    devices = {point.job.id: point.job.device for point in session.points}
    assert [head.split()[-1] for head in heads[: len(jobs)]] == [devices[job.id] for job in jobs]


def test_a_lost_worker_costs_one_implementation(tmp_path: Path) -> None:
    jobs = some_jobs("softmax", "gelu")
    watched = Watched()
    members = modes("quick", "crash_once", marker=tmp_path / "marker")
    measure(tmp_path / "a.roofscope", jobs, members, watched)
    session = load(tmp_path / "a.roofscope")
    assert keys(session.points) == planned(jobs)
    failed = [point.outcome for point in session.points if not point.measured]
    assert [outcome.kind for outcome in failed if isinstance(outcome, Failed)] == [FailureKind.WORKER_LOST]
    assert len([one for one in watched.reports if isinstance(one, WorkerLost)]) == 1
    assert [one for one in watched.reports if isinstance(one, BecameIdle)] == [BecameIdle()]
    assert watched.reports[-1] == BecameIdle()


def test_where_one_worker_never_starts_the_other_does_it_all(tmp_path: Path) -> None:
    jobs = some_jobs("softmax", "gelu")
    ending = measure(tmp_path / "a.roofscope", jobs, modes("mute", "quick"))
    session = load(tmp_path / "a.roofscope")
    assert not ending.busy
    assert keys(session.points) == planned(jobs)
    assert {point.job.device for point in session.points} == {"cuda:1"}


def test_a_stop_ends_all_and_keeps_what_was_measured(tmp_path: Path) -> None:
    jobs = some_jobs("softmax", "gelu", "matmul")
    fleet: HeadlessFleet | None = None
    reports: list[tuple[str, RunEvent]] = []

    def on_report(device: Device, report: RunEvent) -> None:
        reports.append((device.id, report))
        started = {id for id, one in reports if isinstance(one, OutcomeArrived)}
        if fleet and len(started) == 2 and not fleet.was_stopped:
            fleet.press_stop()

    fleet = HeadlessFleet(modes("held", "held")((DEVICE, TWIN)), [], CATALOG.hash, on_report)
    try:
        left = fleet.run([Run(job) for job in jobs])
    finally:
        fleet.close()
    outcomes = [report.outcome for _, report in reports if isinstance(report, OutcomeArrived)]
    assert fleet.was_stopped
    assert left == ()
    assert {type(outcome) for outcome in outcomes} == {Measured, Cancelled}
    assert len({report.job.id for _, report in reports if isinstance(report, OutcomeArrived)}) == 2
    assert fleet.worker_pids == (None, None)


def test_what_the_watcher_raises_ends_all_workers(tmp_path: Path) -> None:
    def broken(report: RunEvent, gained: Gain | None) -> None:
        if isinstance(report, OutcomeArrived):
            raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError, match="the disk is gone"):
        measure(tmp_path / "a.roofscope", some_jobs("softmax", "gelu"), modes("slow", "stuck"), broken)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux only")
def test_each_worker_keeps_to_its_cpus(tmp_path: Path) -> None:
    mine = sorted(os.sched_getaffinity(0))
    cpus = (frozenset(mine[:1]), frozenset(mine[-1:]))
    found: dict[int, frozenset[int]] = {}
    fleet: HeadlessFleet | None = None

    def on_report(device: Device, report: RunEvent) -> None:
        if fleet and isinstance(report, OutcomeArrived):
            for number, pid in enumerate(fleet.worker_pids):
                if pid is not None:
                    found.setdefault(number, frozenset(os.sched_getaffinity(pid)))
            if len(found) == 2:
                fleet.press_stop()

    pairs = zip(modes("slow", "slow")((DEVICE, TWIN)), cpus, strict=True)
    members = [replace(member, target=replace(member.target, cpus=own)) for member, own in pairs]
    fleet = HeadlessFleet(members, [], CATALOG.hash, on_report)
    try:
        fleet.run([Run(job) for job in some_jobs("softmax", "gelu")])
    finally:
        fleet.close()
    assert found == dict(enumerate(cpus))
    assert sorted(os.sched_getaffinity(0)) == mine


class TwinTarget(LocalTarget, frozen=True):
    """A real worker on this CPU, under another identity."""

    uuid: str = ""

    def argv(self) -> tuple[str, ...]:
        return (*module_command("roofscope.tests.worker.twin_worker"), self.uuid)


def test_this_cpu_twice_gives_the_results_of_both(tmp_path: Path) -> None:
    add_toy(tmp_path / "mine", "one", REFERENCE)
    add_toy(tmp_path / "mine", "other", REFERENCE)
    catalog = scan([LIBRARY, tmp_path / "mine"])
    jobs = plan_jobs(
        [kernel for kernel in catalog.kernels if kernel.spec.name in ("one", "other")],
        device="cpu",
        dtypes=[Dtype.FLOAT32],
        size_choices=[SizeChoice("small")],
        stems=["eager"],
    )
    cpus = [replace(cpu_device(), uuid=uuid) for uuid in ("cpu-one", "cpu-two")]
    members = [Member(cpu, TwinTarget(uuid=cpu.uuid)) for cpu in cpus]
    path, cache = tmp_path / "a.roofscope", CeilingCache(print, tmp_path / "ceilings")
    record(
        path, catalog, cpus, [Run(job) for job in jobs], Watched(), cache,
        kernel_roots=[tmp_path / "mine"], members_of=lambda _: members,
    )  # fmt: skip
    session = load(path)
    # Both share this CPU's cores, so a time of either may be refused for the other's work beside it.
    assert keys(session.points) == planned(jobs)
    internal = (FailureKind.INTERNAL, FailureKind.WORKER_LOST)
    kinds = [point.outcome.kind for point in session.points if isinstance(point.outcome, Failed)]
    assert not set(kinds).intersection(internal)
    assert {uuid for uuids in uuids_of_jobs(session).values() for uuid in uuids} == {"cpu-one", "cpu-two"}


def test_the_command_line_prints_one_table_of_all_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(run_options, "local_devices", lambda: (DEVICE, TWIN, cpu_device()))
    monkeypatch.setattr(command, "record", partial(record, members_of=modes("quick", "quick")))
    out = tmp_path / "a.roofscope"
    options = command.RunOptions(
        kernels=["softmax", "gelu", "vector_add"],
        providers=[Provider.EAGER, Provider.COMPILE],
        presets=["small", "medium"],
        device="all",
        out=out,
        svg=True,
    )
    assert command.run(options) == 0
    printed = capsys.readouterr().out
    assert "NVIDIA H200 (cuda:0), NVIDIA H200 (cuda:1)" in printed
    assert " on cuda:0: " in printed
    assert " on cuda:1: " in printed
    assert {path.name for path in tmp_path.glob("*.svg")} == {"a-cuda0.svg", "a-cuda1.svg"}
    assert "Roofline of NVIDIA H200 (cuda:1)" in (tmp_path / "a-cuda1.svg").read_text()
    assert len(load(out).devices) == 2
