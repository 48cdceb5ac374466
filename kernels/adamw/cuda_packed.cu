// One step of AdamW in one pass, 16 bytes of each array a thread.
//
// Formula: m' = m + (1 - b1) (g - m), v' = b2 v + (1 - b2) g^2, p' = (1 - lr wd) p - lr' m' / (c sqrt(v') + eps), with
//   lr' = lr / (1 - b1^t) and c = 1 / sqrt(1 - b2^t). 14n FLOP, 28n bytes.
// Mapping: thread t of the grid owns pack t of all seven arrays: four loads of 16 bytes under way at once.
// Idea: cuda_naive with 16 bytes an access in place of 4, after PyTorch's fused optimiser
//   (ATen/native/cuda/fused_adam_utils.cuh), which does it in place and by chunks of many tensors. What depends on the
//   step alone comes from the host; the quotient takes a hardware root and reciprocal.
#include "shared/common.cuh"

constexpr int THREADS = 256;  // as in cuda_packed.py

struct Rates {
    float kept;          // of a parameter, after its decay
    float new_mean;      // 1 - b1
    float old_square;    // b2
    float new_square;    // 1 - b2
    float inverse_root;  // 1 / sqrt(1 - b2^t)
    float epsilon;
    float step;  // lr / (1 - b1^t)
};

__device__ __forceinline__ float fast_root(float value) {
    float result;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
    return result;
}

__device__ __forceinline__ void step_one(const Rates& rates, float g, float& p, float& m, float& v) {
    m = fmaf(rates.new_mean, g - m, m);
    v = fmaf(rates.new_square * g, g, rates.old_square * v);
    const float update = m * fast_reciprocal(fmaf(fast_root(v), rates.inverse_root, rates.epsilon));
    p = fmaf(p, rates.kept, -rates.step * update);
}

extern "C" __global__ void __launch_bounds__(THREADS) adamw(
    const float* __restrict__ p, const float* __restrict__ g, const float* __restrict__ m, const float* __restrict__ v,
    float* __restrict__ new_p, float* __restrict__ new_m, float* __restrict__ new_v, const Rates rates, long long n
) {
    const long long first = thread_of_grid() * PACK;
    if (n - first >= PACK && are_aligned(p, g, m, v, new_p, new_m, new_v)) {
        Pack ps = load_pack_evict_last(p + first), ms = load_pack_evict_last(m + first);
        Pack vs = load_pack_evict_last(v + first);
        const Pack gs = load_pack_evict_last(g + first);
#pragma unroll
        for (int i = 0; i < PACK; ++i) step_one(rates, gs.element[i], ps.element[i], ms.element[i], vs.element[i]);
        store_whole_pack(new_p + first, ps);
        store_whole_pack(new_m + first, ms);
        store_whole_pack(new_v + first, vs);
        return;
    }
#pragma unroll 1
    for (long long i = first; i < first + PACK && i < n; ++i) {
        float parameter = p[i], mean = m[i], square = v[i];
        step_one(rates, g[i], parameter, mean, square);
        new_p[i] = parameter;
        new_m[i] = mean;
        new_v[i] = square;
    }
}
