"""``z = x + y`` in the CuTe DSL: a layout of 16-byte vectors, one for each thread.

Formula: z[i] = x[i] + y[i]; n FLOP, 3ns bytes.
Mapping: thread t owns vector t, elements [t * VECTOR, (t + 1) * VECTOR); the layout (VECTOR, n / VECTOR) of
strides (1, VECTOR) says so, and from it the compiler knows that each access is a whole aligned vector. Only
the thread at the end goes element by element.
Idea: cuda_packed in another language: NVIDIA's elementwise example of the CuTe DSL, without its tiles of
several vectors a thread.
"""

import functools

import cutlass
import torch
from cuda.bindings import driver
from cutlass import cute

from roofscope import Choice
from roofscope.kernels.shared.device_pointers import VECTOR_BYTES, is_aligned, pointer, stream_of, typed

THREADS = Choice(256, 128, 512)


@cute.kernel
def _add(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor, n: cutlass.Int64, VECTOR: cutlass.Constexpr) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    vector = cutlass.Int64(block) * THREADS + thread
    first = vector * VECTOR
    if first + VECTOR <= n:
        left = x[None, vector].load().to(cutlass.Float32)
        right = y[None, vector].load().to(cutlass.Float32)
        z[None, vector].store((left + right).to(z.element_type))
    else:
        for lane in cutlass.range_constexpr(VECTOR):
            if first + lane < n:
                total = x[lane, vector].to(cutlass.Float32) + y[lane, vector].to(cutlass.Float32)
                z[lane, vector] = total.to(z.element_type)


@cute.jit
def _launch(
    x: cute.Pointer,
    y: cute.Pointer,
    z: cute.Pointer,
    n: cutlass.Int64,
    stream: driver.CUstream,
    VECTOR: cutlass.Constexpr,
) -> None:
    vectors = cute.ceil_div(n, VECTOR)
    layout = cute.make_layout((VECTOR, vectors), stride=(1, VECTOR))
    tensors = [cute.make_tensor(one, layout) for one in (x, y, z)]
    blocks = cutlass.Int32(cute.ceil_div(vectors, THREADS))
    _add(*tensors, n, VECTOR).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1), stream=stream)


@functools.cache
def compiled(dtype: torch.dtype, alignment: int):
    """The launch for tensors of one type that begin at multiples of ``alignment`` bytes."""
    of_type = typed(dtype, alignment)
    vector = alignment // dtype.itemsize
    return cute.compile(_launch, of_type, of_type, of_type, cutlass.Int64(0), driver.CUstream(0), vector)


def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Add ``x`` and ``y``, both (n,) and contiguous."""
    z = torch.empty_like(x)
    if n := x.numel():
        alignment = VECTOR_BYTES if is_aligned(x, y, z) else x.element_size()
        pointers = (pointer(one, alignment) for one in (x, y, z))
        compiled(x.dtype, alignment)(*pointers, cutlass.Int64(n), stream_of(x))
    return z
