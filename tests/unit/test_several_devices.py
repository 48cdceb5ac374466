"""A session of several devices: each point beside those of its own device, under its own ceilings."""

from collections.abc import Iterable
from pathlib import Path

import pytest
import typer
from msgspec.structs import replace

from roofscope.app.cli.choice import choose_devices, file_of_each
from roofscope.app.cli.errors import USAGE, refuse_unusable
from roofscope.app.cli.pivot import export_pivot
from roofscope.app.cli.selftest import worst_of
from roofscope.app.presentation.roofline.caption import title_text
from roofscope.app.presentation.roofline.points import all_points
from roofscope.app.presentation.roofline.scene import build_scene
from roofscope.profiling.analysis.comparison import Baselines
from roofscope.profiling.analysis.frame import make_frame
from roofscope.profiling.analysis.pairs import Pair, history_of, pairs_of_pins, pairs_of_sessions
from roofscope.profiling.analysis.pivot import pivot
from roofscope.profiling.analysis.verdict import flags_of, verdict
from roofscope.profiling.devices.device import Device, DeviceKind, GpuProcess
from roofscope.profiling.devices.device_lock import lock_device
from roofscope.profiling.devices.sharing import Sharing
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.outcome import Flag
from roofscope.profiling.results.session import Origin, Session
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.roofline.cache import CacheKey, CeilingCache
from roofscope.profiling.supervision import readiness, recording
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.recorder import Recorder
from roofscope.profiling.supervision.run_events import (
    Banner,
    CeilingArrived,
    EnvironmentKnown,
    OutcomeArrived,
)
from roofscope.profiling.supervision.safe_store import SafeStore
from roofscope.tests.sessions import CEILINGS, DEVICE, ENVIRONMENT, SPECS, job, measured

