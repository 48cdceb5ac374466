// The regression loss in one pass, 16 bytes an access; sums of blocks are added by a second kernel.
//
// Formula: loss = (sum d^2 + 0.1 sum |d|) / n with d = p - t; 4n FLOP, 2ns bytes.
// Mapping: the threads of the grid take packs of 16 bytes of both inputs in turn, UNROLL of each under way at once, and
//   add d^2 + 0.1 |d| in float, so that one sum does for both means; a block adds up its threads. The second kernel adds
//   the blocks' sums, always in the same order.
// Idea: Harris, "Optimizing Parallel Reduction in CUDA"; what torch.compile makes of eager.py has the same two kernels.
#include "shared/common.cuh"

constexpr int UNROLL = 4;

__device__ __forceinline__ float term(float p, float t) {
    const float distance = fabsf(p - t);
    return distance * (distance + 0.1f);
}

__device__ __forceinline__ float terms(const Pack& p, const Pack& t) {
    float one[PACK], other[PACK], sum = 0.0f;
    unpack(p, one);
    unpack(t, other);
#pragma unroll
    for (int i = 0; i < PACK; ++i) sum += term(one[i], other[i]);
    return sum;
}

extern "C" __global__ void loss_pieces(
    const SCALAR* __restrict__ p, const SCALAR* __restrict__ t, float* __restrict__ sums, long long n
) {
    const long long packs = are_aligned(p, t) ? n / PACK : 0;  // what torch allocates is aligned, a view may not be
    const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
    float sum[UNROLL] = {};  // apart from each other, so that no addition waits for the one before
    long long pack = thread_of_grid();
    const long long rest = packs * PACK + pack;
    for (; pack + (UNROLL - 1) * threads < packs; pack += UNROLL * threads) {
        Pack one[UNROLL], other[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            one[u] = load_pack(p + (pack + u * threads) * PACK);
            other[u] = load_pack(t + (pack + u * threads) * PACK);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) sum[u] += terms(one[u], other[u]);
    }
    for (; pack < packs; pack += threads) sum[0] += terms(load_pack(p + pack * PACK), load_pack(t + pack * PACK));
    for (long long i = rest; i < n; i += threads) sum[0] += term(to_float(p[i]), to_float(t[i]));
#pragma unroll
    for (int u = 1; u < UNROLL; ++u) sum[0] += sum[u];
    const float total = block_sum(sum[0]);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

// One block: adds the sums of all others.
extern "C" __global__ void loss_of_pieces(
    const float* __restrict__ sums, SCALAR* __restrict__ loss, long long pieces, long long n
) {
    float sum = 0.0f;
    for (long long piece = threadIdx.x; piece < pieces; piece += blockDim.x) sum += sums[piece];
    const float total = block_sum(sum);
    if (threadIdx.x == 0) from_float(total / static_cast<float>(n), loss[0]);
}
