"""What the worker makes of GPUs that are not here: torch and NVML are played by small fakes."""

import warnings
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

torch = pytest.importorskip("torch")

from roofscope.profiling.devices import host  # noqa: E402
from roofscope.profiling.devices.device import Device, DeviceKind, GpuProcess  # noqa: E402
from roofscope.profiling.devices.environment import Environment  # noqa: E402
from roofscope.profiling.devices.nvml import NvmlUnavailable  # noqa: E402
from roofscope.profiling.worker import environment  # noqa: E402


def described(ordinal: int, uuid: str) -> Device:
    return Device(
        f"cuda:{ordinal}",
        DeviceKind.CUDA,
        "NVIDIA H200",
        f"GPU-{uuid}",
        core_count=16896,
        compute_capability=(9, 0),
        driver_version="580.159",
        max_memory_clock_hz=3201e6,
        bus_width_bits=6016,
    )


class Machine:
    """Lets ``read_environment`` see these GPUs; ``nvml`` None stands for a driver without NVML."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.uuids: list[str] = []
        self.nvml: list[Device] | None = []
        self.capability = (9, 0)
        self.warning = ""
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        monkeypatch.setattr(torch.version, "cuda", "13.0")
        monkeypatch.setattr(torch.cuda, "is_available", self._is_available)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: len(self.uuids))
        monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: ["sm_80", "sm_90"])
        monkeypatch.setattr(torch.cuda, "get_device_properties", self._properties)
        monkeypatch.setattr(environment, "NvmlReader", self._reader)

    def read(self) -> Environment:
        return environment.read_environment()

    def _is_available(self) -> bool:
        if self.warning:
            warnings.warn(self.warning, UserWarning, stacklevel=1)
        return bool(self.uuids)

    def _properties(self, index: int) -> SimpleNamespace:
        major, minor = self.capability
        return SimpleNamespace(
            name="NVIDIA H200",
            uuid=self.uuids[index],
            major=major,
            minor=minor,
            total_memory=150_000_000_000,
            multi_processor_count=132,
            L2_cache_size=62_914_560,
        )

    def _reader(self) -> "Machine":
        if self.nvml is None:
            raise NvmlUnavailable("NVML is not here.")
        return self

    def __enter__(self) -> "Machine":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def devices(self) -> tuple[Device, ...]:
        return tuple(self.nvml or ())


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_gpus_come_in_torchs_order_with_nvmls_facts(machine: Machine) -> None:
    machine.uuids = ["bbb", "aaa"]
    machine.nvml = [described(0, "aaa"), described(1, "bbb")]
    first, second, cpu = machine.read().devices
    assert [(d.id, d.uuid) for d in (first, second)] == [("cuda:0", "GPU-bbb"), ("cuda:1", "GPU-aaa")]
    assert first.driver_version == "580.159"
    assert (first.multiprocessor_count, first.last_level_cache_bytes) == (132, 62_914_560)
    assert cpu == host.cpu_device()


def test_gpu_that_nvml_cannot_describe_is_usable_all_the_same(machine: Machine) -> None:
    machine.uuids, machine.nvml = ["aaa"], None
    found = machine.read()
    gpu = found.devices[0]
    assert (gpu.id, gpu.uuid, gpu.name) == ("cuda:0", "GPU-aaa", "NVIDIA H200")
    assert (gpu.core_count, gpu.memory_bytes) == (16896, 150_000_000_000)
    assert "NVML is not here." in found.missing
    assert any("bandwidth" in sentence for sentence in found.missing)


def test_old_driver_is_named_with_torchs_own_reason(machine: Machine) -> None:
    machine.nvml = [described(0, "aaa")]
    machine.warning = "The NVIDIA driver on your system is too old (found version 12020)."
    (sentence,) = [s for s in machine.read().missing if "driver" in s]
    assert "NVIDIA H200" in sentence
    assert "580.159" in sentence
    assert "too old (found version 12020)" in sentence
    assert "CUDA 13.0" in sentence


def test_hidden_gpus_are_told_from_absent_ones(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert any("No CUDA device" in sentence for sentence in machine.read().missing)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert any("CUDA_VISIBLE_DEVICES is '-1'" in sentence for sentence in machine.read().missing)


def test_gpu_too_old_for_this_torch_is_told(machine: Machine) -> None:
    machine.uuids, machine.nvml, machine.capability = ["aaa"], [described(0, "aaa")], (7, 0)
    assert any("has no code for NVIDIA H200" in sentence for sentence in machine.read().missing)


def test_torch_without_cuda_is_told(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", None)
    found = machine.read()
    assert [device.id for device in found.devices] == ["cpu"]
    assert any("built without CUDA" in sentence for sentence in found.missing)


def test_missing_tools_are_told_where_they_matter(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    for variable in ("CC", "CXX"):
        monkeypatch.delenv(variable, raising=False)
    on_cpu = machine.read().missing
    assert any("C++ compiler" in sentence for sentence in on_cpu)
    assert not any("No C compiler" in sentence for sentence in on_cpu)
    machine.uuids, machine.nvml = ["aaa"], [described(0, "aaa")]
    assert any("No C compiler" in sentence for sentence in machine.read().missing)


def test_a_worker_that_has_just_ended_is_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver lists a killed process for a while; one that stays listed is another container's."""
    monkeypatch.setattr(environment.psutil, "pid_exists", lambda pid: pid == 7)
    alone = replace(described(0, "a"), processes=(GpuProcess(7),))
    beside = replace(alone, processes=(GpuProcess(7), GpuProcess(99)))
    lists = [(beside,), (beside,), (alone,)]
    pauses: list[float] = []
    assert environment.settled(lambda: lists.pop(0), pause=pauses.append) == (alone,)
    assert (lists, len(pauses)) == ([], 2)
    assert environment.settled(lambda: (alone,), pause=pauses.append) == (alone,)
    assert len(pauses) == 2
    assert environment.settled(lambda: (beside,), pause=pauses.append) == (beside,)
