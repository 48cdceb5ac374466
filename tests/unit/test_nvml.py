"""The NVML reader against a driver played by a small fake, which fails loudly on any other call."""

from types import SimpleNamespace
from typing import Any

import pytest

from roofscope.profiling.devices.device import DeviceState, GpuProcess
from roofscope.profiling.devices.nvml import NvmlReader, NvmlUnavailable, event_reasons, same_gpu

UUID = "GPU-6c3e0a52-0000-4000-8000-00000000000a"
SLICE = "MIG-6c3e0a52-0000-4000-8000-0000000000aa"


class NotSupported(Exception):
    pass


def h200(**changes: Any) -> dict[str, Any]:
    """Answers of one GPU by function name; NotSupported where an answer is absent."""
    answers: dict[str, Any] = {
        "UUID": UUID,
        "Name": "NVIDIA H200",
        "CudaComputeCapability": (9, 0),
        "NumGpuCores": 16896,
        "MaxClockInfo": {1: 1980, 2: 3201},
        "ClockInfo": {1: 1395, 2: 3200},
        "MemoryBusWidth": 6016,
        "MemoryInfo": SimpleNamespace(total=150_000_000_000, used=2_000_000_000),
        "PowerManagementLimit": 700_000,
        "EnforcedPowerLimit": 650_000,
        "PowerUsage": 698_123,
        "Temperature": {0: 61},
        "UtilizationRates": SimpleNamespace(gpu=97, memory=40),
        "CurrentClocksEventReasons": 0x4,
        "ApplicationsClock": {1: 1980, 2: 3201},
        "EccMode": [1, 1],
        "MigMode": [0, 0],
        "ComputeRunningProcesses": [SimpleNamespace(pid=42, usedGpuMemory=None)],
    }
    return {name: answer for name, answer in (answers | changes).items() if answer is not None}


class FakeNvml:
    """Plays ``pynvml``. A handle is the dict of a GPU's answers."""

    NVMLError = NotSupported

    def __init__(self, *gpus: dict[str, Any], fails_to_start: bool = False) -> None:
        self._gpus = gpus
        self._fails_to_start = fails_to_start
        self.sessions = 0

    def nvmlInit(self) -> None:
        if self._fails_to_start:
            raise NotSupported("Driver Not Loaded")
        self.sessions += 1

    def nvmlShutdown(self) -> None:
        self.sessions -= 1

    def nvmlSystemGetDriverVersion(self) -> str:
        return "580.159.03"

    def nvmlSystemGetCudaDriverVersion(self) -> int:
        return 13010

    def nvmlDeviceGetCount(self) -> int:
        return len(self._gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> object:
        return self._gpus[index]

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: dict[str, Any]) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: dict[str, Any], index: int) -> object:
        slices = handle.get("slices", ())
        if index >= len(slices):
            raise NotSupported("Not Found")
        return slices[index]

    def __getattr__(self, name: str) -> Any:
        known = {
            *h200(),
            "Attributes",
            "CurrentClocksThrottleReasons",
            "TotalEnergyConsumption",
            "FieldValues",
            "ProcessUtilization",
            "GraphicsRunningProcesses",
            "CpuAffinity",
        }
        fact = name.removeprefix("nvmlDeviceGet")
        if fact not in known:
            raise AssertionError(f"{name} must not be called")

        def answer(handle: dict[str, Any], *arguments: Any) -> Any:
            if fact not in handle:
                raise NotSupported("Not Supported")
            if fact == "FieldValues":
                return [handle[fact][field] for field in arguments[0]]
            return handle[fact][arguments[0]] if arguments else handle[fact]

        return answer


def reader(*gpus: dict[str, Any], visible: str | None = None) -> NvmlReader:
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    return NvmlReader(FakeNvml(*gpus), environment)


def test_device_is_described_in_base_units() -> None:
    (device,) = reader(h200()).devices()
    assert (device.id, device.name, device.uuid) == ("cuda:0", "NVIDIA H200", UUID)
    assert (device.core_count, device.multiprocessor_count) == (16896, 132)
    assert device.compute_capability == (9, 0)
    assert (device.max_clock_hz, device.max_memory_clock_hz) == (1980e6, 3201e6)
    assert (device.bus_width_bits, device.memory_bytes) == (6016, 150_000_000_000)
    assert device.power_limit_w == 700
    assert device.driver_version == "580.159.03"
    assert (device.ecc_enabled, device.mig_enabled) == (True, False)
    assert device.processes == (GpuProcess(42, None),)
    assert (device.application_clock_hz, device.application_memory_clock_hz) == (1980e6, 3201e6)


