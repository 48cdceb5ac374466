// Probes of a GPU's ceilings: kernels that do only one thing, as fast as possible.
//
// Every result is used, by a comparison that is never true, so that the compiler keeps the work.

constexpr float NEVER = 3e38f;  // data and sums stay small

// ---- Passes over DRAM ---------------------------------------------------------------------------
//
// A block owns one tile and no more: PACKS accesses of 16 bytes a thread, all under way before the first
// is used. Blocks start in order, so that what is in flight at a time lies close together in memory.
// torch.sum, whose blocks stride over the whole array, reads 4 % less on an H200.

// Hints on what L2 keeps: nothing ("evict first"), its default, or what is read rather than what is written
// ("evict last", from Ampere on).
struct streamed {
    static __device__ __forceinline__ float4 load(const float4* address) { return __ldcs(address); }
    static __device__ __forceinline__ void store(float4* address, float4 value) { __stcs(address, value); }
};
struct cached {
    static __device__ __forceinline__ float4 load(const float4* address) { return *address; }
    static __device__ __forceinline__ void store(float4* address, float4 value) { *address = value; }
};

struct kept {
    static __device__ __forceinline__ float4 load(const float4* address) {
#if __CUDA_ARCH__ >= 800
        float4 value;
        asm volatile("{\n.reg .b64 policy;\ncreatepolicy.fractional.L2::evict_last.b64 policy, 1.0;\n"
                     "ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], policy;\n}"
                     : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w) : "l"(address));
        return value;
#else
        return *address;
#endif
    }
    static __device__ __forceinline__ void store(float4* address, float4 value) { *address = value; }
};

template <int PACKS>
__device__ __forceinline__ long long first_pack() {
    return static_cast<long long>(blockIdx.x) * blockDim.x * PACKS + threadIdx.x;
}

template <int PACKS, typename Access>
__device__ __forceinline__ void load_tile(const float4* source, float4 (&values)[PACKS]) {
    source += first_pack<PACKS>();
#pragma unroll
    for (int i = 0; i < PACKS; ++i) values[i] = Access::load(source + i * blockDim.x);
}

template <int PACKS, typename Access>
__device__ __forceinline__ void store_tile(float4* target, const float4 (&values)[PACKS]) {
    target += first_pack<PACKS>();
#pragma unroll
    for (int i = 0; i < PACKS; ++i) Access::store(target + i * blockDim.x, values[i]);
}

template <int PACKS, typename Access>
__device__ __forceinline__ void read_tile(const float4* source, float* sink) {
    float4 values[PACKS];
    load_tile<PACKS, Access>(source, values);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < PACKS; ++i) sum += (values[i].x + values[i].y) + (values[i].z + values[i].w);
    if (sum == NEVER) *sink = sum;
}

template <int PACKS, typename Access>
__device__ __forceinline__ void write_tile(float4* target, float value) {
    float4 values[PACKS];
#pragma unroll
    for (int i = 0; i < PACKS; ++i) values[i] = make_float4(value, value, value, value);
    store_tile<PACKS, Access>(target, values);
}

template <int PACKS, typename Access>
__device__ __forceinline__ void copy_tile(const float4* source, float4* target) {
    float4 values[PACKS];
    load_tile<PACKS, Access>(source, values);
    store_tile<PACKS, Access>(target, values);
}

template <int PACKS, typename Access>
__device__ __forceinline__ void triad_tile(const float4* left, const float4* right, float4* target, float factor) {
    float4 values[PACKS], added[PACKS];
    load_tile<PACKS, Access>(left, values);
    load_tile<PACKS, Access>(right, added);
#pragma unroll
    for (int i = 0; i < PACKS; ++i) {
        values[i].x = fmaf(factor, added[i].x, values[i].x);
        values[i].y = fmaf(factor, added[i].y, values[i].y);
        values[i].z = fmaf(factor, added[i].z, values[i].z);
        values[i].w = fmaf(factor, added[i].w, values[i].w);
    }
    store_tile<PACKS, Access>(target, values);
}

