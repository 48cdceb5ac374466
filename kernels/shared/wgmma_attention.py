"""Launches ``wgmma_attention.cuh`` for both kernels: a block for every 128 queries of a head."""

import ctypes
import functools
import importlib
from typing import Any

import torch

from profiling.worker.failures import Refusal
from profiling.worker.providers.cuda import CudaProgram
from profiling.worker.tensor_map import needs_hopper

# As in wgmma_attention.cuh.
CONSUMERS = {64: 3, 128: 2}  # warpgroups that multiply, 64 queries each
KEYS = 128  # of a step
STAGES = 2
BAND = 64  # elements of a row that lie together in shared memory: 128 bytes
WARPGROUP = 128
BARRIER_BYTES = 8 * (1 + 4 * STAGES)


def attend(
    program: CudaProgram, key: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output, and in float32 each query's logarithm (base e) of its sum of exponentials.

    Raises Refusal for float32, for heads of other than 64 or 128 elements, and where there is no wgmma.
    """
    batch, heads, seq, dim = q.shape
    if q.dtype == torch.float32:
        raise Refusal(f"{key} multiplies 16-bit elements.")
    if dim not in (64, 128):
        raise Refusal(f"{key} takes heads of 64 or 128 elements, not {dim}.")
    needs_hopper(key, q.device)
    o = torch.empty_like(q)
    lse = torch.empty((batch, heads, seq), dtype=torch.float32, device=q.device)
    if not q.numel():
        return o, lse
    # The copy engine starts at whole 16 bytes; a fresh copy does.
    aligned = [x if x.data_ptr() % 16 == 0 else x.clone() for x in (q, k, v)]
    queries = CONSUMERS[dim] * 64
    maps = (
        tensor_map(x.view(batch * heads, seq, dim), (1, rows, BAND))
        for x, rows in zip(aligned, (queries, KEYS, KEYS), strict=True)
    )
    program.launch(
        f"attention_{dim}",
        batch * heads * -(-seq // queries),
        (CONSUMERS[dim] + 1) * WARPGROUP,
        *maps,
        o,
        lse,
        seq,
        shared_bytes=(queries + 2 * STAGES * KEYS) * dim * 2 + BARRIER_BYTES,
    )
    return o, lse


def tensor_map(tensor: torch.Tensor, box: tuple[int, ...]) -> ctypes.Array[Any]:
    """A contiguous 16-bit tensor in boxes, for ``const __grid_constant__ CUtensorMap``; zeros beyond it."""
    return _encoded(tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), box)


@functools.lru_cache(maxsize=4096)
def _encoded(
    address: int, dtype: torch.dtype, shape: tuple[int, ...], box: tuple[int, ...]
) -> ctypes.Array[Any]:
    driver: Any = importlib.import_module("cuda.bindings.driver")

    # The driver counts dimensions from the innermost one, and leaves out its stride.
    name = str(dtype).removeprefix("torch.").upper()
    sizes, spans = shape[::-1], box[::-1]
    strides = [dtype.itemsize * size for size in _products(sizes)[:-1]]
    error, encoded = driver.cuTensorMapEncodeTiled(
        getattr(driver.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{name}"),
        len(shape),
        address,
        [driver.cuuint64_t(size) for size in sizes],
        [driver.cuuint64_t(stride) for stride in strides],
        [driver.cuuint32_t(span) for span in spans],
        [driver.cuuint32_t(1)] * len(shape),
        driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
        driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"A tensor map of {shape} cannot be made: {error.name}.")
    words = ctypes.c_ulonglong * 16
    return words.from_buffer_copy(ctypes.string_at(encoded.getPtr(), ctypes.sizeof(words)))


def _products(sizes: tuple[int, ...]) -> list[int]:
    products = [sizes[0]]
    for size in sizes[1:]:
        products.append(products[-1] * size)
    return products
