// GELU by way of the sigmoid, 16 bytes an access, some nine instructions an element.
//
// Formula: 0.5 (1 + tanh u) = sigmoid(2u), so y = x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3).
//   Where exp(-2u) overflows to infinity the reciprocal is 0, as it should be. 9n FLOP by the spec's
//   count; 2ns bytes.
// Mapping: as vector_add/cuda_packed, with UNROLL loads under way a thread.
// Idea: the sigmoid form is in the GELU paper, arXiv:1606.08415, section 2. At the bandwidth of an H200 a
//   16-bit element has about 31 issue slots; a library tanh would take them all.
#include "shared/common.cuh"

constexpr int THREADS = 256;  // as in cuda_sigmoid.py
constexpr int UNROLL = 1;

__device__ __forceinline__ float gelu_of(float x) {
    // exp(-2u) = 2^(x (LINEAR + CUBIC x^2)): -2 sqrt(2/pi) log2(e), and that times 0.044715.
    constexpr float LINEAR = -2.302208198144325f;
    constexpr float CUBIC = -0.10294323958002349f;
    return x * fast_reciprocal(1.0f + fast_exp2(x * (LINEAR + CUBIC * (x * x))));
}

__device__ __forceinline__ Pack gelu_of(const Pack& x) {
    float values[PACK];
    unpack(x, values);
#pragma unroll
    for (int i = 0; i < PACK; ++i) values[i] = gelu_of(values[i]);
    return to_pack(values);
}

extern "C" __global__ void __launch_bounds__(THREADS)
gelu(const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long n) {
    const Cut cut(x, n);
    const long long tile = static_cast<long long>(blockIdx.x) * THREADS * UNROLL + threadIdx.x;
    if (blockIdx.x == 0 && threadIdx.x < cut.edges) {
        const long long at = cut.edge_at(threadIdx.x);
        from_float(gelu_of(to_float(x[at])), y[at]);
    }

    const bool packed = is_aligned(y + cut.head);  // else x and y disagree, and y goes by elements
    Pack values[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const long long pack = tile + u * THREADS;
        if (pack < cut.packs) values[u] = load_kept_pack(x + cut.pack_at(pack));
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const long long pack = tile + u * THREADS;
        if (pack >= cut.packs) continue;
        const Pack result = gelu_of(values[u]);
        if (packed) {
            store_pack(y + cut.pack_at(pack), result);
        } else {
            for (int i = 0; i < PACK; ++i) y[cut.pack_at(pack) + i] = result.element[i];
        }
    }
}