TWIN = replace(DEVICE, id="cuda:1", uuid="GPU-twin", last_level_cache_bytes=1, processes=(GpuProcess(4711),))
CPU = Device("cpu", DeviceKind.CPU, "a CPU", "cpu-1")
ALL = (DEVICE, TWIN, CPU)
_FASTER = 2.0  # the twin's ceilings, by so much


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Two jobs, one a device, whose results came in turn; the twin was at work beside another process."""
    path = tmp_path / "a.roofscope"
    with SessionStore.create(path) as store:
        safe = SafeStore(store)
        recorders = {d.id: Recorder(safe, scan([]), d, CeilingCache(print, tmp_path)) for d in (DEVICE, TWIN)}
        for spec in SPECS:
            store.add_kernel(spec)
        for device in (TWIN, DEVICE):  # the order in which workers greet is chance
            recorders[device.id].handle(EnvironmentKnown(replace(ENVIRONMENT, devices=(device,))))
        for ceiling in CEILINGS:
            for device, factor in ((DEVICE, 1.0), (TWIN, _FASTER)):
                own = replace(ceiling, device_uuid=device.uuid, value=ceiling.value * factor)
                recorders[device.id].handle(CeilingArrived(own))
        planned = [
            replace(job("gelu", Dtype.FLOAT32, "large", f"job-{number}"), device=device.id)
            for number, device in enumerate((DEVICE, TWIN), 1)
        ]
        for index, implementation in enumerate(planned[0].implementations[:3]):
            for one, factor in zip(planned, (1.0, 0.5), strict=True):
                time_s = (1e-3 + 1e-4 * index) * factor
                recorders[one.device].handle(OutcomeArrived(one, implementation, measured(time_s)))
    return load(path)


def test_points_and_ceilings_come_back_to_their_devices(session: Session) -> None:
    assert [device.id for device in session.devices] == ["cuda:0", "cuda:1"]
    assert session.device == DEVICE  # the first, not the one that greeted last
    for point in session.points:
        device = session.device_of(point)
        assert device is not None
        assert device.id == point.job.device
        assert {one.device_uuid for one in session.roofline_of(point).ceilings} == {device.uuid}


def test_a_point_is_judged_by_its_own_device(session: Session) -> None:
    one, other = session.points[:2]
    assert one.job.device != other.job.device
    shares = [verdict(point, session).fraction_of_roof for point in (one, other)]
    assert shares[0] == pytest.approx(shares[1])  # twice as fast, under ceilings twice as high
    assert Flag.SHARED_GPU not in flags_of(one, session)
    assert Flag.SHARED_GPU in flags_of(other, session)


def test_only_points_of_one_device_are_compared(session: Session) -> None:
    baselines = Baselines(session.points)
    for point in session.points:
        baseline = baselines.of(point)
        assert baseline is not None
        assert baseline.job.device == point.job.device
    frame = make_frame([session])
    assert list(frame["device_uuid"]) == [DEVICE.uuid, TWIN.uuid] * 3
    table = pivot(frame, "n", "median_s")
    assert list(table["device_uuid"]) == [DEVICE.uuid, TWIN.uuid]
    assert TWIN.uuid in export_pivot(session.path, "n", "median", None)  # type: ignore[arg-type]


def numbers_of(pairs: Iterable[Pair], devices: dict[int, str]) -> list[tuple[str, str | None]]:
    return [
        (devices[pair.a.point.number], devices[pair.b.point.number] if pair.b else None) for pair in pairs
    ]


def test_points_are_paired_with_those_of_their_own_gpu(session: Session) -> None:
    devices = {point.number: point.job.device for point in session.points}
    found = pairs_of_sessions(session, session).pairs
    assert [(pair.a.point.number, pair.b.point.number) for pair in found if pair.b] == [
        (point.number, point.number) for point in session.points
    ]
    history = history_of(session, session.points[0])
    assert numbers_of(history, devices) == [("cuda:0", None)]
    session.marks = {
        point.number: Mark(pinned_at=f"2026-01-02T03:04:{rank:02}.000+00:00")
        for rank, point in enumerate(session.points[:4])
    }
    assert numbers_of(pairs_of_pins(session), devices) == [
        ("cuda:0", "cuda:1"),  # the first of the other GPU, which has no earlier one of its own
        ("cuda:0", "cuda:0"),
        ("cuda:1", "cuda:1"),
    ]


@pytest.mark.parametrize(
    ("uuids", "expected"),
    [
        (("GPU-x", "GPU-y"), ["cuda:0", "cuda:1"]),  # of another machine: by their ids
        ((TWIN.uuid, DEVICE.uuid), ["cuda:1", "cuda:0"]),  # numbered otherwise there
        ((TWIN.uuid, "GPU-y"), ["cuda:1", "cuda:0"]),  # what is left on either side is one
    ],
)
def test_gpus_of_two_sessions_are_matched_by_what_they_are(
    session: Session, uuids: tuple[str, str], expected: list[str]
) -> None:
    renamed = dict(zip((DEVICE.uuid, TWIN.uuid), uuids, strict=True))

    def there(origin: Origin) -> Origin:
        devices = tuple(replace(one, uuid=renamed[one.uuid]) for one in origin.environment.devices)
        return replace(origin, environment=replace(origin.environment, devices=devices))

    fields = {name: getattr(session, name) for name in Session.__struct_fields__}
    other = Session(**{**fields, "origins": tuple(map(there, session.origins))})
    found = pairs_of_sessions(session, other)
    assert (len(found.pairs), found.only_a, found.only_b) == (6, 0, 0)
    matched = {pair.b.point.job.device: pair.a.point.job.device for pair in found.pairs if pair.b}
    assert [matched["cuda:0"], matched["cuda:1"]] == expected


def test_a_gpu_that_the_other_session_has_not_is_paired_with_none(session: Session) -> None:
    fields = {name: getattr(session, name) for name in Session.__struct_fields__}
    alone = Session(**{**fields, "points": session.points[::2]})
    found = pairs_of_sessions(session, alone)
    assert (len(found.pairs), found.only_a, found.only_b) == (3, 3, 0)


def test_the_chart_shows_one_device_under_its_ceilings(session: Session) -> None:
    drawn = build_scene(session, all_points(session))
    assert {line.ceiling.device_uuid for line in drawn.lines} == {DEVICE.uuid}
    assert len(drawn.points) == 3
    assert title_text(session) == "Roofline of NVIDIA H200 (cuda:0)"
    session.show(TWIN)
    drawn = build_scene(session, all_points(session))
    assert {line.ceiling.device_uuid for line in drawn.lines} == {TWIN.uuid}
    assert len(drawn.points) == 3
    assert title_text(session) == "Roofline of NVIDIA H200 (cuda:1)"


def test_a_newer_description_of_another_device_does_not_change_what_is_shown(session: Session) -> None:
    session.know(replace(session.origins[0], number=17))
    assert session.device == DEVICE


def test_ceilings_are_kept_by_device(tmp_path: Path) -> None:
    assert CacheKey.of(DEVICE, "2.11") != CacheKey.of(replace(DEVICE, uuid=TWIN.uuid), "2.11")


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (None, ["cuda:0"]),
        ("cuda", ["cuda:0"]),
        ("cpu", ["cpu"]),
        ("all", ["cuda:0", "cuda:1"]),
        ("cuda:1,cuda:0", ["cuda:1", "cuda:0"]),
        ("cuda:1, cuda:1", ["cuda:1"]),
    ],
)
def test_devices_by_name(words: str | None, ids: list[str]) -> None:
    assert [device.id for device in choose_devices(ALL, words)] == ids


def test_without_a_gpu_all_is_the_cpu() -> None:
    assert choose_devices((CPU,), "all") == (CPU,)


@pytest.mark.parametrize(("words", "says"), [("cuda:0,cpu", "cannot share a plan"), ("cuda:7", "no device")])
def test_devices_that_do_not_go_together(words: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BaseException):  # noqa: B017, PT011 - typer's exit
        choose_devices(ALL, words)
    assert says in capsys.readouterr().err


def test_each_device_has_a_picture_of_its_own() -> None:
    assert list(file_of_each([DEVICE], Path("a.svg")).values()) == [Path("a.svg")]
    names = [path.name for path in file_of_each([DEVICE, TWIN], Path("a.svg")).values()]
    assert names == ["a-cuda0.svg", "a-cuda1.svg"]


def test_the_worst_of_several_exit_codes() -> None:
    assert [worst_of(codes) for codes in ([0, 0], [0, 3], [3, 75], [75, 1, 0])] == [0, 3, 75, 1]


def test_a_gpu_on_which_somebody_computes_is_refused_before_a_worker_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Sharing((4711,), (4711,), 0.97, is_computing=True)
    monkeypatch.setattr(readiness, "sharing_of", lambda _: found)
    monkeypatch.setattr(recording, "carry_out", lambda *_, **__: recording.Ending())
    said: list[str] = []

    def watch(report: object, _gained: object) -> None:
        if isinstance(report, Banner):
            said.append(report.text)

    def run(path: Path, *, may_share: bool) -> recording.Ending:
        tasks = [Run(job("gelu", Dtype.FLOAT32, "small", "job-1"))]
        cache = CeilingCache(print, tmp_path / "ceilings")
        return recording.record(path, scan([]), DEVICE, tasks, watch, cache, may_share=may_share)

    refused = run(tmp_path / "a.roofscope", may_share=False)
    assert refused.busy.startswith("Process 4711 computes on NVIDIA H200 (cuda:0)")
    assert "--shared-gpu" in refused.busy
    assert not (tmp_path / "a.roofscope").exists()
    assert said == []
    assert not run(tmp_path / "b.roofscope", may_share=True).busy
    assert said == [found.why_not_free("NVIDIA H200 (cuda:0)")]
    found = Sharing((4711,), utilization=0.0)
    assert not run(tmp_path / "c.roofscope", may_share=False).busy
    assert "holds memory on NVIDIA H200 (cuda:0)" in said[-1]


def test_a_lock_that_cannot_be_used_is_no_busy_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """To wait, as the exit code 75 asks scripts to, would change nothing."""
    monkeypatch.setenv("ROOFSCOPE_LOCKS", str(tmp_path))
    lock_device(CPU.uuid, CPU.name).close()
    [lock] = tmp_path.iterdir()
    lock.unlink()
    lock.mkdir()
    cache = CeilingCache(print, tmp_path / "ceilings")
    ending = recording.record(tmp_path / "a.roofscope", scan([]), CPU, [], lambda *_: None, cache)
    assert ending.busy == ""
    assert ending.unusable == f"{lock}, which locks the device, cannot be opened (Is a directory); remove it."
    assert not (tmp_path / "a.roofscope").exists()
    with pytest.raises(typer.Exit) as refused:
        refuse_unusable(ending)
    assert refused.value.exit_code == USAGE
    assert ending.unusable in capsys.readouterr().err
