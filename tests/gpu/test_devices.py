"""On a real GPU: NVML and torch speak of the same device, and no measured ceiling passes the nameplate."""

import pytest

torch = pytest.importorskip("torch")

from roofscope.profiling.devices.device import Device, DeviceKind  # noqa: E402
from roofscope.profiling.devices.nvml import NvmlReader, same_gpu  # noqa: E402
from roofscope.profiling.roofline.nameplate import nameplate  # noqa: E402
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Mix, Roofline, Source  # noqa: E402
from roofscope.profiling.worker.ceilings.measure import measure_ceilings  # noqa: E402
from roofscope.profiling.worker.environment import read_environment  # noqa: E402


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


@pytest.fixture(scope="module")
def ceilings(gpu: Device) -> Roofline:
    found: list[Ceiling] = []
    measure_ceilings(gpu, found.append, lambda: False, lambda _detail, _deadline_s: None, pytest.fail)
    return Roofline(tuple(found))


def test_measured_ceilings_stay_below_the_nameplate(gpu: Device, ceilings: Roofline) -> None:
    plate = Roofline(nameplate(gpu, "now"))
    for ceiling in ceilings.ceilings:
        if ceiling.source in (Source.MEASURED_BURST, Source.MEASURED_SUSTAINED):
            for limit in plate.of(ceiling.bound, Source.NAMEPLATE):
                assert ceiling.value < 1.02 * limit.value, ceiling.label
    assert torch.get_float32_matmul_precision() == "highest"


def test_each_has_the_clock_in_band_and_its_conditions(ceilings: Roofline) -> None:
    for ceiling in ceilings.ceilings:
        if ceiling.source.is_measured:
            assert ceiling.clock_hz, ceiling.label
            assert ceiling.conditions is not None, ceiling.label
            assert ceiling.conditions.temperature_c, ceiling.label


def test_every_access_mix_and_the_cache_have_a_ceiling(ceilings: Roofline) -> None:
    dram = ceilings.of(Bound.DRAM, Source.MEASURED_BURST)
    assert {ceiling.mix for ceiling in dram} == set(Mix)
    (l2,) = ceilings.of(Bound.L2)
    assert l2.value > max(ceiling.value for ceiling in dram)


def test_a_sustained_pipe_is_not_faster_than_its_burst(ceilings: Roofline) -> None:
    sustained = [c for c in ceilings.ceilings if c.source is Source.MEASURED_SUSTAINED]
    assert sustained
    for ceiling in sustained:
        (burst,) = ceilings.of(ceiling.bound, Source.MEASURED_BURST)
        assert ceiling.value < 1.02 * burst.value, ceiling.label
        assert ceilings.of(ceiling.bound, Source.NAMEPLATE_HELD)
