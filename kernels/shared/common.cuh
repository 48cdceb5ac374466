// Shared by the CUDA kernels: 16-byte accesses, conversions to float, fast math, reductions.
//
// SCALAR is the element type, float, __half or __nv_bfloat16. Arithmetic is done in float.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int WARP = 32;
constexpr unsigned WHOLE_WARP = 0xffffffffu;
constexpr float LOG2_E = 1.4426950408889634f;
#define NEGATIVE_INFINITY __int_as_float(0xff800000)  // NVRTC knows no INFINITY

// ---- Conversions -------------------------------------------------------------------------------

__device__ __forceinline__ float to_float(float value) { return value; }
__device__ __forceinline__ float to_float(__half value) { return __half2float(value); }
__device__ __forceinline__ float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

__device__ __forceinline__ void from_float(float value, float& out) { out = value; }
__device__ __forceinline__ void from_float(float value, __half& out) { out = __float2half_rn(value); }
__device__ __forceinline__ void from_float(float value, __nv_bfloat16& out) { out = __float2bfloat16_rn(value); }

// Two at once: one instruction for the 16-bit types.
__device__ __forceinline__ void from_floats(float low, float high, float* out) {
    out[0] = low;
    out[1] = high;
}
__device__ __forceinline__ void from_floats(float low, float high, __half* out) {
    *reinterpret_cast<__half2*>(out) = __floats2half2_rn(low, high);
}
__device__ __forceinline__ void from_floats(float low, float high, __nv_bfloat16* out) {
    *reinterpret_cast<__nv_bfloat162*>(out) = __floats2bfloat162_rn(low, high);
}

// ---- Shared memory -----------------------------------------------------------------------------

// The address as instructions for shared memory take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// ---- Packs: the 16 bytes one thread moves in one access ----------------------------------------

constexpr int PACK = 16 / sizeof(SCALAR);  // elements

struct alignas(16) Pack {
    SCALAR element[PACK];
};

template <typename... Others>
__device__ __forceinline__ bool are_aligned(const SCALAR* address, const Others*... others) {
    return ((reinterpret_cast<unsigned long long>(address) | ... | reinterpret_cast<unsigned long long>(others)) &
            15) == 0;
}

__device__ __forceinline__ bool is_aligned(const SCALAR* address) { return are_aligned(address); }

// No "evict first" hints (__ldcs, __stcs): calls back to back are slower with them, though a single call is not.
__device__ __forceinline__ Pack load_pack(const SCALAR* address) {
    const uint4 bits = __ldg(reinterpret_cast<const uint4*>(address));
    return reinterpret_cast<const Pack&>(bits);
}

// 16 bytes that L2 evicts after what was written ("evict last"): for kernels that write about as much as they read.
// What is written then leaves for memory sooner and in longer runs. Volatile, as it must not move before a wait.
//
// The policy is what createpolicy.fractional.L2::evict_last makes. It is a constant, as in CUTLASS (CacheHintSm90):
// from Hopper on the compiler would make it at run time, by six instructions in a row before the load.
constexpr unsigned long long EVICT_LAST_POLICY = 0x14F0000000000000;
constexpr unsigned long long EVICT_FIRST_POLICY = 0x12F0000000000000;

__device__ __forceinline__ uint4 load_evict_last(const void* address) {
    uint4 bits;
#if __CUDA_ARCH__ >= 800
    asm volatile("ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w) : "l"(address), "l"(EVICT_LAST_POLICY));
#else
    bits = *static_cast<const uint4*>(address);
#endif
    return bits;
}

// 16 bytes without a hint, volatile likewise.
__device__ __forceinline__ Pack load_pack_in_place(const SCALAR* address) {
    uint4 bits;
    asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w) : "l"(address));
    return reinterpret_cast<const Pack&>(bits);
}

__device__ __forceinline__ Pack load_pack_evict_last(const SCALAR* address) {
    const uint4 bits = load_evict_last(address);
    return reinterpret_cast<const Pack&>(bits);
}

__device__ __forceinline__ void store_pack(SCALAR* address, const Pack& pack) {
    *reinterpret_cast<uint4*>(address) = reinterpret_cast<const uint4&>(pack);
}

__device__ __forceinline__ void unpack(const Pack& pack, float (&values)[PACK]) {
#pragma unroll
    for (int i = 0; i < PACK; ++i) values[i] = to_float(pack.element[i]);
}

__device__ __forceinline__ Pack to_pack(const float (&values)[PACK]) {
    Pack pack;
#pragma unroll
    for (int i = 0; i < PACK; i += 2) from_floats(values[i], values[i + 1], &pack.element[i]);
    return pack;
}

// ---- Runs of any length at any alignment -------------------------------------------------------

// A run of elements as whole aligned packs and the few elements before and after them.
//
// The edges are at most 2 * (PACK - 1) <= 14 elements, so thread t of a warp or more takes the
// t-th of them, if there is one, and every other access moves 16 bytes.
struct AlignedRun {
    int head;   // elements before the first pack
    int edges;  // elements outside the packs, before and after
    long long packs;

