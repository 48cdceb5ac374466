"""Tensors that lie in one process and are read and written by another.

On a GPU both map the same memory (CUDA IPC): the referee's kernels fill inputs and read results there, and no
code of the candidate's process takes part. Where memory cannot be shared (a CPU, a driver without IPC),
contents travel by value.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import prod

import numpy as np
import torch

from roofscope.profiling.worker.candidate.messages import Layout, Lent
from roofscope.profiling.worker.cuda_calls import checked, driver
from roofscope.profiling.worker.raw_memory import as_words, extent_bytes, tensor_at

_SMALL_STEP = 512  # bytes: how torch aligns allocations
_LARGE_STEP = 2 << 20  # and from this size on, which is a page of the GPU
_NOT_MAPPED = "Memory of the candidate's process cannot be mapped"


class Lender:
    """Lends tensors of this process. What is lent stays alive until its group is freed."""

    def __init__(self) -> None:
        self._lent: dict[int, torch.Tensor] = {}
        self._groups: dict[str, list[int]] = {}
        self._next = 0

    def lend(self, group: str, tensor: torch.Tensor) -> Lent:
        key, self._next = self._next, self._next + 1
        self._lent[key] = tensor
        self._groups.setdefault(group, []).append(key)
        handle, offset = _handle_of(tensor)
        dtype = str(tensor.dtype).removeprefix("torch.")
        return Lent(key, tuple(tensor.shape), tensor.stride(), dtype, handle, offset)

    def free(self, group: str) -> None:
        for key in self._groups.pop(group, []):
            del self._lent[key]

    def put(self, key: int, data: bytes) -> None:
        """New contents, unseen by what watches a tensor's version, as a write through shared memory is."""
        tensor = self._lent[key]
        if not data:
            return
        source = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(tensor.dtype).view(tensor.shape)
        if tensor.is_cuda:
            tensor.copy_(source)
        else:
            np.copyto(as_words(tensor).numpy(), as_words(source).numpy())

    def get(self, key: int) -> bytes:
        return raw_bytes(self._lent[key])


