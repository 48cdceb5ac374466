// Softmax with the row in registers: one read and one write of memory, one reduction a row.
//
// Formula: y[r, c] = exp(x[r, c] - m_r) / sum_c exp(x[r, c] - m_r), m_r the row's maximum, exp(t) = 2^(t log2 e).
//   5 rows cols FLOP, 2 rows cols s bytes.
// Mapping: a team of threads owns a row: a warp up to 1024 columns, a block up to 32768. Each thread keeps VALUES
//   elements, in packs of 16 bytes, all of which are under way at once. It takes powers relative to its own
//   maximum, so that maximum and sum are found in one reduction over the team and not in two; a
//   factor a thread then puts its powers right. Longer rows: softmax_online reads the row twice.
// Idea: Milakov and Gimelshein, arXiv:1805.02867, for the joint reduction; QuACK (Dao-AILab) for
//   rows kept on chip. Rows at any alignment are cut into whole packs and edges.
#include "common.cuh"

struct Statistics {
    float highest;  // largest element so far; NaN does not count
    float total;    // sum of exp(element - highest); NaN if any element is
};

// exp(from - to), which puts a sum relative to `from` right for `to`; nothing was summed at -inf.
__device__ __forceinline__ float rescale(float from, float to) {
    return from == NEGATIVE_INFINITY ? 0.0f : fast_exp2((from - to) * LOG2_E);
}

__device__ __forceinline__ Statistics over_warp(Statistics mine) {
    const float highest = warp_max(mine.highest);
    return {highest, warp_sum(mine.total * rescale(mine.highest, highest))};
}

__device__ __forceinline__ Statistics over_block(Statistics mine) {
    __shared__ Statistics partial[WARP];
    const int lane = threadIdx.x % WARP;
    mine = over_warp(mine);
    if (lane == 0) partial[threadIdx.x / WARP] = mine;
    __syncthreads();
    return over_warp(lane < blockDim.x / WARP ? partial[lane] : Statistics{NEGATIVE_INFINITY, 0.0f});
}

// The power of an element; -inf relative to -inf counts as nothing, not as NaN.
__device__ __forceinline__ float power_of(float value, float highest) {
    return fast_exp2((value - (highest == NEGATIVE_INFINITY ? 0.0f : highest)) * LOG2_E);
}

__device__ __forceinline__ void store(SCALAR* address, const Pack& pack, bool aligned) {
    if (aligned) {
        store_pack(address, pack);
    } else {
        for (int i = 0; i < PACK; ++i) address[i] = pack.element[i];
    }
}

// What one thread keeps of a row: every so-manyth pack, and one element of its edges. What lies outside the
// row is -inf, of which the power is 0. A row here is short enough for 32-bit indices.
template <int PACKS>
struct Share {
    float values[PACKS][PACK];
    float edge;

    __device__ __forceinline__ void load(const SCALAR* row, const Cut& cut, int thread, int threads) {
        Pack packs[PACKS];
        float nothing[PACK];
#pragma unroll
        for (int i = 0; i < PACK; ++i) nothing[i] = NEGATIVE_INFINITY;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            const int pack = thread + p * threads;
            packs[p] = to_pack(nothing);
            if (pack < static_cast<int>(cut.packs)) packs[p] = load_pack(row + cut.head + pack * PACK);
        }
        edge = thread < cut.edges ? to_float(row[cut.edge_at(thread)]) : NEGATIVE_INFINITY;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) unpack(packs[p], values[p]);
    }

    // Turns the elements into powers relative to this thread's maximum.
    __device__ __forceinline__ Statistics exponentiate() {
        float highest = edge;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
#pragma unroll
            for (int i = 0; i < PACK; ++i) highest = fmaxf(highest, values[p][i]);
        }
        edge = power_of(edge, highest);
        float total = edge;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
