"""How blocks are timed for a ceiling: the clock in band, the state while the device works. Played, no GPU."""

import os
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

torch = pytest.importorskip("torch")

from roofscope.profiling.devices.device import Device, DeviceKind, DeviceState  # noqa: E402
from roofscope.profiling.worker.ceilings import neighbours, testbed  # noqa: E402
from roofscope.profiling.worker.ceilings.block_times import Block, BlockTimes  # noqa: E402
from roofscope.profiling.worker.ceilings.watch import Watch  # noqa: E402

Bed = testbed.Testbed
HOT = DeviceState(event_reasons=("thermal slowdown (hardware)",))
COOL = DeviceState(clock_hz=1.98e9, event_reasons=("power cap", "idle"))
CPU = Device("cpu", DeviceKind.CPU, "Some CPU", "cpu-1")


@dataclass
class PlayedGpu:
    """A queue of one call a millisecond, a clock of 1592 MHz, and a driver that says 1980."""

    work_s: float = 1e-3
    now_s: float = 0.0  # of the host
    busy_until_s: float = 0.0
    state: list[DeviceState] = field(default_factory=lambda: [COOL])
    states_read: list[bool] = field(default_factory=list[bool])  # whether the device was at work
    marks: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])

    def call(self) -> None:
        self.busy_until_s = max(self.busy_until_s, self.now_s) + self.work_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def mark(self) -> "PlayedEvent":
        return PlayedEvent(self, max(self.busy_until_s, self.now_s))

    def read_state(self) -> DeviceState:
        self.states_read.append(self.now_s < self.busy_until_s)
        return self.state.pop(0) if len(self.state) > 1 else self.state[0]

    def mark_begin(self) -> None:
        self.marks.append(("begin", max(self.busy_until_s, self.now_s)))

    def mark_end(self) -> None:
        self.marks.append(("end", max(self.busy_until_s, self.now_s)))

    def hertz(self) -> float | None:
        assert self.now_s >= self.marks[-1][1], "the mark behind the block was not awaited"
        return 1.592e9


@dataclass
class PlayedEvent:
    gpu: PlayedGpu
    at_s: float

    def query(self) -> bool:
        return self.gpu.now_s >= self.at_s

    def synchronize(self) -> None:
        self.gpu.now_s = max(self.gpu.now_s, self.at_s)

    def elapsed_time(self, end_event: "PlayedEvent") -> float:
        return (end_event.at_s - self.at_s) * 1e3


@pytest.fixture
def gpu() -> PlayedGpu:
    return PlayedGpu()


@pytest.fixture
def bed(gpu: PlayedGpu, monkeypatch: pytest.MonkeyPatch) -> Bed:
    monkeypatch.setattr(testbed, "cuda_mark", gpu.mark)
    monkeypatch.setattr(testbed, "gpu_clock", lambda _: gpu)
    monkeypatch.setattr("time.sleep", gpu.sleep)
    monkeypatch.setattr("time.monotonic", lambda: gpu.now_s)
    monkeypatch.setattr(testbed.Testbed, "is_cuda", True)
    made = testbed.Testbed(CPU, lambda: False)
    made.pace = testbed.PACES[DeviceKind.CUDA]
    monkeypatch.setattr(made, "_read_state", gpu.read_state)
    return made


def test_a_block_has_the_clock_in_band_and_states_of_a_device_at_work(bed: Bed, gpu: PlayedGpu) -> None:
    timing = bed.time_blocks(gpu.call)
    assert timing.clock_hz == 1.592e9
    assert timing.sampled_clock_hz == 1.98e9
    assert timing.clock_text == " at 1592 MHz"
    assert timing.median_s == pytest.approx(1e-3)
    assert len(timing.blocks) == bed.pace.repeats
    begins = [at for name, at in gpu.marks if name == "begin"]
    ends = [at for name, at in gpu.marks if name == "end"]
    assert [end - begin for begin, end in zip(begins, ends, strict=True)] == pytest.approx([5e-3] * 9)
    kept = sum(len(block.states) for block in timing.blocks)
    assert kept == sum(gpu.states_read) < len(gpu.states_read)  # those read too late do not count
    assert kept >= 3 * len(timing.blocks)


