"""Fills tensors that are made without contents with a pattern that no computation gives.

So it is known where nothing was written. On a machine without a GPU what asks for one gets the CPU.
"""

import functools
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from roofscope.profiling.results.debugging import Line
from roofscope.profiling.worker.debug.user_lines import UserLines

# NaN that no arithmetic gives: the bit that marks a quiet one is not set. Of integers a large odd number.
_FLOATS = {
    torch.float64: (torch.int64, 0x7FF5A5A5A5A5A5A5),
    torch.float32: (torch.int32, 0x7FA5A5A5),
    torch.float16: (torch.int16, 0x7DA5),
    torch.bfloat16: (torch.int16, 0x7FA5),
}
_INTEGERS = {
    torch.int64: (torch.int64, 0x5AA5A5A5A5A5A5A5),
    torch.int32: (torch.int32, 0x5AA5A5A5),
    torch.int16: (torch.int16, 0x5AA5),
}
PATTERNS = {**_FLOATS, **_INTEGERS}  # one byte has too few values for a pattern
_EMPTY: frozenset[Callable[..., Any]] = frozenset(
    (
        torch.empty,
        torch.empty_like,
        torch.empty_strided,
        torch.Tensor.new_empty,
        torch.Tensor.new_empty_strided,
    )
)
_BY_SIZE: frozenset[Callable[..., Any]] = frozenset(  # on the host where no device is named
    (torch.empty, torch.zeros, torch.ones, torch.full, torch.arange, torch.tensor, torch.rand, torch.randn)
)
_MOVES: frozenset[Callable[..., Any]] = frozenset((torch.Tensor.to, torch.Tensor.cuda, torch.Tensor.type))
_IS_CUDA: Any = torch.Tensor.is_cuda.__get__  # type: ignore[attr-defined] - each look makes another object


class FreshMemory(TorchFunctionMode):
    """``on_cpu``: tensors that are asked for on a GPU are made on the CPU."""

    def __init__(self, lines: UserLines, *, on_cpu: bool) -> None:
        super().__init__()
        self._lines = lines
        self._on_cpu = on_cpu
        # Kept alive, so that no address stands for another tensor.
        self._made: dict[int, tuple[torch.Tensor, Line | None]] = {}
        self._of_host: dict[int, torch.Tensor] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        names_device = kwargs.get("device") is not None
        if self._on_cpu:
            if func == _IS_CUDA:
                return True
            if func is torch.Tensor.cuda:
                self._of_host.pop(_address(args[0]), None)
                return args[0]
            if names_device:
                kwargs["device"] = "cpu"
            args = tuple("cpu" if _is_device(value) else value for value in args)
        result = func(*args, **kwargs)
        if func in _MOVES and isinstance(result, torch.Tensor):
            self._of_host.pop(_address(result), None)
        if not isinstance(result, torch.Tensor):
            return result
        if func in _EMPTY:
            poison(result)
            self._made[_address(result)] = result, self._lines.here()
        if (
            self._on_cpu
            and func in _BY_SIZE
            and not names_device
            and torch.get_default_device().type == "cpu"
        ):
            self._of_host[_address(result)] = result
        return result

    def is_of_host(self, tensor: torch.Tensor) -> bool:
        """Whether it was made without a device, and would lie in the host's memory beside a GPU's."""
        return _address(tensor) in self._of_host

    def is_fresh(self, address: int) -> bool:
        """Whether the storage at this address was made without contents."""
        return address in self._made

    def made_at(self, address: int) -> Line | None:
        found = self._made.get(address)
        return found[1] if found else None


def poison(tensor: torch.Tensor) -> None:
    pattern = PATTERNS.get(tensor.dtype)
    if pattern and tensor.numel():
        with torch.no_grad():
            tensor.view(pattern[0]).fill_(pattern[1])


def is_poison(tensor: torch.Tensor) -> torch.Tensor:
    """Which elements hold the pattern still, as a tensor of its shape."""
    pattern = PATTERNS.get(tensor.dtype)
    if pattern is None or not tensor.numel():
        return torch.zeros(tensor.shape, dtype=torch.bool, device=tensor.device)
    return tensor.contiguous().view(pattern[0]) == pattern[1]


def _address(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _is_device(value: object) -> bool:
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, str) and (value == "cuda" or value.startswith("cuda:"))


@contextmanager
def without_gpu() -> Generator[None]:
    """What files ask of a GPU before they launch, answered on a machine that has none."""
    if torch.cuda.is_available():
        yield
        return
    properties = SimpleNamespace(
        multi_processor_count=4,
        major=9,
        minor=0,
        name="none",
        shared_memory_per_block_optin=232448,
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536,
        warp_size=32,
        total_memory=1 << 34,
    )
    stand_ins: dict[str, Any] = {
        "synchronize": _answering(None),
        "get_device_properties": _answering(properties),
        "get_device_capability": _answering((9, 0)),
        "current_device": _answering(0),
        "device": _answering(nullcontext()),
    }
    before = {name: getattr(torch.cuda, name) for name in stand_ins}
    for name, stand_in in stand_ins.items():
        setattr(torch.cuda, name, stand_in)
    try:
        yield
    finally:
        for name, own in before.items():
            setattr(torch.cuda, name, own)


def _answering(value: object) -> Callable[..., object]:
    def answer(*_: object) -> object:
        return value

    return answer


class StandInDriver:
    """For files that ask Triton which device is active, as its tutorials do."""

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")

    def get_benchmarker(self) -> Callable[..., Any]:
        """For an autotuner: each configuration is run once, and none is faster than another."""

        def benchmark(call: Callable[[], object], *_: object, quantiles: Any = None, **__: object) -> Any:
            call()
            return [1.0] * len(quantiles) if quantiles else 1.0

        return benchmark

    def get_current_device(self) -> int:
        return 0

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    @functools.cached_property
    def utils(self) -> Any:
        properties = {
            "multiprocessor_count": 4,
            "max_shared_mem": 232448,
            "max_num_regs": 65536,
            "warpSize": 32,
        }
        return SimpleNamespace(get_device_properties=_answering(properties))
