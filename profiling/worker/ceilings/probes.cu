// Probes of a GPU's ceilings: kernels that do only one thing, as fast as possible.
//
// Every result is used, by a comparison that is never true, so that the compiler keeps the work.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

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

extern "C" __global__ void __launch_bounds__(256) read_resident(
    const float4* source, long long packs, long long steps, float* sink
) {
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

// ---- One instruction, over and over, in registers ------------------------------------------------

// The CHAINS hide the latency of one another. A round is STEPS x CHAINS instructions (as in probes.py): the
// loop itself costs 0.6 %, and the round still fits the innermost instruction cache.
constexpr int CHAINS = 8;
constexpr int STEPS = 64;

__device__ __forceinline__ float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double multiply_add(double a, double b, double c) { return fma(a, b, c); }
__device__ __forceinline__ __half2 multiply_add(__half2 a, __half2 b, __half2 c) { return __hfma2(a, b, c); }
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ __nv_bfloat162 multiply_add(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
    return __hfma2(a, b, c);
}
#endif

// How a chain is filled from a number, and made a number of again.
template <typename Value>
struct Lane {
    static __device__ __forceinline__ Value of(double x) { return static_cast<Value>(x); }
    static __device__ __forceinline__ Value number(Value x) { return x; }
};
template <>
struct Lane<__half2> {
    static __device__ __forceinline__ __half2 of(float x) { return __float2half2_rn(x); }
    static __device__ __forceinline__ float number(__half2 x) { return __low2float(x) + __high2float(x); }
};
#if __CUDA_ARCH__ >= 800
template <>
struct Lane<__nv_bfloat162> {
    static __device__ __forceinline__ __nv_bfloat162 of(float x) { return __float2bfloat162_rn(x); }
    static __device__ __forceinline__ float number(__nv_bfloat162 x) { return __low2float(x) + __high2float(x); }
};
#endif

// The steps, given the instruction: a function of one chain's value.
template <typename Value, typename Step, typename Sink>
__device__ __forceinline__ void repeat(long long rounds, Step step_once, Sink* sink) {
    Value chain[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) chain[i] = Lane<Value>::of(threadIdx.x * CHAINS + i);
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
#pragma unroll
            for (int i = 0; i < CHAINS; ++i) chain[i] = step_once(chain[i]);
        }
    }
    Sink sum = 0;
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) sum += Lane<Value>::number(chain[i]);
    if (sum == static_cast<Sink>(NEVER)) *sink = sum;
}

template <typename Value, typename Real>
__device__ __forceinline__ void fma_loop(long long rounds, Real factor, Real addend, Real* sink) {
    const Value by = Lane<Value>::of(factor), plus = Lane<Value>::of(addend);
    repeat<Value>(rounds, [=](Value x) { return multiply_add(x, by, plus); }, sink);
}

// ex2 of the negated value settles at 0.64; the negation is part of the instruction, and costs none.
__device__ __forceinline__ float exp2_of_minus(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(-x));
    return y;
}

__device__ __forceinline__ float tanh_of(float x) {
#if __CUDA_ARCH__ >= 750
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2_of_minus(x);
#endif
}

#define ARGUMENTS(REAL) long long rounds, REAL factor, REAL addend, REAL *sink

extern "C" __global__ void __launch_bounds__(256) fma_float32(ARGUMENTS(float)) {
    fma_loop<float>(rounds, factor, addend, sink);
}

extern "C" __global__ void __launch_bounds__(256) fma_float64(ARGUMENTS(double)) {
    fma_loop<double>(rounds, factor, addend, sink);
}

extern "C" __global__ void __launch_bounds__(256) fma_half2(ARGUMENTS(float)) {
    fma_loop<__half2>(rounds, factor, addend, sink);
}

extern "C" __global__ void __launch_bounds__(256) fma_bfloat162(ARGUMENTS(float)) {
#if __CUDA_ARCH__ >= 800
    fma_loop<__nv_bfloat162>(rounds, factor, addend, sink);
#endif
}

extern "C" __global__ void __launch_bounds__(256) exp2_float32(ARGUMENTS(float)) {
    repeat<float>(rounds, [](float x) { return exp2_of_minus(x); }, sink);
}

extern "C" __global__ void __launch_bounds__(256) tanh_float32(ARGUMENTS(float)) {
    repeat<float>(rounds, [](float x) { return tanh_of(x); }, sink);
}
