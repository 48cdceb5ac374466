// The gradients of the norms where long rows begin on less than 16 bytes: a block a row, whose threads read neighbouring
// accesses of WIDTH elements.
//
// A block stays: it keeps the sums of its columns in registers, and asks for its next row while this one is reduced. An
// access stays whole until it is needed: taken apart as it comes, it would be waited for before the next is asked for.
#pragma once

#include "shared/overlap.cuh"
#include "shared/rows.cuh"

template <int BYTES>
struct AccessOf;
template <>
struct AccessOf<2> {
    using Type = unsigned short;
};
template <>
struct AccessOf<4> {
    using Type = unsigned;
};
template <>
struct AccessOf<8> {
    using Type = uint2;
};

// A thread's elements of a row, as they were loaded.
template <int EACH, int WIDTH>
struct NarrowRow {
    using Access = typename AccessOf<WIDTH * sizeof(SCALAR)>::Type;
    Access access[EACH];

    __device__ __forceinline__ float at(int element) const {
        return to_float(reinterpret_cast<const SCALAR*>(&access[element / WIDTH])[element % WIDTH]);
    }
    // So that the floats made of whole words for the sums are not kept until the gradients.
    __device__ __forceinline__ void keep_words() {
        if constexpr (sizeof(Access) >= 4) {
            const unsigned zero = unknown_zero();
            unsigned* const words = reinterpret_cast<unsigned*>(access);
#pragma unroll
            for (int i = 0; i < sizeof(access) / 4; ++i) words[i] += zero;
        }
    }
};

template <bool CENTRED, int THREADS, int EACH, int WIDTH>
struct NarrowGradients {
    using Row = NarrowRow<EACH, WIDTH>;
    using Access = typename Row::Access;
    static constexpr int WARPS = THREADS / WARP;
    const SCALAR *dy, *x;
    const float *mean, *rstd;
    int cols, accesses;  // of a row, from this thread's first one on
    float dw[EACH * WIDTH] = {}, db[CENTRED ? EACH * WIDTH : 1] = {};
    Row next_dy, next_x;
    float next_rstd = 0.0f, next_mean = 0.0f;

    __device__ __forceinline__ bool has(int e) const { return e * THREADS < accesses; }

    __device__ __forceinline__ void ask(const SCALAR* row, Row& coming) const {
        const Access* const from = reinterpret_cast<const Access*>(row) + threadIdx.x;
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            coming.access[e] = {};
            if (has(e)) coming.access[e] = from[e * THREADS];
        }
    }
    __device__ __forceinline__ void ask_for(int row) {
        const long long start = static_cast<long long>(row) * cols;
        ask(dy + start, next_dy);
        ask(x + start, next_x);
        next_rstd = rstd[row];
        if (CENTRED) next_mean = mean[row];
    }

    // Of two values at once, by one barrier: successive rows alternate between two slots.
    __device__ __forceinline__ float2 sum(float2 mine, int turn) const {
        __shared__ float2 of_warps[2][WARPS];
        const int lane = threadIdx.x % WARP;
        if (CENTRED) mine.x = warp_sum(mine.x);
        mine.y = warp_sum(mine.y);
        if (lane == 0) of_warps[turn][threadIdx.x / WARP] = mine;
        __syncthreads();
        const float2 other = lane < WARPS ? of_warps[turn][lane] : float2{0.0f, 0.0f};
        return {CENTRED ? warp_sum(other.x) : 0.0f, warp_sum(other.y)};
    }

    __device__ __forceinline__ void store(
        SCALAR* out, const Row& weight, const Row& of_dy, const Row& of_x, float centre, float scale, float2 level
    ) const {
        Access* const to = reinterpret_cast<Access*>(out) + threadIdx.x;
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            alignas(8) SCALAR result[WIDTH];
#pragma unroll
            for (int i = 0; i < WIDTH; ++i) {
                const int at = e * WIDTH + i;
                const float h = (of_x.at(at) - centre) * scale, g = of_dy.at(at) * weight.at(at);
                from_float(scale * (g - level.x - h * level.y), result[i]);
            }
            if (has(e)) to[e * THREADS] = *reinterpret_cast<const Access*>(result);
        }
    }

    __device__ __forceinline__ void run(const SCALAR* w, SCALAR* dx, float* partial, int rows) {
        Row weight;
        int row = blockIdx.x;
        ask(w, weight);
        if (row < rows) ask_for(row);
        const float of_cols = 1.0f / cols;
        for (int turn = 0; row < rows; row += gridDim.x, turn ^= 1) {
            const int next = row + gridDim.x;
            Row of_dy = next_dy, of_x = next_x;
            const float scale = next_rstd, centre = next_mean;
            if (next < rows) ask_for(next);
            float2 total = {0.0f, 0.0f};
#pragma unroll
            for (int at = 0; at < EACH * WIDTH; ++at) {
                const float of_y = of_dy.at(at), h = (of_x.at(at) - centre) * scale, g = of_y * weight.at(at);
                dw[at] = fmaf(of_y, h, dw[at]);
                if constexpr (CENTRED) db[at] += of_y;
                total.x += g;
                total.y = fmaf(g, h, total.y);
            }
            total = sum(total, turn);
            of_dy.keep_words();
            of_x.keep_words();
            weight.keep_words();
            store(
                dx + static_cast<long long>(row) * cols, weight, of_dy, of_x, centre, scale,
                {total.x * of_cols, total.y * of_cols}
            );
        }
        store_sums(partial);
    }

    struct alignas(WIDTH * sizeof(float)) Sums {
        float column[WIDTH];
    };
    static __device__ __forceinline__ Sums sums_at(const float* first) {
        Sums sums;
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) sums.column[i] = first[i];
        return sums;
    }
    __device__ __forceinline__ void store_sums(float* partial) const {
        float* const to_dw = partial + static_cast<long long>(blockIdx.x) * cols;
        float* const to_db = to_dw + static_cast<long long>(gridDim.x) * cols;
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            if (!has(e)) continue;
            const int access = threadIdx.x + e * THREADS;
            reinterpret_cast<Sums*>(to_dw)[access] = sums_at(dw + e * WIDTH);
            if constexpr (CENTRED) reinterpret_cast<Sums*>(to_db)[access] = sums_at(db + e * WIDTH);
        }
    }
};

template <bool CENTRED, int THREADS, int EACH, int WIDTH>
__device__ __forceinline__ void narrow_gradients(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, const float* mean, const float* rstd, SCALAR* dx,
    float* partial, long long rows, long long all_cols
) {
    if constexpr (sizeof(SCALAR) == 2) {  // the registers would not hold as many of four bytes
        const int cols = static_cast<int>(all_cols), accesses = cols / WIDTH - static_cast<int>(threadIdx.x);
        NarrowGradients<CENTRED, THREADS, EACH, WIDTH> gradients = {dy, x, mean, rstd, cols, accesses};
        gradients.run(w, dx, partial, static_cast<int>(rows));
    }
}
