"""Who else is at work on a GPU, by a driver that is played."""

import os
from collections.abc import Sequence
from types import SimpleNamespace

import psutil
import pytest
from msgspec import Struct

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.sharing import Sharing, family_of, look, sharing_of
from roofscope.tests.sessions import UUID
from roofscope.tests.unit.test_nvml import h200, reader


class Gauge(Struct):
    """Answers; of the utilization one reading after the other, the last without end."""

    listed: frozenset[int] = frozenset()
    busy: Sequence[float | None] = (0.0,)
    drawing: int = 0
    shares: dict[int, float] = {}
    reading: int = 0

    def process_ids(self, uuid: str) -> frozenset[int]:
        return self.listed

    def graphics_process_count(self, uuid: str) -> int:
        return self.drawing

    def utilization(self, uuid: str) -> float | None:
        self.reading += 1
        return self.busy[min(self.reading, len(self.busy)) - 1]

    def utilization_by_process(self, uuid: str) -> dict[int, float]:
        return self.shares


def seen(gauge: Gauge, *own: int) -> Sharing:
    return look(gauge, UUID, own, pause=lambda _: None)


def test_an_idle_gpu_is_free_at_once() -> None:
    gauge = Gauge()
    assert seen(gauge) == Sharing(utilization=0.0)
    assert gauge.reading == 1
    assert seen(gauge).notice("a GPU") == ""


@pytest.mark.parametrize(
    ("gauge", "computes"),
    [
        (Gauge(frozenset({7}), (0.97,), shares={7: 0.9}), True),
        (Gauge(frozenset({7}), (0.97,)), True),  # the driver does not tell whose it is
        (Gauge(frozenset({7}), (0.0,)), False),
        (Gauge(frozenset({7}), (0.3,), drawing=2, shares={99: 0.3}), False),  # the display server's
        (Gauge(frozenset({7}), (0.3,), drawing=2, shares={99: 0.2, 7: 0.1}), True),
        (Gauge(frozenset(), (0.3,), drawing=2), False),
        (Gauge(frozenset({7}), (0.97,), shares={99: 0.9}), True),  # an idle one here, and one elsewhere
        (Gauge(frozenset(), (0.97,)), True),  # of another container
        (Gauge(frozenset(), (0.97, 0.6, 0.0)), False),  # what ended just now
        (Gauge(frozenset({7}), (None,)), False),  # a slice: nobody can tell, so it is only marked
    ],
)
def test_who_computes_and_who_only_has_memory(gauge: Gauge, computes: bool) -> None:
    assert seen(gauge).is_computing is computes


def test_a_process_that_ends_meanwhile_is_no_threat() -> None:
    gauge = Gauge(frozenset({7}), shares={7: 0.9})

    def ends(_: float) -> None:
        gauge.listed = frozenset()

    assert look(gauge, UUID, pause=ends) == Sharing(utilization=0.0)


def test_our_own_worker_is_no_threat() -> None:
    assert seen(Gauge(frozenset({7, 8})), 7, 8, 9).holding == ()
    assert seen(Gauge(frozenset({7, 8, 10})), 7, 8).holding == (10,)


def test_numbers_of_the_host_tell_nothing_but_the_load_does() -> None:
    """Of our worker's there is none among them, though it is there."""
    assert seen(Gauge(frozenset({2**30})), 7) == Sharing(utilization=0.0)
    assert seen(Gauge(frozenset({2**30}), (0.5,)), 7).is_computing
    # Our worker is alive, but on another GPU.
    assert seen(Gauge(frozenset({os.getpid()})), 7).holding == (os.getpid(),)


def test_what_is_said() -> None:
    me = f"{os.getpid()} of {psutil.Process().username()}"
    computing = Sharing((os.getpid(),), (os.getpid(),), 0.97, is_computing=True)
    assert computing.why_not_free("an H200") == (
        f"Process {me} computes on an H200, which is busy for 97 % of the time."
    )
    assert computing.notice("an H200") == computing.why_not_free("an H200")
    hidden = Sharing(utilization=0.5, is_computing=True)
    assert hidden.why_not_free("an H200").startswith("Something that this system does not show computes")
    holding = Sharing((os.getpid(),), utilization=0.0)
    assert holding.why_not_free("an H200") == ""
    assert holding.notice("an H200").startswith(f"Process {me} holds memory on an H200")
    many = Sharing((2**30, 2**30 + 1, 2**30 + 2, 2**30 + 3))
    assert f"Processes {2**30}, {2**30 + 1}, {2**30 + 2} and 1 more hold" in many.notice("an H200")


def test_nothing_is_asked_about_a_cpu() -> None:
    assert sharing_of(Device("cpu", DeviceKind.CPU, "a CPU", "cpu-1")) == Sharing()


def test_a_family_is_the_process_and_its_children() -> None:
    assert family_of(None) == frozenset()
    assert os.getpid() in family_of(os.getpid())


def test_the_readers_figures() -> None:
    def sample(pid: int, share: int, at_us: int) -> SimpleNamespace:
        return SimpleNamespace(pid=pid, smUtil=share, timeStamp=at_us)

    samples = {99_000_000: [sample(7, 30, 99_500_000), sample(7, 80, 99_700_000), sample(8, 0, 99_900_000)]}
    samples[99_000_000].append(sample(9, 50, 98_000_000))  # too old
    gpu = reader(
        h200(
            UUID=UUID,
            ProcessUtilization=samples,
            GraphicsRunningProcesses=[1, 2],
            CpuAffinity={64: [0b101, 1, *[0] * 62]},
        )
    )
    assert gpu.utilization_by_process(UUID, 100.0) == {7: 0.8}
    assert gpu.graphics_process_count(UUID) == 2
    assert gpu.utilization(UUID) == 0.97
    assert gpu.near_cpus(UUID) == {0, 2, 64}
    bare = reader(h200(UUID=UUID))
    assert bare.utilization_by_process(UUID) == {}
    assert (bare.graphics_process_count(UUID), bare.near_cpus(UUID)) == (0, frozenset())