#define PASSES(PACKS, ACCESS)                                                                           \
    extern "C" __global__ void __launch_bounds__(1024)                                                  \
    read_##PACKS##_##ACCESS(const float4* __restrict__ source, float* sink) {                           \
        read_tile<PACKS, ACCESS>(source, sink);                                                         \
    }                                                                                                   \
    extern "C" __global__ void __launch_bounds__(1024)                                                  \
    write_##PACKS##_##ACCESS(float4* target, float value) {                                             \
        write_tile<PACKS, ACCESS>(target, value);                                                       \
    }                                                                                                   \
    extern "C" __global__ void __launch_bounds__(1024)                                                  \
    copy_##PACKS##_##ACCESS(const float4* __restrict__ source, float4* __restrict__ target) {           \
        copy_tile<PACKS, ACCESS>(source, target);                                                       \
    }                                                                                                   \
    extern "C" __global__ void __launch_bounds__(1024)                                                  \
    triad_##PACKS##_##ACCESS(const float4* __restrict__ left, const float4* __restrict__ right,         \
                             float4* __restrict__ target, float factor) {                               \
        triad_tile<PACKS, ACCESS>(left, right, target, factor);                                         \
    }

PASSES(1, cached)
PASSES(2, cached)
PASSES(4, cached)
PASSES(8, cached)
PASSES(4, streamed)
PASSES(1, kept)

// ---- L2 -----------------------------------------------------------------------------------------

// Past L1, and volatile, because the same addresses are read again and again, and each read must happen.
__device__ __forceinline__ float4 load_from_l2(const float4* address) {
    float4 value;
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
                 : "l"(address));
    return value;
}

// Each thread reads every so-manyth pack of a working set, round and round, `steps` in all. `packs` is a
// multiple of the number of threads and `steps` one of RESIDENT_PACKS.
constexpr int RESIDENT_PACKS = 4;

extern "C" __global__ void __launch_bounds__(256)
read_resident(const float4* source, long long packs, long long steps, float* sink) {
    const int stride = gridDim.x * blockDim.x;
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int step = 0; step < steps; step += RESIDENT_PACKS) {
        float4 values[RESIDENT_PACKS];
#pragma unroll
        for (int i = 0; i < RESIDENT_PACKS; ++i) {
            values[i] = load_from_l2(source + at);
            at += stride;
            if (at >= packs) at -= static_cast<int>(packs);
        }
#pragma unroll
        for (int i = 0; i < RESIDENT_PACKS; ++i) sum += (values[i].x + values[i].y) + (values[i].z + values[i].w);
    }
    if (sum == NEVER) *sink = sum;
}

// ---- Multiply and add in registers --------------------------------------------------------------

// The CHAINS hide the latency of one another. A round is STEPS x CHAINS instructions (as in probes.py): the
// loop itself costs 0.6 %, and the round still fits the innermost instruction cache.
constexpr int CHAINS = 8;
constexpr int STEPS = 64;

__device__ __forceinline__ float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double multiply_add(double a, double b, double c) { return fma(a, b, c); }

template <typename Real>
__device__ __forceinline__ void fma_loop(long long rounds, Real factor, Real addend, Real* sink) {
    Real chain[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) chain[i] = static_cast<Real>(threadIdx.x * CHAINS + i);
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
#pragma unroll
            for (int i = 0; i < CHAINS; ++i) chain[i] = multiply_add(chain[i], factor, addend);
        }
    }
    Real sum = 0;
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) sum += chain[i];
    if (sum == static_cast<Real>(NEVER)) *sink = sum;
}

extern "C" __global__ void __launch_bounds__(256)
fma_float32(long long rounds, float factor, float addend, float* sink) {
    fma_loop<float>(rounds, factor, addend, sink);
}

extern "C" __global__ void __launch_bounds__(256)
fma_float64(long long rounds, double factor, double addend, double* sink) {
    fma_loop<double>(rounds, factor, addend, sink);
}