#pragma unroll
            for (int i = 0; i < PACK; ++i) {
                values[p][i] = power_of(values[p][i], highest);
                total += values[p][i];
            }
        }
        return {highest, total};
    }

    __device__ __forceinline__ void store_scaled(SCALAR* row, const Cut& cut, float scale, int thread, int threads) {
        const bool aligned = is_aligned(row + cut.head);
        if (thread < cut.edges) from_float(edge * scale, row[cut.edge_at(thread)]);
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            const int pack = thread + p * threads;
            if (pack >= static_cast<int>(cut.packs)) continue;
#pragma unroll
            for (int i = 0; i < PACK; ++i) values[p][i] *= scale;
            store(row + cut.head + pack * PACK, to_pack(values[p]), aligned);
        }
    }
};

template <int VALUES, bool WHOLE_BLOCK>
__device__ __forceinline__ void softmax_row(
    const SCALAR* x, SCALAR* y, long long cols, int thread, int threads
) {
    const Cut cut(x, cols);
    Share<VALUES / PACK> share;
    share.load(x, cut, thread, threads);
    const Statistics mine = share.exponentiate();
    const Statistics all = WHOLE_BLOCK ? over_block(mine) : over_warp(mine);
    share.store_scaled(y, cut, rescale(mine.highest, all.highest) * fast_reciprocal(all.total), thread, threads);
}

template <int VALUES>
__device__ __forceinline__ void softmax_warp(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    const long long row = static_cast<long long>(blockIdx.x) * (blockDim.x / WARP) + threadIdx.x / WARP;
    if (row < rows) softmax_row<VALUES, false>(x + row * cols, y + row * cols, cols, threadIdx.x % WARP, WARP);
}

template <int VALUES>
__device__ __forceinline__ void softmax_block(const SCALAR* x, SCALAR* y, long long cols) {
    const long long start = blockIdx.x * cols;
    softmax_row<VALUES, true>(x + start, y + start, cols, threadIdx.x, blockDim.x);
}

#define WARP_KERNEL(VALUES)                                                                                  \
    extern "C" __global__ void __launch_bounds__(128) softmax_warp_##VALUES(                                 \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols) {              \
        softmax_warp<VALUES>(x, y, rows, cols);                                                              \
    }
#define BLOCK_KERNEL(VALUES)                                                                                 \
    extern "C" __global__ void __launch_bounds__(1024) softmax_block_##VALUES(                               \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long cols) {                              \
        softmax_block<VALUES>(x, y, cols);                                                                   \
    }

WARP_KERNEL(8)
WARP_KERNEL(16)
WARP_KERNEL(32)
BLOCK_KERNEL(16)
BLOCK_KERNEL(32)

// Rows longer than the registers of a block: maximum and sum in a first pass, results in a second, which
// finds the row in L2 where it fits there.
extern "C" __global__ void __launch_bounds__(1024)
softmax_online(const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long cols) {
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    const Cut cut(x, cols);
    const bool has_edge = threadIdx.x < cut.edges;
    const float edge = has_edge ? to_float(x[cut.edge_at(threadIdx.x)]) : NEGATIVE_INFINITY;

    Statistics mine = {edge, has_edge ? power_of(edge, edge) : 0.0f};
#pragma unroll 4
    for (long long pack = threadIdx.x; pack < cut.packs; pack += blockDim.x) {
        float values[PACK];
        unpack(load_pack(x + cut.pack_at(pack)), values);
        float highest = mine.highest;
#pragma unroll
        for (int i = 0; i < PACK; ++i) highest = fmaxf(highest, values[i]);
        mine.total *= rescale(mine.highest, highest);
#pragma unroll
        for (int i = 0; i < PACK; ++i) mine.total += power_of(values[i], highest);
        mine.highest = highest;
    }
    const Statistics all = over_block(mine);

    const float scale = fast_reciprocal(all.total);
    const bool aligned = is_aligned(y + cut.head);
    if (has_edge) from_float(power_of(edge, all.highest) * scale, y[cut.edge_at(threadIdx.x)]);
#pragma unroll 4
    for (long long pack = threadIdx.x; pack < cut.packs; pack += blockDim.x) {
        float values[PACK];
        unpack(load_pack(x + cut.pack_at(pack)), values);
#pragma unroll
        for (int i = 0; i < PACK; ++i) values[i] = power_of(values[i], all.highest) * scale;
        store(y + cut.pack_at(pack), to_pack(values), aligned);
    }
}
