"""What NVIDIA's management library reports about the GPUs: identity and live state.

The window reads it too: no torch, no CUDA context. A fact that the driver does not report is None. The state
leaves out the total energy, because that call takes 4.4 ms and the others about 1 us.
"""

import os
import time
from collections.abc import Callable, Collection, Mapping
from types import TracebackType
from typing import Self, TypeVar

from msgspec import Struct

from roofscope.profiling.devices.device import (
    APPLICATION_CLOCK,
    Device,
    DeviceKind,
    DeviceState,
    GpuProcess,
    lanes_per_multiprocessor,
)
from roofscope.profiling.devices.nvml_library import NvmlLibrary, NvmlUnavailable, load_nvml
from roofscope.profiling.devices.visible_gpus import GpuIdentity, visible_gpus

_CLOCK_SM = 1  # NVML_CLOCK_SM
_CLOCK_MEMORY = 2  # NVML_CLOCK_MEM
_SENSOR_GPU = 0  # NVML_TEMPERATURE_GPU
_POWER_INSTANT = 186  # NVML_FI_DEV_POWER_INSTANT
_RECENTLY_S = 1.0
_CPU_WORDS = 64  # of 64 bits: 4096 CPUs

# nvmlClocksEventReason* of nvml.h, in words.
_EVENT_REASONS = (
    (0x001, "idle"),
    (0x002, APPLICATION_CLOCK),
    (0x004, "power cap"),
    (0x008, "hardware slowdown"),
    (0x010, "sync boost"),
    (0x020, "thermal slowdown (software)"),
    (0x040, "thermal slowdown (hardware)"),
    (0x080, "power brake"),
    (0x100, "display clock setting"),
    (0x200, "board limit"),
    (0x400, "reliability limit"),
)

Value = TypeVar("Value")


class _Gpu(Struct, frozen=True):
    """One CUDA device: a whole GPU, or a MIG slice of one."""

    uuid: str
    handle: object
    board: object  # the handle of the whole GPU: clocks and power belong to it
    is_slice: bool