def test_newer_drivers_tell_no_application_clock() -> None:
    (device,) = reader(h200(ApplicationsClock=None)).devices()
    assert (device.application_clock_hz, device.application_memory_clock_hz) == (None, None)


def test_every_process_on_a_gpu_has_its_number() -> None:
    gpu = reader(h200())
    assert gpu.process_ids(UUID) == {42}
    assert gpu.process_ids("GPU-gone") == frozenset()


def test_own_process_is_no_threat() -> None:
    (device,) = reader(h200()).devices(own_pids={42})
    assert device.processes == ()


def test_state_is_read_in_base_units() -> None:
    state = reader(h200()).state(UUID)
    assert (state.clock_hz, state.memory_clock_hz) == (1395e6, 3200e6)
    assert state.power_w == pytest.approx(698.123)
    assert (state.temperature_c, state.utilization, state.memory_used_bytes) == (61, 0.97, 2_000_000_000)
    assert state.event_reasons == ("power cap",)


def field(value: int, status: int = 0) -> dict[int, Any]:
    """NVML's answer for the instantaneous power, in mW."""
    return {186: SimpleNamespace(nvmlReturn=status, value=SimpleNamespace(uiVal=value))}


def test_energy_and_power_are_read_in_base_units() -> None:
    gpu = reader(h200(TotalEnergyConsumption=123_456_789, FieldValues=field(701_500)))
    assert gpu.energy_j(UUID) == pytest.approx(123_456.789)
    assert gpu.power_w(UUID) == pytest.approx(701.5)


@pytest.mark.parametrize("answer", [None, field(0), field(5, status=3)], ids=["absent", "zero", "refused"])
def test_the_running_mean_stands_in_for_the_power_now(answer: Any) -> None:
    assert reader(h200(FieldValues=answer)).power_w(UUID) == pytest.approx(698.123)


def test_energy_that_the_driver_does_not_count_is_none() -> None:
    gpu = reader(h200(PowerUsage=None))
    assert gpu.energy_j(UUID) is None
    assert gpu.power_w(UUID) is None
    assert gpu.energy_j("GPU-gone") is None


def test_a_slice_is_not_charged_for_the_whole_board() -> None:
    part = {"UUID": SLICE, "TotalEnergyConsumption": 1, "PowerUsage": 1}
    mig = reader(h200(MigMode=[1, 1], slices=[part], TotalEnergyConsumption=1000))
    assert mig.energy_j(SLICE) is None
    assert mig.power_w(SLICE) is None


def test_older_driver_tells_event_reasons_by_the_older_name() -> None:
    gpu = h200(CurrentClocksEventReasons=None, CurrentClocksThrottleReasons=0x41)
    assert reader(gpu).state(UUID).event_reasons == ("idle", "thermal slowdown (hardware)")


def test_reasons_that_the_driver_does_not_give_are_unknown_and_not_nothing() -> None:
    assert reader(h200(CurrentClocksEventReasons=0)).state(UUID).event_reasons == ()
    assert reader(h200(CurrentClocksEventReasons=None)).state(UUID).event_reasons is None


@pytest.mark.parametrize("fact", [name for name in h200() if name != "UUID"])
def test_missing_fact_is_none_and_harms_no_other(fact: str) -> None:
    whole, lacking = reader(h200()), reader(h200(**{fact: None}))
    assert lacking.devices()[0].uuid == UUID
    changed = [lacking.devices() != whole.devices(), lacking.state(UUID) != whole.state(UUID)]
    # The enforced limit is read only where there is no other.
    assert any(changed) is (fact != "EnforcedPowerLimit")


def test_power_limit_in_force_stands_in_on_a_laptop() -> None:
    (device,) = reader(h200(PowerManagementLimit=None)).devices()
    assert device.power_limit_w == 650


def test_unknown_gpu_has_no_state() -> None:
    assert reader(h200()).state("GPU-gone") == DeviceState()


def test_gpu_without_identity_is_left_out() -> None:
    assert reader(h200(UUID=None)).devices() == ()


