// Transpose of a few short lines, or of one: a tile in shared memory would take longer than what it saves.
#pragma once

#include "shared/common.cuh"

// As in cuda_swizzled.py. A single line is copied by larger blocks: more of them would take longer to start than to copy.
constexpr int LINE_THREADS = 128, COPY_THREADS = 256;

// So many elements side by side: by accesses as wide as all such lines begin on, where they lie as allocated.
template <int FEW>
constexpr int LINE_ALIGNMENT = (FEW & -FEW) < PACK ? (FEW & -FEW) * sizeof(SCALAR) : 16;
template <int FEW>
struct alignas(LINE_ALIGNMENT<FEW>) Line {
    SCALAR element[FEW];
};

// FEW rows, a column a thread.
template <int FEW>
__device__ __forceinline__ void transpose_direct_rows(const SCALAR* x, SCALAR* y, unsigned, unsigned cols) {
    const unsigned col = blockIdx.x * LINE_THREADS + threadIdx.x;
    if (col >= cols) return;
    Line<FEW> line;
#pragma unroll
    for (int i = 0; i < FEW; ++i) line.element[i] = x[i * cols + col];
    reinterpret_cast<Line<FEW>*>(y)[col] = line;
}

// FEW columns, a row a thread. By elements: x may begin anywhere.
template <int FEW>
__device__ __forceinline__ void transpose_direct_cols(const SCALAR* x, SCALAR* y, unsigned rows, unsigned) {
    const unsigned row = blockIdx.x * LINE_THREADS + threadIdx.x;
    if (row >= rows) return;
    Line<FEW> line;
#pragma unroll
    for (int i = 0; i < FEW; ++i) line.element[i] = x[row * FEW + i];
#pragma unroll
    for (int i = 0; i < FEW; ++i) y[i * rows + row] = line.element[i];
}

// A matrix of one line lies as its transpose does.
__device__ __forceinline__ void copy_line(const SCALAR* x, SCALAR* y, long long count) {
    const long long first = thread_of_grid() * PACK;
    if (first < count) store_part(y + first, load_part(x + first, count - first), count - first);
}