def make_block(layout: Layout, count: int, device: torch.device) -> torch.Tensor:
    """``count`` tensors in one allocation, each aligned as one of its own would be: shape (count, ...)."""
    dtype: torch.dtype = getattr(torch, layout.dtype)
    size = prod(layout.shape) * dtype.itemsize
    if not size:
        return torch.empty((count, *layout.shape), dtype=dtype, device=device)
    unit = _LARGE_STEP if size >= _LARGE_STEP else _SMALL_STEP
    step = -(-size // unit) * unit
    elements = torch.empty(count * step, dtype=torch.uint8, device=device).view(dtype)
    strides = [prod(layout.shape[index + 1 :]) for index in range(len(layout.shape))]
    return elements.as_strided((count, *layout.shape), (step // dtype.itemsize, *strides))


def read_through(block: torch.Tensor) -> None:
    """Read all of a block's memory once."""
    if block.numel():
        words = torch.empty(0, dtype=torch.int64, device=block.device).set_(block.untyped_storage())
        words.sum().item()


def raw_bytes(tensor: torch.Tensor) -> bytes:
    if not tensor.numel():
        return b""
    plain = tensor.detach().cpu().contiguous()
    # A dimension of one element may have any stride, also in what counts as contiguous.
    return plain.as_strided((plain.numel(),), (1,)).view(torch.uint8).numpy().tobytes()


def _handle_of(tensor: torch.Tensor) -> tuple[bytes, int]:
    """CUDA's handle of the allocation that holds a tensor, and where in it; empty where there is none."""
    if not tensor.is_cuda or not tensor.numel():
        return b"", 0
    cuda = driver()
    address = tensor.data_ptr()
    error, base, _ = cuda.cuMemGetAddressRange(address)
    if error != cuda.CUresult.CUDA_SUCCESS:
        return b"", 0
    error, handle = cuda.cuIpcGetMemHandle(base)
    if error != cuda.CUresult.CUDA_SUCCESS:
        return b"", 0
    return bytes(handle.reserved), address - int(base)


Fetch = Callable[[int], bytes]
Store = Callable[[int, bytes], None]


class Borrowed:
    """A lent tensor as the referee sees it.

    ``tensor`` is the memory itself, or a copy: then ``pull`` reads and ``push`` writes the original.
    """

    def __init__(self, lent: Lent, mapping: "Mapping", fetch: Fetch, store: Store) -> None:
        self._lent = lent
        self._fetch, self._store = fetch, store
        self.is_shared = bool(lent.handle)
        dtype: torch.dtype = getattr(torch, lent.dtype)
        if self.is_shared:
            self.tensor = mapping.tensor(lent, dtype)
        else:
            self.tensor = torch.empty(lent.shape, dtype=dtype, device=mapping.device)

    def pull(self) -> torch.Tensor:
        if not self.is_shared and self.tensor.numel():
            data = torch.frombuffer(bytearray(self._fetch(self._lent.key)), dtype=torch.uint8)
            self.tensor.copy_(data.view(self.tensor.dtype).view(self.tensor.shape))
        return self.tensor

    def push(self) -> None:
        if not self.is_shared and self.tensor.numel():
            self._store(self._lent.key, raw_bytes(self.tensor))


class Mapping:
    """The allocations of another process that this one has mapped, each once."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._bases: dict[bytes, tuple[int, int]] = {}  # address and bytes

    def tensor(self, lent: Lent, dtype: torch.dtype) -> torch.Tensor:
        """Raises RuntimeError where the driver does not map it, or it does not lie in its allocation."""
        base, size = self._allocation(lent.handle)
        byte_count = extent_bytes(lent.shape, lent.stride, dtype)
        if min((lent.offset, *lent.shape, *lent.stride)) < 0 or lent.offset + byte_count > size:
            raise RuntimeError("A tensor of the candidate's process lies outside of its memory.")
        return tensor_at(base + lent.offset, lent.shape, lent.stride, dtype, self.device)

    def close(self) -> None:
        """Unmap all. The tensors must not be used any more."""
        if not self._bases:
            return
        cuda = driver()
        for base, _ in self._bases.values():
            with suppress(Exception):  # of a broken context, whose cause is reported elsewhere
                cuda.cuIpcCloseMemHandle(base)
        self._bases.clear()

    def _allocation(self, handle: bytes) -> tuple[int, int]:
        if handle not in self._bases:
            cuda = driver()
            torch.cuda.current_stream(self.device).synchronize()  # makes torch's context current
            shared = cuda.CUipcMemHandle()
            shared.reserved = handle
            flags = cuda.CUipcMem_flags.CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
            base = checked(cuda.cuIpcOpenMemHandle(shared, flags), _NOT_MAPPED)
            _, size = checked(cuda.cuMemGetAddressRange(base), _NOT_MAPPED)
            self._bases[handle] = int(base), int(size)
        return self._bases[handle]


def sets_of(blocks: Sequence[torch.Tensor]) -> list[tuple[torch.Tensor, ...]]:
    """The input sets in blocks whose first dimension counts them."""
    return [tuple(_part(block, index) for block in blocks) for index in range(blocks[0].shape[0])]


def _part(block: torch.Tensor, index: int) -> torch.Tensor:
    """A tensor over a part of the block's memory, as a user's own: its storage begins and ends with it.

    No view, so that a call cannot find the block by it; and no offset into a storage either, because Dynamo
    compiles for an offset of 0 and for others apart, so that sets of one block would run different code.
    """
    part = block[index]
    if not part.numel():
        return torch.empty_like(part)
    own = torch.from_dlpack(part.view(-1).view(torch.uint8)).untyped_storage()  # keeps the block's memory
    return torch.empty(0, dtype=block.dtype, device=block.device).set_(own, 0, part.shape, part.stride())
