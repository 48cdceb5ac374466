"""A driver for Triton without a GPU: its compiler gets a target, and a launch is noted and not made."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from msgspec.structs import replace
from triton.backends.compiler import GPUTarget
from triton.runtime import driver as drivers

from roofscope.profiling.analysis.occupancy import REGISTERS, WARP
from roofscope.profiling.results.outcome import Launch
from roofscope.profiling.worker.build.without_gpu.resource_usage import usage_in
from roofscope.profiling.worker.build.without_gpu.stand_in import StandIn

_REGISTER_BYTES = 4  # Triton counts spills in registers
_MOST_THREADS = 1024


class NotedLaunches:
    """What was launched, by the handle of the kernel; the last launch of each name counts.

    An autotuner launches candidates before its winner.
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, Launch]] = {}

    def note(self, handle: int, metadata: Any, grid: tuple[int, int, int]) -> None:
        threads = metadata.num_warps * WARP
        launch = Launch(math.prod(grid), threads, None, metadata.shared, None, grid, (threads, 1, 1))
        self._found[metadata.name] = handle, launch

    def has(self, kernel: Any) -> bool:
        return self._found.get(kernel.metadata.name, (None,))[0] == kernel.function

    def of(self, kernel: Any) -> Launch:
        """With its registers; ask only of one that was launched."""
        return replace(self._found[kernel.metadata.name][1], registers=kernel.n_regs or None)


class _Utilities:
    """What Triton asks of CUDA's driver. A kernel's handle is a number that nothing else has."""

    def __init__(self, gpu: StandIn) -> None:
        self._gpu = gpu
        self._handles = 0

    def get_device_properties(self, _device: int) -> dict[str, int]:
        return {
            "max_shared_mem": self._gpu.block_shared_bytes,
            "max_num_regs": REGISTERS,
            "multiprocessor_count": self._gpu.multiprocessor_count,
            "warpSize": WARP,
            "sm_clock_rate": 1_500_000,
            "mem_clock_rate": 2_500_000,
            "mem_bus_width": 5120,
        }

    def load_binary(self, name: str, cubin: bytes, _shared: int, _device: int) -> tuple[int, ...]:
        found = usage_in(cubin)
        usage = found.get(name) or next(iter(found.values()), None)
        self._handles += 1
        if usage is None:
            return self._handles, self._handles, 0, 0, _MOST_THREADS
        spills = usage.local_bytes // _REGISTER_BYTES
        return self._handles, self._handles, usage.registers, spills, _MOST_THREADS

    def unload_module(self, _module: int) -> None:
        pass

    def set_printf_fifo_size(self, _size: int) -> None:
        pass


class WithoutGpu:
    """Triton's driver of a GPU that stands in. ``device`` is where a file is to put its tensors."""

    def __init__(self, gpu: StandIn, device: torch.device) -> None:
        self.gpu = gpu
        self.utils = _Utilities(gpu)
        self.launches = NotedLaunches()
        self._device = device
        self._has_choice = False  # of the configurations that an autotuner tries now

    def activate(self) -> None:
        drivers.set_active(self)  # pyright: ignore[reportArgumentType]  # asked by name, as Triton does

    def is_active(self) -> bool:
        return True

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, _device: int) -> None:
        pass

    def get_current_stream(self, _device: int | None = None) -> int:
        return 0

    def get_device_capability(self, _device: int | None = None) -> tuple[int, int]:
        return self.gpu.capability

    def get_current_target(self) -> GPUTarget:
        major, minor = self.gpu.capability
        return GPUTarget("cuda", major * 10 + minor, WARP)

    def get_active_torch_device(self) -> torch.device:
        return self._device

    def get_device_interface(self) -> Any:
        return torch.cuda

    def map_python_to_cpp_type(self, kind: str) -> str:
        return kind

    def get_empty_cache_for_benchmark(self) -> Any:
        return None

    def clear_cache(self, _cache: object) -> None:
        pass

    def launcher_cls(self, _source: object, metadata: Any) -> Callable[..., None]:
        """A kernel's launcher, with the arguments that Triton gives to its own."""

        def launch(x: int, y: int, z: int, *rest: Any) -> None:
            _stream, function, _packed, facts, enter, _exit = rest[:6]
            self._has_choice = False
            self.launches.note(function, metadata, (x, y, z))
            if enter is not None:
                enter(facts)

        return launch

    def get_benchmarker(self) -> Callable[..., Any]:
        return self.first_that_compiles

    def first_that_compiles(
        self, call: Callable[[], Any], *_: Any, quantiles: Sequence[float] | None = None, **__: Any
    ) -> Any:
        """In the place of a time: without a GPU the first configuration that fits is taken."""
        milliseconds = 2.0
        if not self._has_choice:
            call()
            self._has_choice, milliseconds = True, 1.0
        return [milliseconds] * len(quantiles) if quantiles else milliseconds
