"""On a real GPU: NVML and torch speak of the same device, and no measured ceiling passes the nameplate."""

import pytest

torch = pytest.importorskip("torch")

from profiling.devices import Device, DeviceKind  # noqa: E402
from profiling.nameplate import nameplate  # noqa: E402
from profiling.nvml import NvmlReader, same_gpu  # noqa: E402
from profiling.roofline import Ceiling, Roofline, Source  # noqa: E402
from profiling.worker.ceilings import measure_ceilings  # noqa: E402
from profiling.worker.environment import read_environment  # noqa: E402


@pytest.fixture(scope="module")
def gpu() -> Device:
    return read_environment().devices[0]


def test_gpu_is_described_by_nvml_and_torch_alike(gpu: Device) -> None:
    properties = torch.cuda.get_device_properties(0)
    assert gpu.kind is DeviceKind.CUDA
    assert same_gpu(gpu.uuid, properties.uuid)
    assert gpu.name == properties.name
    assert gpu.last_level_cache_bytes == properties.L2_cache_size
    assert gpu.driver_version is not None
    with NvmlReader() as reader:
        described = reader.devices()[0]
    assert described.multiprocessor_count == properties.multi_processor_count


def test_state_is_live(gpu: Device) -> None:
    with NvmlReader() as reader:
        state = reader.state(gpu.uuid)
    assert state.clock_hz is not None
    assert gpu.max_clock_hz is not None
    assert 0 < state.clock_hz <= gpu.max_clock_hz
    assert state.memory_used_bytes is not None


def test_measured_ceilings_stay_below_the_nameplate(gpu: Device) -> None:
    found: list[Ceiling] = []
    measure_ceilings(gpu, found.append, lambda: False, lambda _detail, _deadline_s: None)
    assert len(found) >= 6
    plate = Roofline(nameplate(gpu, "now"))
    for ceiling in found:
        for limit in plate.of(ceiling.bound, Source.NAMEPLATE):
            assert ceiling.value < 1.02 * limit.value, ceiling.label
    assert torch.get_float32_matmul_precision() == "highest"