class NvmlReader:
    """An open connection to NVML; use it as a context.

    Raises NvmlUnavailable when the package, the library or the driver is missing.
    ``environment`` is read for CUDA_VISIBLE_DEVICES.
    """

    def __init__(
        self,
        library: NvmlLibrary | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._nvml = library or load_nvml()
        self._visible = environment.get("CUDA_VISIBLE_DEVICES")
        try:
            self._nvml.nvmlInit()
        except self._nvml.NVMLError as error:
            raise NvmlUnavailable(
                f"The NVIDIA driver does not answer ({error}); install a driver, or carry on with the CPU."
            ) from error
        self._gpus = tuple(self._find_gpus())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._ask(self._nvml.nvmlShutdown)

    @property
    def driver_version(self) -> str | None:
        """Such as ``580.159.03``."""
        return self._ask(self._nvml.nvmlSystemGetDriverVersion)

    @property
    def cuda_version(self) -> tuple[int, int] | None:
        """The newest CUDA version the driver supports."""
        version = self._ask(self._nvml.nvmlSystemGetCudaDriverVersion)
        return (version // 1000, version % 1000 // 10) if version else None

    @property
    def gpu_count(self) -> int:
        """GPUs and MIG slices that are present, hidden ones included."""
        return len(self._gpus)

    def devices(self, own_pids: Collection[int] | None = None) -> tuple[Device, ...]:
        """The GPUs this process may use, numbered as torch does with CUDA_DEVICE_ORDER=PCI_BUS_ID.

        ``own_pids`` are not listed as other processes; without it, this process.
        """
        own = {os.getpid()} if own_pids is None else own_pids
        by_uuid = {gpu.uuid: gpu for gpu in self._gpus}
        identities = [GpuIdentity(gpu.uuid, gpu.is_slice) for gpu in self._gpus]
        return tuple(
            self._device(by_uuid[uuid], ordinal, own)
            for ordinal, uuid in enumerate(visible_gpus(identities, self._visible))
        )

    def state(self, uuid: str) -> DeviceState:
        """The live state of the GPU with this UUID; all None when NVML does not know it, or no longer."""
        gpu = self._gpu(uuid)
        if gpu is None:
            return DeviceState()
        nvml, board = self._nvml, gpu.board
        utilization = self._ask(nvml.nvmlDeviceGetUtilizationRates, board)
        memory = self._ask(nvml.nvmlDeviceGetMemoryInfo, gpu.handle)
        return DeviceState(
            clock_hz=_scaled(self._ask(nvml.nvmlDeviceGetClockInfo, board, _CLOCK_SM), 1e6),
            memory_clock_hz=_scaled(self._ask(nvml.nvmlDeviceGetClockInfo, board, _CLOCK_MEMORY), 1e6),
            power_w=_scaled(self._ask(nvml.nvmlDeviceGetPowerUsage, board), 1e-3),
            temperature_c=_scaled(self._ask(nvml.nvmlDeviceGetTemperature, board, _SENSOR_GPU), 1.0),
            utilization=None if utilization is None else utilization.gpu / 100,
            memory_used_bytes=None if memory is None else int(memory.used),
            event_reasons=self._event_reasons(board),
        )

    def process_ids(self, uuid: str) -> frozenset[int]:
        """All that compute on the GPU with this UUID, this process among them, as the driver numbers them."""
        gpu = self._gpu(uuid)
        return frozenset(process.pid for process in self._processes(gpu.handle, ())) if gpu else frozenset()

    def graphics_process_count(self, uuid: str) -> int:
        """Those that draw on the GPU with this UUID: a display server, windows."""
        gpu = self._gpu(uuid)
        return (
            len(self._ask(self._nvml.nvmlDeviceGetGraphicsRunningProcesses, gpu.handle) or ()) if gpu else 0
        )

    def utilization(self, uuid: str) -> float | None:
        """Share of the last sample, 1/6 to 1 s, in which kernels ran; None for a slice: it is the board's."""
        gpu = self._gpu(uuid)
        if gpu is None or gpu.is_slice:
            return None
        rates = self._ask(self._nvml.nvmlDeviceGetUtilizationRates, gpu.board)
        return None if rates is None else rates.gpu / 100

    def utilization_by_process(self, uuid: str, now_s: float | None = None) -> dict[int, float]:
        """The largest share of the multiprocessors in the last second; without those that have none.

        Empty as well where the driver does not tell, as for slices and inside some containers.
        """
        gpu = self._gpu(uuid)
        if gpu is None or gpu.is_slice:
            return {}
        since_us = int(((time.time() if now_s is None else now_s) - _RECENTLY_S) * 1e6)
        shares: dict[int, float] = {}
        for sample in self._ask(self._nvml.nvmlDeviceGetProcessUtilization, gpu.board, since_us) or ():
            if sample.smUtil and sample.timeStamp >= since_us:
                shares[sample.pid] = max(shares.get(sample.pid, 0.0), sample.smUtil / 100)
        return shares

    def near_cpus(self, uuid: str) -> frozenset[int]:
        """The logical CPUs of the GPU's NUMA node; empty where the driver does not tell."""
        gpu = self._gpu(uuid)
        words = self._ask(self._nvml.nvmlDeviceGetCpuAffinity, gpu.board, _CPU_WORDS) if gpu else None
        return frozenset(
            64 * index + bit for index, word in enumerate(words or ()) for bit in range(64) if word >> bit & 1
        )

    def energy_j(self, uuid: str) -> float | None:
        """Energy since the driver was loaded; the call takes 4.4 ms, and the counter moves in ticks.

        None for a MIG slice: the board counts for all its slices together.
        """
        gpu = self._gpu(uuid)
        if gpu is None or gpu.is_slice:
            return None
        return _scaled(self._ask(self._nvml.nvmlDeviceGetTotalEnergyConsumption, gpu.board), 1e-3)

    def power_w(self, uuid: str) -> float | None:
        """Power now, where the driver reports it; else its running mean, which may cover the last second.

        None for a MIG slice.
        """
        gpu = self._gpu(uuid)
        if gpu is None or gpu.is_slice:
            return None
        fields = self._ask(self._nvml.nvmlDeviceGetFieldValues, gpu.board, [_POWER_INSTANT])
        if fields is not None and fields[0].nvmlReturn == 0 and fields[0].value.uiVal:
            return _scaled(fields[0].value.uiVal, 1e-3)
        return _scaled(self._ask(self._nvml.nvmlDeviceGetPowerUsage, gpu.board), 1e-3)

    def _gpu(self, uuid: str) -> _Gpu | None:
        return next((gpu for gpu in self._gpus if gpu.uuid == uuid), None)

    def _find_gpus(self) -> list[_Gpu]:
        nvml = self._nvml
        found: list[_Gpu] = []
        for index in range(self._ask(nvml.nvmlDeviceGetCount) or 0):
            board = self._ask(nvml.nvmlDeviceGetHandleByIndex, index)
            uuid = self._ask(nvml.nvmlDeviceGetUUID, board) if board is not None else None
            if uuid is None:  # fell off the bus, or belongs to another container
                continue
            slices = self._find_slices(board) if self._mig_enabled(board) else []
            # A GPU in MIG mode offers its slices to CUDA, never itself.
            found += slices or [_Gpu(uuid, board, board, is_slice=False)]
        return found

    def _find_slices(self, board: object) -> list[_Gpu]:
        nvml = self._nvml
        found: list[_Gpu] = []
        for index in range(self._ask(nvml.nvmlDeviceGetMaxMigDeviceCount, board) or 0):
            handle = self._ask(nvml.nvmlDeviceGetMigDeviceHandleByIndex, board, index)
            uuid = self._ask(nvml.nvmlDeviceGetUUID, handle) if handle is not None else None
            if uuid is not None:
                found.append(_Gpu(uuid, handle, board, is_slice=True))
        return found

    def _device(self, gpu: _Gpu, ordinal: int, own_pids: Collection[int]) -> Device:
        nvml, board = self._nvml, gpu.board
        capability = self._ask(nvml.nvmlDeviceGetCudaComputeCapability, board)
        capability = (capability[0], capability[1]) if capability else None
        cores, multiprocessors = self._units(gpu, capability)
        memory = self._ask(nvml.nvmlDeviceGetMemoryInfo, gpu.handle)
        ecc = self._ask(nvml.nvmlDeviceGetEccMode, board)
        wanted_hz = [
            _scaled(self._ask(nvml.nvmlDeviceGetApplicationsClock, board, kind), 1e6)
            for kind in (_CLOCK_SM, _CLOCK_MEMORY)
        ]
        limit = self._ask(nvml.nvmlDeviceGetPowerManagementLimit, board)
        if limit is None:  # laptops have no limit to manage, but one in force
            limit = self._ask(nvml.nvmlDeviceGetEnforcedPowerLimit, board)
        return Device(
            id=f"cuda:{ordinal}",
            kind=DeviceKind.CUDA,
            name=self._ask(nvml.nvmlDeviceGetName, gpu.handle) or "NVIDIA GPU",
            uuid=gpu.uuid,
            core_count=cores,
            multiprocessor_count=multiprocessors,
            compute_capability=capability,
            driver_version=self.driver_version,
            max_clock_hz=_scaled(self._ask(nvml.nvmlDeviceGetMaxClockInfo, board, _CLOCK_SM), 1e6),
            max_memory_clock_hz=_scaled(self._ask(nvml.nvmlDeviceGetMaxClockInfo, board, _CLOCK_MEMORY), 1e6),
            # A slice has a share of the bus that NVML does not report: None rather than the whole.
            bus_width_bits=None if gpu.is_slice else self._ask(nvml.nvmlDeviceGetMemoryBusWidth, board),
            memory_bytes=None if memory is None else int(memory.total),
            power_limit_w=_scaled(limit, 1e-3),
            ecc_enabled=None if ecc is None else bool(ecc[0]),
            mig_enabled=self._mig_enabled(board),
            processes=self._processes(gpu.handle, own_pids),
            application_clock_hz=wanted_hz[0],
            application_memory_clock_hz=wanted_hz[1],
        )

    def _units(self, gpu: _Gpu, capability: tuple[int, int] | None) -> tuple[int | None, int | None]:
        """Cores and multiprocessors: NVML counts the cores of boards and the multiprocessors of slices."""
        lanes = lanes_per_multiprocessor(capability)
        if gpu.is_slice:
            attributes = self._ask(self._nvml.nvmlDeviceGetAttributes, gpu.handle)
            count = None if attributes is None else int(attributes.multiprocessorCount)
            return (count * lanes if count and lanes else None), count
        cores = self._ask(self._nvml.nvmlDeviceGetNumGpuCores, gpu.board)
        return cores, (cores // lanes if cores and lanes else None)

    def _mig_enabled(self, board: object) -> bool | None:
        mode = self._ask(self._nvml.nvmlDeviceGetMigMode, board)
        return None if mode is None else bool(mode[0])

    def _processes(self, handle: object, own_pids: Collection[int]) -> tuple[GpuProcess, ...]:
        found = self._ask(self._nvml.nvmlDeviceGetComputeRunningProcesses, handle) or []
        return tuple(GpuProcess(p.pid, p.usedGpuMemory) for p in found if p.pid not in own_pids)

    def _event_reasons(self, board: object) -> tuple[str, ...] | None:
        bits = self._ask(self._nvml.nvmlDeviceGetCurrentClocksEventReasons, board)
        if bits is None:  # drivers before 535 know only the older name
            bits = self._ask(self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons, board)
        return None if bits is None else event_reasons(bits)

    def _ask(self, function: Callable[..., Value], *arguments: object) -> Value | None:
        """The answer, or None where this driver or GPU has none."""
        try:
            return function(*arguments)
        except self._nvml.NVMLError:
            return None


def event_reasons(bits: int) -> tuple[str, ...]:
    """Words for NVML's clocks event reasons; an unknown bit appears as its number."""
    words = [word for bit, word in _EVENT_REASONS if bits & bit]
    rest = bits & ~sum(bit for bit, _ in _EVENT_REASONS)
    return (*words, f"reason {rest:#x}") if rest else tuple(words)


def same_gpu(nvml_uuid: str, torch_uuid: object) -> bool:
    """Whether both name one GPU: NVML writes ``GPU-...`` or ``MIG-...``, torch the bare UUID."""
    return _bare(nvml_uuid) == _bare(str(torch_uuid))


def _bare(uuid: str) -> str:
    return uuid.lower().removeprefix("gpu-").removeprefix("mig-")


def _scaled(value: int | None, factor: float) -> float | None:
    return None if value is None else value * factor
