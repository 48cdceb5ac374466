// Gradient of softmax with both rows in registers: two reads and one write of memory, one reduction a row.
//
// Formula: dx[r, c] = y[r, c] (dy[r, c] - sum_c dy[r, c] y[r, c]). 4 rows cols FLOP, 3 rows cols s bytes.
// Mapping: a row group owns a row: 8 to 32 lanes up to 2 KB a row, a warp where such rows are few, a block
//   above. Each thread keeps 1 to 8 packs of 16 bytes of dy and as many of y, all of which are under way at once.
//   Rows that are too long for registers or do not start on 16 bytes go by pieces and are read twice, the second
//   time from L1 or L2.
// Idea: rows kept on chip by row groups that grow with them after QuACK (Dao-AILab).
#include "shared/rows.cuh"

__device__ __forceinline__ float dot(const Bits& dy, const Bits& y) {
    float left[PACK], right[PACK], sum = 0.0f;
    unpack(dy, left);
    unpack(y, right);
#pragma unroll
    for (int i = 0; i < PACK; ++i) sum = fmaf(left[i], right[i], sum);
    return sum;
}

template <bool PACKED>
__device__ __forceinline__ void store_gradient(
    const Share<PACKED>& share, int p, const Bits& dy, const Bits& y, float sum, SCALAR* dx
) {
    float gradients[PACK], powers[PACK];
    unpack(dy, gradients);
    unpack(y, powers);
#pragma unroll
    for (int i = 0; i < PACK; ++i) gradients[i] = powers[i] * (gradients[i] - sum);
    share.store(dx, p, gradients);
}

template <int GROUP, int PACKS>
__device__ __forceinline__ void backward_row(
    const SCALAR* dy, const SCALAR* y, SCALAR* dx, long long rows, long long cols
) {
    const Share<true> share = group_share<GROUP>(rows, cols);
    const long long start = group_row<GROUP>() * cols;
    Bits gradients[PACKS], powers[PACKS];
    share.load_evict_last(dy + start, gradients);
    share.load_evict_last(y + start, powers);

    float sum = 0.0f;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) sum += dot(gradients[p], powers[p]);
    sum = group_sum<GROUP>(sum);
    keep_packed(gradients);
    keep_packed(powers);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) store_gradient(share, p, gradients[p], powers[p], sum, dx + start);
}

// BLOCKS of THREADS on a multiprocessor: registers enough, and no spilling for the sake of more.
#define KERNEL(NAME, GROUP, PACKS, THREADS, BLOCKS)                                                           \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(                                      \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ y, SCALAR* __restrict__ dx,                \
        long long rows, long long cols) {                                                                    \
        backward_row<GROUP, PACKS>(dy, y, dx, rows, cols);                                                    \
    }

KERNEL(softmax_backward_lanes_8, 8, 4, 128, 8)
KERNEL(softmax_backward_lanes_16, 16, 4, 128, 8)
KERNEL(softmax_backward_lanes_32, 32, 4, 128, 8)
KERNEL(softmax_backward_warp_1, 32, 1, 128, 8)
KERNEL(softmax_backward_warp_2, 32, 2, 128, 8)
KERNEL(softmax_backward_block_4, BLOCK_GROUP, 4, 512, 2)
KERNEL(softmax_backward_block_8, BLOCK_GROUP, 8, 512, 1)

template <bool PACKED>
__device__ __forceinline__ void backward_by_pieces(const SCALAR* dy, const SCALAR* y, SCALAR* dx, long long cols) {
    const int piece = blockDim.x * PACK;
    float sum = 0.0f;
    for (long long start = 0; start < cols; start += piece) {
        const Share<PACKED> share = piece_share<PACKED>(start, cols);
        sum += dot(share.load(dy + start, 0), share.load(y + start, 0));
    }
    sum = group_sum<BLOCK_GROUP>(sum);
    for (long long start = 0; start < cols; start += piece) {
        const Share<PACKED> share = piece_share<PACKED>(start, cols);
        store_gradient(share, 0, share.load(dy + start, 0), share.load(y + start, 0), sum, dx + start);
    }
}

extern "C" __global__ void __launch_bounds__(1024) softmax_backward_pieces(
    const SCALAR* __restrict__ dy, const SCALAR* __restrict__ y, SCALAR* __restrict__ dx, long long rows, long long cols
) {
    dy += blockIdx.x * cols;
    y += blockIdx.x * cols;
    dx += blockIdx.x * cols;
    if (are_packed(cols, dy, y, dx)) {
        backward_by_pieces<true>(dy, y, dx, cols);
    } else {
        backward_by_pieces<false>(dy, y, dx, cols);
    }
}
