"""Stands in for a GPU that is not here while code for it is compiled: tensors without memory, its figures.

Only a process that times nothing and runs nothing on a device is ever given it.
"""

import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode

from roofscope.profiling.analysis.occupancy import REGISTERS, WARP, limits_of
from roofscope.profiling.roofline.architecture import capability_of, gpu_of
from roofscope.profiling.worker.candidate.messages import Layout
from roofscope.profiling.worker.failures import Refusal

DEVICE = torch.device("cuda", 0)
_MOST_THREADS = 1024
_THREADS_OF_WARPS = 32
_L2_BYTES = 50 << 20
_DIFFERENTIATING: tuple[Any, ...] = (
    torch.Tensor.requires_grad_,
    torch.Tensor.requires_grad.__set__,  # type: ignore[attr-defined]
)


class StandIn:
    """A GPU of an architecture, as the compilers and launchers ask for it."""

    def __init__(self, architecture: str) -> None:
        self.architecture = architecture
        self.capability = capability_of(architecture)
        product, limits = gpu_of(architecture), limits_of(self.capability)
        self.name = product.driver_name if product else architecture
        self.multiprocessor_count = product.multiprocessor_count if product else 1
        self.block_shared_bytes = limits.block_shared_bytes if limits else 48 * 1024
        self._shared_bytes = limits.shared_bytes if limits else 64 * 1024
        self._warps = limits.warps if limits else 64

    @property
    def properties(self) -> Any:
        """As ``torch.cuda.get_device_properties`` has them."""
        major, minor = self.capability
        return SimpleNamespace(
            name=self.name,
            major=major,
            minor=minor,
            multi_processor_count=self.multiprocessor_count,
            shared_memory_per_block=48 * 1024,
            shared_memory_per_block_optin=self.block_shared_bytes,
            shared_memory_per_multiprocessor=self._shared_bytes,
            regs_per_multiprocessor=REGISTERS,
            max_threads_per_multi_processor=self._warps * _THREADS_OF_WARPS,
            max_threads_per_block=_MOST_THREADS,
            warp_size=WARP,
            L2_cache_size=_L2_BYTES,
            total_memory=16 << 30,
        )

    @contextmanager
    def here(self) -> Generator[None]:
        """While torch says that this GPU is here, and tensors on it have shapes and no contents."""
        answers = {
            "is_available": _always(True),
            "device_count": _always(1),
            "current_device": _always(0),
            "set_device": _always(None),
            "synchronize": _always(None),
            "get_device_name": _always(self.name),
            "get_device_properties": _always(self.properties),
            "get_device_capability": _always(self.capability),
            "current_stream": _always(SimpleNamespace(cuda_stream=0)),
        }
        with ExitStack() as stack, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # launchers ask for addresses, and a tensor has none
            for name, answer in answers.items():
                stack.enter_context(patch.object(torch.cuda, name, answer))
            stack.enter_context(FakeTensorMode())
            stack.enter_context(_NoContents())
            yield

    @staticmethod
    def tensors(layouts: Sequence[Layout]) -> list[torch.Tensor]:
        """Inputs; call it while it is here."""
        return [
            torch.empty(layout.shape, dtype=getattr(torch, layout.dtype), device=DEVICE) for layout in layouts
        ]


class _NoContents(TorchFunctionMode):
    """What torch would ask the device for, which is not here."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _DIFFERENTIATING or kwargs.get("requires_grad"):
            # Autograd asks for the stream of each tensor, and ends the process where there is none.
            raise Refusal("it differentiates, for which PyTorch needs the GPU itself.")
        if func is torch.Tensor.__getitem__ and args[0].device.type == "cuda" and not _has_tensors(args[1]):
            return _part(args[0], args[1])
        if func is torch.Tensor.contiguous and args[0].device.type == "cuda" and not args[0].is_contiguous():
            return torch.empty(
                args[0].shape, dtype=args[0].dtype, device=args[0].device
            )  # a copy is a launch
        return func(*args, **kwargs)


def _part(whole: torch.Tensor, index: Any) -> torch.Tensor:
    """A slice: torch's own indexing asks for the device."""
    part = torch.empty_strided(whole.shape, whole.stride(), dtype=whole.dtype, device="meta")[index]
    return torch.as_strided(whole, part.shape, part.stride(), whole.storage_offset() + part.storage_offset())


def _has_tensors(index: object) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, torch.Tensor | list) for part in parts)


def _always(answer: object) -> Callable[..., object]:
    """For a question that names a device, or none."""
    return lambda *_: answer
