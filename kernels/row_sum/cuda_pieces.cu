// Sum of rows, 16 bytes an access; a row that few others keep company is cut into pieces for many blocks.
//
// Formula: y[r] = sum_c x[r, c]; rows cols FLOP, rows cols s + 4 rows bytes.
// Mapping: a team of threads owns a row or a piece of one, a warp for short rows and a block for long ones.
//   Each thread takes every so-manyth pack of 16 bytes, UNROLL of them under way at once, and the team adds
//   up. Sums of pieces are added by a second kernel in an order of their own: the result is the same at
//   every call, as with atomics it is not.
// Idea: Harris, "Optimizing Parallel Reduction in CUDA"; the team and its loop are those of
// weighted_sum/cuda_row.
#include "shared/common.cuh"

constexpr int UNROLL = 4;  // as in cuda_pieces.py

__device__ __forceinline__ float sum_of(const Pack& pack) {
    float values[PACK];
    unpack(pack, values);
#pragma unroll
    for (int step = 1; step < PACK; step *= 2) {
#pragma unroll
        for (int i = 0; i < PACK; i += 2 * step) values[i] += values[i + step];
    }
    return values[0];
}

// This thread's share of the sum of a run.
__device__ __forceinline__ float partial_sum(const SCALAR* x, long long length, int thread, int threads) {
    const Cut cut(x, length);
    float sum[UNROLL] = {};  // apart from each other, so that no addition waits for the one before
    if (thread < cut.edges) sum[0] = to_float(x[cut.edge_at(thread)]);
    x += cut.head;
    long long pack = thread;
    for (; pack + (UNROLL - 1) * threads < cut.packs; pack += UNROLL * threads) {
        Pack values[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) values[u] = load_pack(x + (pack + u * threads) * PACK);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) sum[u] += sum_of(values[u]);
    }
    for (; pack < cut.packs; pack += threads) sum[0] += sum_of(load_pack(x + pack * PACK));
#pragma unroll
    for (int u = 1; u < UNROLL; ++u) sum[0] += sum[u];
    return sum[0];
}

extern "C" __global__ void row_sum_warp(
    const SCALAR* __restrict__ x, float* __restrict__ y, long long rows, long long cols
) {
    const long long row = thread_of_grid() / WARP;
    if (row >= rows) return;
    const int lane = threadIdx.x % WARP;
    const float sum = warp_sum(partial_sum(x + row * cols, cols, lane, WARP));
    if (lane == 0) y[row] = sum;
}

// Sums of pieces of `length` elements, the last one of a row shorter; y is (rows, pieces).
extern "C" __global__ void row_sum_block(
    const SCALAR* __restrict__ x, float* __restrict__ y, long long cols, long long pieces, long long length
) {
    const long long row = blockIdx.x / pieces, start = blockIdx.x % pieces * length;
    const long long left = cols - start;
    const float sum = block_sum(
        partial_sum(x + row * cols + start, left < length ? left : length, threadIdx.x, blockDim.x)
    );
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

// Adds the pieces of a row, no more than the block has threads.
extern "C" __global__ void row_sum_pieces(
    const float* __restrict__ piece, float* __restrict__ y, long long pieces
) {
    piece += blockIdx.x * pieces;
    float sum = 0.0f;
    if (threadIdx.x < pieces) sum = piece[threadIdx.x];
    sum = block_sum(sum);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
