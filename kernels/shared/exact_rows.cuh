// Rows of 16-bit elements that a warp or a block keeps in registers by as few accesses as hold them: for the norms, where rows
// are neither short nor so many that a call waits for memory alone.
//
// Such a call is a few microseconds, of which instructions take one or two. So what is outside a row is asked for only past
// LEAST columns, which all rows of a kernel have; elements are unpacked once and stay floats; and what columns have
// comes along with the row.
#pragma once

#include "shared/rows.cuh"

#ifndef SCALAR_IS_FLOAT32

// Two elements as floats: a bfloat16 is the upper half of its float.
__device__ __forceinline__ float2 unpack_word(unsigned word) {
#ifdef SCALAR_IS_BFLOAT16
    return {__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u)};
#else
    const SCALAR* const elements = reinterpret_cast<const SCALAR*>(&word);
    return {to_float(elements[0]), to_float(elements[1])};
#endif
}

// LANES threads have a row, EACH elements of it each, by accesses of WIDTH, one behind the other's.
template <int LANES, int EACH, int LEAST, int WIDTH>
struct ExactRow {
    static constexpr int ACCESSES = EACH / WIDTH, WORDS = WIDTH / 2, SUMS = 4;
    struct alignas(WIDTH * sizeof(SCALAR)) Access {
        unsigned word[WORDS];
    };
    long long row;
    int cols, thread;

    __device__ __forceinline__ explicit ExactRow(long long columns) {
        thread = threadIdx.x % LANES;
        row = LANES > WARP ? blockIdx.x : blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES;
        cols = static_cast<int>(columns);
    }
    // Whether every thread has it, and whether this one has.
    static __device__ __forceinline__ constexpr bool is_whole(int access) {
        return (access + 1) * LANES * WIDTH <= LEAST;
    }
    __device__ __forceinline__ int column(int access) const { return (access * LANES + thread) * WIDTH; }
    __device__ __forceinline__ bool has(int access) const { return is_whole(access) || column(access) < cols; }

    // Of a row or a vector of columns; what lies outside reads as 0.
    __device__ __forceinline__ void load(const SCALAR* from, Access (&accesses)[ACCESSES]) const {
        from += thread * WIDTH;
#pragma unroll
        for (int a = 0; a < ACCESSES; ++a) {
            accesses[a] = {};
            if (has(a)) accesses[a] = *reinterpret_cast<const Access*>(from + a * LANES * WIDTH);
        }
    }
    static __device__ __forceinline__ void unpack(const Access (&accesses)[ACCESSES], float (&values)[EACH]) {
#pragma unroll
        for (int i = 0; i < EACH; i += 2) {
            const float2 pair = unpack_word(accesses[i / WIDTH].word[i % WIDTH / 2]);
            values[i] = pair.x, values[i + 1] = pair.y;
        }
    }
    // 0, once all of them are there.
    static __device__ __forceinline__ float zero_once_loaded(const Access (&accesses)[ACCESSES]) {
        unsigned any = 0;
#pragma unroll
        for (int a = 0; a < ACCESSES; ++a) {
#pragma unroll
            for (int i = 0; i < WORDS; ++i) any |= accesses[a].word[i];
        }
        return __uint_as_float(any & unknown_zero());
    }
    __device__ __forceinline__ void store(SCALAR* y, int access, const float (&values)[WIDTH]) const {
        Access bits;
#pragma unroll
        for (int i = 0; i < WIDTH; i += 2) {
            from_floats(values[i], values[i + 1], reinterpret_cast<SCALAR*>(&bits) + i);
        }
        if (has(access)) *reinterpret_cast<Access*>(y + thread * WIDTH + access * LANES * WIDTH) = bits;
    }
    // The sum of what `term` makes of each value, of all threads of the row, and of `first`.
    template <int SLOT, typename Term>
    static __device__ __forceinline__ float sum(const float (&values)[EACH], const Term& term, float first = 0.0f) {
        float parts[SUMS] = {first};  // one would wait for itself at each term
#pragma unroll
        for (int i = 0; i < EACH; ++i) parts[i % SUMS] = term(values[i], parts[i % SUMS]);
        return group_sum<(LANES > WARP ? BLOCK_GROUP : LANES), SLOT>((parts[0] + parts[1]) + (parts[2] + parts[3]));
    }
};

struct AddTo {
    __device__ __forceinline__ float operator()(float value, float sum) const { return sum + value; }
};
struct AddSquareTo {
    __device__ __forceinline__ float operator()(float value, float sum) const { return fmaf(value, value, sum); }
};

// By `KERNEL(NAME, LANES, EACH, LEAST, WIDTH)`: of a warp, up to 32 times EACH columns and more than LEAST.
#define EXACT_BY(KERNEL, NAME, BYTES)                               \
    KERNEL(NAME##_exact_12_by_##BYTES, 32, 12, 256, BYTES / 2)      \
    KERNEL(NAME##_exact_16_by_##BYTES, 32, 16, 384, BYTES / 2)      \
    KERNEL(NAME##_exact_20_by_##BYTES, 32, 20, 512, BYTES / 2)      \
    KERNEL(NAME##_exact_24_by_##BYTES, 32, 24, 640, BYTES / 2)      \
    KERNEL(NAME##_exact_32_by_##BYTES, 32, 32, 768, BYTES / 2)      \
    KERNEL(NAME##_exact_40_by_##BYTES, 32, 40, 1024, BYTES / 2)     \
    KERNEL(NAME##_exact_52_by_##BYTES, 32, 52, 1280, BYTES / 2)     \
    KERNEL(NAME##_exact_64_by_##BYTES, 32, 64, 1664, BYTES / 2)
#define EXACT(KERNEL, NAME)                                         \
    KERNEL(NAME##_exact_16_by_16, 32, 16, 256, 8)                   \
    KERNEL(NAME##_exact_24_by_16, 32, 24, 512, 8)                   \
    KERNEL(NAME##_exact_32_by_16, 32, 32, 768, 8)                   \
    KERNEL(NAME##_exact_40_by_16, 32, 40, 1024, 8)                  \
    KERNEL(NAME##_exact_48_by_16, 32, 48, 1280, 8)                  \
    KERNEL(NAME##_exact_64_by_16, 32, 64, 1536, 8)                  \
    EXACT_BY(KERNEL, NAME, 8)                                       \
    EXACT_BY(KERNEL, NAME, 4)

#endif
