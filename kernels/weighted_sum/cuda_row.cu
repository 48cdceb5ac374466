// Weighted sum of rows: a warp or a block a row, 16 bytes an access.
//
// Formula: y[r] = sum_d x[r, d] w[d]; 2 rows cols FLOP, (rows cols + cols + rows)s bytes.
// Mapping: a team of threads owns a row, a warp for short rows and a block for long ones. Each thread takes
//   every so-manyth pack of 16 bytes, UNROLL of them under way at once, sums in float, and the team adds up.
//   x passes through; w is read again by every row and stays in L1. Two loads under way and 256 threads a
//   long row were the fastest of UNROLL 2, 4, 8 and 128, 256, 512 threads on an H200.
// Idea: Harris, "Optimizing Parallel Reduction in CUDA"; warp shuffles after "Faster Parallel Reductions on
//   Kepler". Rows at any alignment are cut into whole packs and edges.
#include "shared/common.cuh"

constexpr int UNROLL = 2;  // as in cuda_row.py

// `w` at the same distance from 16-byte alignment as the row gives packs, else single elements.
template <bool PACKED>
__device__ __forceinline__ Pack weights_at(const SCALAR* w) {
    if (PACKED) return load_pack(w);
    Pack pack;
#pragma unroll
    for (int i = 0; i < PACK; ++i) pack.element[i] = w[i];
    return pack;
}

__device__ __forceinline__ float dot(const Pack& x, const Pack& w, float sum) {
    float left[PACK], right[PACK];
    unpack(x, left);
    unpack(w, right);
#pragma unroll
    for (int i = 0; i < PACK; ++i) sum = fmaf(left[i], right[i], sum);
    return sum;
}

// This thread's share of the packs of a row; x and w start at the first pack.
template <bool PACKED>
__device__ __forceinline__ float sum_packs(
    const SCALAR* x, const SCALAR* w, long long packs, int thread, int threads
) {
    float sum[UNROLL] = {};  // apart from each other, so that no addition waits for the one before
    long long pack = thread;
    for (; pack + (UNROLL - 1) * threads < packs; pack += UNROLL * threads) {
        Pack values[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) values[u] = load_pack(x + (pack + u * threads) * PACK);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            sum[u] = dot(values[u], weights_at<PACKED>(w + (pack + u * threads) * PACK), sum[u]);
        }
    }
    for (; pack < packs; pack += threads) {
        sum[0] = dot(load_pack(x + pack * PACK), weights_at<PACKED>(w + pack * PACK), sum[0]);
    }
#pragma unroll
    for (int u = 1; u < UNROLL; ++u) sum[0] += sum[u];
    return sum[0];
}

__device__ __forceinline__ float partial_sum(
    const SCALAR* row, const SCALAR* w, long long cols, int thread, int threads
) {
    const Cut cut(row, cols);
    float sum = 0.0f;
    if (thread < cut.edges) {
        const long long at = cut.edge_at(thread);
        sum = to_float(row[at]) * to_float(w[at]);
    }
    row += cut.head;
    w += cut.head;
    return sum + (is_aligned(w) ? sum_packs<true>(row, w, cut.packs, thread, threads)
                                : sum_packs<false>(row, w, cut.packs, thread, threads));
}

extern "C" __global__ void weighted_sum_warp(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, SCALAR* __restrict__ y, long long rows, long long cols
) {
    const int lane = threadIdx.x % WARP;
    const long long row = static_cast<long long>(blockIdx.x) * (blockDim.x / WARP) + threadIdx.x / WARP;
    if (row >= rows) return;
    const float sum = warp_sum(partial_sum(x + row * cols, w, cols, lane, WARP));
    if (lane == 0) from_float(sum, y[row]);
}

extern "C" __global__ void weighted_sum_block(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, SCALAR* __restrict__ y, long long cols
) {
    const long long row = blockIdx.x;
    const float sum = block_sum(partial_sum(x + row * cols, w, cols, threadIdx.x, blockDim.x));
    if (threadIdx.x == 0) from_float(sum, y[row]);
}