def test_absent_driver_is_one_sentence() -> None:
    with pytest.raises(NvmlUnavailable, match=r"Driver Not Loaded.*install a driver"):
        NvmlReader(FakeNvml(fails_to_start=True), {})


def test_context_closes_what_it_opened() -> None:
    library = FakeNvml(h200())
    with NvmlReader(library, {}) as open_reader:
        assert library.sessions == 1
        assert open_reader.cuda_version == (13, 1)
    assert library.sessions == 0


def test_slice_has_its_own_units_and_no_bus_width() -> None:
    part = {
        "UUID": SLICE,
        "Name": "NVIDIA H200 MIG 1g.18gb",
        "Attributes": SimpleNamespace(multiprocessorCount=16),
        "MemoryInfo": SimpleNamespace(total=18_000_000_000, used=1),
    }
    mig = reader(h200(MigMode=[1, 1], slices=[part]))
    (device,) = mig.devices()
    assert (device.uuid, device.name, device.mig_enabled) == (SLICE, "NVIDIA H200 MIG 1g.18gb", True)
    assert (device.multiprocessor_count, device.core_count) == (16, 2048)
    assert device.bus_width_bits is None
    assert device.memory_bytes == 18_000_000_000
    assert mig.state(SLICE).clock_hz == 1395e6  # the whole GPU's


A, B, C = (h200(UUID=f"GPU-{letter}{letter}-1") for letter in "abc")


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, "abc"),
        ("", ""),
        ("-1", ""),
        ("NoDevFiles", ""),
        ("1", "b"),
        ("2,0", "ca"),
        (" 2 , 0 ", "ca"),
        ("0,-1,1", "a"),  # the list ends at the first entry that is none
        ("0,7,1", "a"),
        ("1,1", ""),  # twice: none at all
        ("GPU-cc-1,GPU-aa-1", "ca"),
        ("GPU-b", "b"),
        ("gpu-BB", "b"),
        ("GPU-", ""),  # names all three
        ("GPU-dd", ""),
    ],
)
def test_visible_devices_are_numbered_as_cuda_does(visible: str | None, expected: str) -> None:
    devices = reader(A, B, C, visible=visible).devices()
    assert [device.uuid for device in devices] == [f"GPU-{letter}{letter}-1" for letter in expected]
    assert [device.id for device in devices] == [f"cuda:{index}" for index in range(len(expected))]


def test_hidden_gpus_are_counted() -> None:
    assert reader(A, B, visible="").gpu_count == 2


def test_slice_serves_only_where_no_whole_gpu_does() -> None:
    mig = h200(MigMode=[1, 1], slices=[{"UUID": "MIG-1"}, {"UUID": "MIG-2"}])
    assert [d.uuid for d in reader(mig).devices()] == ["MIG-1"]
    assert [d.uuid for d in reader(mig, A).devices()] == ["GPU-aa-1"]
    assert [d.uuid for d in reader(mig, A, visible="MIG-2").devices()] == ["MIG-2"]


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (0, ()),
        (0x1, ("idle",)),
        (0x4 | 0x8, ("power cap", "hardware slowdown")),
        (0x10, ("sync boost",)),
        (0x1000 | 0x20, ("thermal slowdown (software)", "reason 0x1000")),
    ],
)
def test_event_reasons_are_words(bits: int, words: tuple[str, ...]) -> None:
    assert event_reasons(bits) == words


def test_gpus_are_matched_across_spellings() -> None:
    assert same_gpu("GPU-6C3E", "6c3e")
    assert same_gpu("MIG-6c3e", "MIG-6c3e")
    assert not same_gpu("GPU-6c3e", "6c3f")


def test_real_library_has_every_function_we_call() -> None:
    import pynvml

    from roofscope.profiling.devices.nvml import NvmlLibrary

    assert [name for name in vars(NvmlLibrary) if name.startswith("nvml") and not hasattr(pynvml, name)] == []
    assert (pynvml.NVML_CLOCK_SM, pynvml.NVML_CLOCK_MEM, pynvml.NVML_TEMPERATURE_GPU) == (1, 2, 0)
    assert event_reasons(pynvml.nvmlClocksEventReasonSwPowerCap) == ("power cap",)
    assert event_reasons(pynvml.nvmlClocksEventReasonHwThermalSlowdown) == ("thermal slowdown (hardware)",)