def test_a_held_load_has_its_clock_in_band(bed: Bed, gpu: PlayedGpu) -> None:
    timing = bed.hold(gpu.call)
    assert (timing.clock_hz, timing.sampled_clock_hz) == (1.592e9, 1.98e9)
    (_, begin), (_, end) = gpu.marks
    assert begin >= bed.pace.settle_s
    assert end - begin >= bed.pace.held_s
    assert timing.median_s == pytest.approx(1e-3)
    assert all(gpu.states_read)


def test_without_cuda_core_the_drivers_sample_stands_in_and_is_called_that(
    bed: Bed, gpu: PlayedGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(testbed, "gpu_clock", lambda _: None)
    timing = bed.time_blocks(gpu.call)
    assert timing.clock_hz is None
    assert timing.clock_text == " at 1980 MHz by the driver's samples, not in band"
    assert gpu.marks == []


def test_blocks_under_a_slowdown_do_not_count_and_others_are_tried(bed: Bed, gpu: PlayedGpu) -> None:
    gpu.state = [HOT] * 8 + [COOL]
    timing = bed.time_blocks(gpu.call)
    assert len(timing.blocks) == bed.pace.repeats
    assert timing.left_out_count > 0
    conditions = timing.conditions(CPU)
    assert conditions.left_out_count == timing.left_out_count
    assert conditions.event_reasons == ("power cap",)
    assert conditions.unfit_because == ""


def test_a_slowdown_that_lasts_is_a_condition_of_the_ceiling(bed: Bed, gpu: PlayedGpu) -> None:
    gpu.state = [HOT]
    timing = bed.time_blocks(gpu.call)
    assert len(timing.blocks) == 2 * bed.pace.repeats
    assert timing.conditions(CPU).unfit_because == "under thermal slowdown (hardware)"


def test_the_fastest_blocks_have_the_clock_of_their_own() -> None:
    blocks = [Block(seconds, hertz) for seconds, hertz in zip(range(1, 8), range(17, 10, -1), strict=True)]
    fastest = BlockTimes.of(blocks).fastest
    assert (fastest.median_s, fastest.clock_hz) == (3, 15)
    assert fastest.text == "median of the 5 fastest of 7"
    conditions = fastest.conditions(replace(CPU, ecc_enabled=True))
    assert (conditions.clock_low_hz, conditions.clock_hz, conditions.clock_high_hz) == (13, 15, 17)
    assert conditions.ecc_enabled is True
    assert BlockTimes.of(blocks[:3]).fastest.text == "median of 3"
    assert BlockTimes.of([Block(1.0)]).clock_text == ""


def test_a_watch_without_a_clock_has_none() -> None:
    watch = Watch(None, lambda: COOL, 0.0)
    watch.begin()
    watch.end()
    watch.look()
    assert (watch.clock_hz, watch.states) == (None, [COOL])


@pytest.mark.parametrize(
    ("before", "now", "own", "count"),
    [
        ((), (1, 2), (1, 2), 0),  # ours
        ((), (1, 7), (1, 2), 1),  # one that came
        ((7,), (1, 7, 8), (1, 2), 2),
        ((7,), (1,), (1, 2), 0),  # gone
        ((), (901, 902), (1, 2), 0),  # a container's numbers: these may be our own
        ((900,), (900, 901), (1, 2), 1),
    ],
)
def test_others_are_told_from_our_own(
    before: tuple[int, ...], now: tuple[int, ...], own: tuple[int, ...], count: int
) -> None:
    assert neighbours.count_others(before, now, own) == count


def test_those_below_the_guard_are_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = 1  # whose child no test is

    class Reader:
        def process_ids(self, _uuid: str) -> frozenset[int]:
            return frozenset({stranger, os.getpid(), os.getppid()})

    monkeypatch.setattr(neighbours, "NvmlReader", Reader)
    assert neighbours.neighbour_counter(Device("cuda:0", DeviceKind.CUDA, "Some GPU", "GPU-1"))() == 1