    __device__ __forceinline__ AlignedRun(const SCALAR* start, long long length) {
        const int past = static_cast<int>(reinterpret_cast<unsigned long long>(start) & 15) / sizeof(SCALAR);
        head = past ? PACK - past : 0;
        if (head > length) head = static_cast<int>(length);
        packs = (length - head) / PACK;
        edges = static_cast<int>(length - packs * PACK);
    }

    // Index in the run of edge number `edge` and of the first element of pack number `pack`.
    __device__ __forceinline__ long long edge_at(int edge) const { return edge < head ? edge : edge + packs * PACK; }
    __device__ __forceinline__ long long pack_at(long long pack) const { return head + pack * PACK; }
};

// ---- Fast math ---------------------------------------------------------------------------------

// One instruction each. Relative error about 2^-22; subnormal results become 0, infinity and NaN
// behave as in IEEE arithmetic. The intrinsics without "ftz" take four.
__device__ __forceinline__ float fast_exp2(float exponent) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(exponent));
    return result;
}

__device__ __forceinline__ float fast_reciprocal(float value) {
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
    return result;
}

// ---- Reductions --------------------------------------------------------------------------------

// Butterflies: every lane gets the result. fmaxf passes over NaN, the sum keeps it.
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
    for (int offset = WARP / 2; offset; offset /= 2) value += __shfl_xor_sync(WHOLE_WARP, value, offset);
    return value;
}

__device__ __forceinline__ float warp_max(float value) {
#pragma unroll
    for (int offset = WARP / 2; offset; offset /= 2) {
        value = fmaxf(value, __shfl_xor_sync(WHOLE_WARP, value, offset));
    }
    return value;
}

// The same by one instruction, where there is one: of floats as integers in the same order. Not for NaN.
__device__ __forceinline__ float highest_of_warp(float value) {
#if __CUDA_ARCH__ >= 800
    const auto ordered = [](int bits) { return bits ^ (bits >> 31 & 0x7fffffff); };  // and back
    return __int_as_float(ordered(__reduce_max_sync(WHOLE_WARP, ordered(__float_as_int(value)))));
#else
    return warp_max(value);
#endif
}

// Sum over a block of whole warps, at most 32; every thread gets it. One barrier: a caller that
// reduces more than once puts another between two calls.
__device__ __forceinline__ float block_sum(float value) {
    __shared__ float partial[WARP];
    const int lane = threadIdx.x % WARP;
    value = warp_sum(value);
    if (lane == 0) partial[threadIdx.x / WARP] = value;
    __syncthreads();
    return warp_sum(lane < blockDim.x / WARP ? partial[lane] : 0.0f);
}

// ---- Maps: y[i] = map(x[i], ...) ---------------------------------------------------------------

// A pack in one access for certain. The compiler splits a plain store of 16 bytes into four where it loses
// sight of the address.
__device__ __forceinline__ void store_whole_pack(SCALAR* address, const Pack& pack) {
    const uint4 bits = reinterpret_cast<const uint4&>(pack);
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
                 :: "l"(address), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
}

// The first `count` elements of a pack at any address: one access for a whole and aligned one.
__device__ __forceinline__ Pack load_part(const SCALAR* address, long long count) {
    if (count >= PACK && is_aligned(address)) return load_pack_evict_last(address);
    Pack pack;
#pragma unroll
    for (int i = 0; i < PACK; ++i) pack.element[i] = i < count ? address[i] : SCALAR(0.0f);
    return pack;
}

__device__ __forceinline__ void store_part(SCALAR* address, const Pack& pack, long long count) {
    if (count >= PACK && is_aligned(address)) return store_whole_pack(address, pack);
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
        if (i < count) address[i] = pack.element[i];
    }
}

template <typename Map, typename... Packs>
__device__ __forceinline__ Pack map_packs(const Map& map, const Packs&... x) {
    float values[PACK];
#pragma unroll
    for (int i = 0; i < PACK; ++i) values[i] = map(to_float(x.element[i])...);
    return to_pack(values);
}

// Elements of an array up to which the hint gains nothing: L2 has room for about as much.
constexpr long long UNHINTED = (64 << 20) / sizeof(SCALAR);

// Elements [thread * PACK, thread * PACK + PACK) of n. What torch allocates is aligned, so that only views
// and the last few elements go one by one.
//
// One pack a thread is the fastest on an H200: it needs fewest registers, so most threads are under way. With eight
// elements to a thread each instruction before the load counts, and an AlignedRun would take fifty. All inputs share
// one branch: with one each, the second load would wait until the first is back.
template <typename Map, typename... Inputs>
__device__ __forceinline__ void map_run(long long thread, const Map& map, SCALAR* y, long long n, const Inputs*... x) {
    const long long first = thread * PACK;
    const long long left = n - first;
    if (left >= PACK && are_aligned(y, x...)) {
        if (n <= UNHINTED) store_whole_pack(y + first, map_packs(map, load_pack_in_place(x + first)...));
        else store_whole_pack(y + first, map_packs(map, load_pack_evict_last(x + first)...));
        return;
    }
#pragma unroll 1
    for (int i = 0; i < PACK && i < left; ++i) from_float(map(to_float(x[first + i])...), y[first + i]);
}

// Number of this thread in a grid of one dimension.
__device__ __forceinline__ long long thread_of_grid() {
    return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}
