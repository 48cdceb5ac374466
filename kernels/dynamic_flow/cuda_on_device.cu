// The branch on the data in CUDA C++, decided on the device: the host launches two kernels and waits for nothing.
//
// Formula: y = x / (1 + exp(-x)) if sum(x) > 0, else x / sqrt(1 + x^2). 5n FLOP, 2ns compulsory bytes; x is read
//   twice, the second time from L2 as far as it reaches.
// Mapping: add_up: PARTS blocks go along x side by side, 16 bytes a thread and step, and leave a part of the sum each.
//   branch: a block adds up the parts, always in the same order, takes the branch as a whole, and goes over its UNROLL
//   packs a thread.
// Idea: a branch is cheap where the data is: all blocks take the same one, so no warp is divided.
#include "shared/common.cuh"

constexpr int PARTS = 512;  // these four as in cuda_on_device.py
constexpr int THREADS = 256;
constexpr int UNROLL = 4;
constexpr int SUM_THREADS = 512;

extern "C" __global__ void __launch_bounds__(SUM_THREADS) add_up(
    const SCALAR* __restrict__ x, float* __restrict__ parts, long long n
) {
    const AlignedRun run(x, n);
    const long long thread = thread_of_grid();
    float sum = thread < run.edges ? to_float(x[run.edge_at(static_cast<int>(thread))]) : 0.0f;
#pragma unroll 4
    for (long long pack = thread; pack < run.packs; pack += PARTS * SUM_THREADS) {
        float values[PACK];
        unpack(load_pack(x + run.pack_at(pack)), values);
#pragma unroll
        for (int i = 0; i < PACK; ++i) sum += values[i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

struct Sigmoid {
    __device__ __forceinline__ float operator()(float x) const {
        return x * fast_reciprocal(1.0f + fast_exp2(-LOG2_E * x));
    }
};

struct Root {
    __device__ __forceinline__ float operator()(float x) const { return x * rsqrtf(1.0f + x * x); }
};

template <typename Map>
__device__ __forceinline__ void apply(const Map& map, const SCALAR* x, SCALAR* y, long long n) {
    const long long first = static_cast<long long>(blockIdx.x) * THREADS * UNROLL + threadIdx.x;
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) map_run(first + u * THREADS, map, y, n, x);
}

extern "C" __global__ void __launch_bounds__(THREADS) branch(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, const float* __restrict__ parts, long long n
) {
    float sum = 0.0f;
#pragma unroll
    for (int part = 0; part < PARTS; part += THREADS) sum += parts[part + threadIdx.x];
    if (block_sum(sum) > 0.0f) {
        apply(Sigmoid{}, x, y, n);
    } else {
        apply(Root{}, x, y, n);
    }
}
