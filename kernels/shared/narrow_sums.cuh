// C = finish(A B) of a long A and little of B, in 16 bits, from rows that begin anywhere: 16 whole rows by a warp, or some warps.
//
// Formula: C[i, j] = finish(sum over l of A[i, l] B[l, j]); (m k + k n + m n) 2 bytes.
// Mapping: 16 rows of A lie behind each other, and so do those of C: as 16 of them begin on whole 16 bytes, wherever a single
//   row begins, words go from memory to shared memory and back as they lie. From there a warp takes elements by ones, or by twos
//   where rows are of whole twos. B goes into rows of whole 16 bytes once for a block. All loads are under way at once.
// Idea: short_sums.cuh shifts each word of a row, and its blocks meet before and behind the products: for so little of C most
//   of the time is that.
#pragma once

#include "shared/ampere.cuh"
#include "shared/finish.cuh"
#include "shared/overlap.cuh"

constexpr int NARROW_WARPS = 4;  // of a block
constexpr int NARROW_ROWS = 16;  // of a warp

// A run of elements from whole 16 bytes on, by words, of which several are under way at once, and what is left of the last one
// by elements: by some threads, between memory and shared memory, either way.
template <int THREADS>
__device__ __forceinline__ void copy_run(unsigned short* to, const unsigned short* from, int count, int thread) {
    constexpr int AT_ONCE = 4;
    const int words = count / 8;
    for (int first = thread; first < words; first += AT_ONCE * THREADS) {
        uint4 word[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            if (first + i * THREADS < words) word[i] = reinterpret_cast<const uint4*>(from)[first + i * THREADS];
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            if (first + i * THREADS < words) reinterpret_cast<uint4*>(to)[first + i * THREADS] = word[i];
        }
    }
    for (int i = words * 8 + thread; i < count; i += THREADS) to[i] = from[i];
}

// B's run, by the block, into rows of `pitch` elements; zeros in rows from k on.
__device__ __forceinline__ void spread_b(
    const unsigned short* b, unsigned short* rows, int pitch, int n, int k, int steps, int threads
) {
    constexpr int AT_ONCE = 4;
    const int count = k * n, words = count / 8;
    for (int first = threadIdx.x; first < words; first += AT_ONCE * threads) {
        uint4 word[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            if (first + i * threads < words) word[i] = __ldg(reinterpret_cast<const uint4*>(b) + first + i * threads);
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const int element = (first + i * threads) * 8;
            if (element >= words * 8) break;
            const unsigned of[4] = {word[i].x, word[i].y, word[i].z, word[i].w};
            int row = element / n, column = element - row * n;
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                rows[row * pitch + column] = static_cast<unsigned short>(of[j / 2] >> j % 2 * 16);
                if (++column == n) column = 0, ++row;
            }
        }
    }
    for (int i = words * 8 + threadIdx.x; i < count; i += threads) {
        const int row = i / n;
        rows[row * pitch + i - row * n] = b[i];
    }
    for (int i = threadIdx.x; i < (steps * 16 - k) * pitch; i += threads) rows[k * pitch + i] = 0;
}

// A lane's two neighbours at `column` of a row of A, zeros from k on.
__device__ __forceinline__ unsigned two_of(const unsigned short* row, int column, int k, bool by_twos) {
    if (by_twos) return column < k ? *reinterpret_cast<const unsigned*>(row + column) : 0;
    const unsigned low = column < k ? row[column] : 0, high = column + 1 < k ? row[column + 1] : 0;
    return high << 16 | low;
}

// BESIDE warps share 16 rows, TILES times 8 columns each.
template <int TILES, int BESIDE, class MakeFinish>
__device__ __forceinline__ void multiply_narrow_sums(
    const SCALAR* a, const SCALAR* b, SCALAR* c, unsigned m, int n, int k, const MakeFinish& make_finish
) {
    extern __shared__ __align__(16) unsigned char shared[];
    constexpr int PITCH = TILES * BESIDE * 8 + 8;  // elements: 8 rows fall in different banks
    constexpr int SHARERS = BESIDE * WARP;
    const int steps = (k + 15) / 16, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int group = warp / BESIDE, sharer = threadIdx.x % SHARERS, column0 = warp % BESIDE * TILES * 8;
    const unsigned row0 = (blockIdx.x * (NARROW_WARPS / BESIDE) + group) * NARROW_ROWS;
    const int rows = row0 < m ? static_cast<int>(min(m - row0, static_cast<unsigned>(NARROW_ROWS))) : 0;
    auto* const of_b = reinterpret_cast<unsigned short*>(shared);
    unsigned short* const own = of_b + steps * 16 * PITCH + group * NARROW_ROWS * max(n, k);
    wait_for_previous();
    let_next_start();
    const auto* const of_a = reinterpret_cast<const unsigned short*>(a) + row0 * static_cast<unsigned long long>(k);
    copy_run<SHARERS>(own, of_a, rows * k, sharer);
    spread_b(reinterpret_cast<const unsigned short*>(b), of_b, PITCH, n, k, steps, NARROW_WARPS * WARP);
    const auto finish = make_finish();
    const auto& of_columns = for_columns<TILES>(finish, column0 + lane % 4 * 2);
    __syncthreads();

    float sum[TILES][4] = {};
    const unsigned short* const upper = own + lane / 4 * k;
    const unsigned short* const lower = upper + 8 * k;
    const bool by_twos = k % 2 == 0;
    for (int step = 0; step < steps; ++step) {
        const int at = step * 16 + lane % 4 * 2;
        const unsigned slice[4] = {two_of(upper, at, k, by_twos), two_of(lower, at, k, by_twos),
                                   two_of(upper, at + 8, k, by_twos), two_of(lower, at + 8, k, by_twos)};
#pragma unroll
        for (int j = 0; j < TILES / 2; ++j) {
            unsigned four[4];
            const auto* const from = of_b + (step * 16 + lane % 16) * PITCH + column0 + (j * 2 + lane / 16) * 8;
            load_transposed(four, reinterpret_cast<const unsigned char*>(from));
            multiply_add(sum[j * 2], slice, four[0], four[1]);
            multiply_add(sum[j * 2 + 1], slice, four[2], four[3]);
        }
    }
    __syncthreads();  // nobody reads rows of A any more: those of C take their place
#pragma unroll
    for (int tile = 0; tile < TILES; ++tile) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int column = column0 + tile * 8 + lane % 4 * 2;
            if (column >= n) continue;
            const float2 sums = make_float2(sum[tile][i * 2], sum[tile][i * 2 + 1]);
            const float2 two = finish_pair(of_columns, sums, column, tile);
            unsigned pair;
            from_floats(two.x, two.y, reinterpret_cast<SCALAR*>(&pair));
            unsigned short* const to = own + (lane / 4 + i * 8) * n + column;
            if (n % 2 == 0) {
                *reinterpret_cast<unsigned*>(to) = pair;
            } else {
                to[0] = static_cast<unsigned short>(pair);
                if (column + 1 < n) to[1] = static_cast<unsigned short>(pair >> 16);
            }
        }
    }
    __syncthreads();
    auto* const of_c = reinterpret_cast<unsigned short*>(c) + row0 * static_cast<unsigned long long>(n);
    copy_run<SHARERS>(of_c, own, rows * n, sharer);
}

#define NARROW_SUMS_KERNEL(NAME, TILES, BESIDE, FINISH, ...)                                                      \
    extern "C" __global__ void __launch_bounds__(NARROW_WARPS * WARP)                                             \
        NAME(const SCALAR* a, const SCALAR* b, SCALAR* c, long long m, long long n, long long k, ##__VA_ARGS__) { \
        multiply_narrow_sums<TILES, BESIDE>(                                                                      \
            a, b, c, static_cast<unsigned>(m), static_cast<int>(n), static_cast<int>(k), [&] { return FINISH; }); \
    }
#define NARROW_SUMS_KERNELS(...)                            \
    NARROW_SUMS_KERNEL(narrow_sums_32, 4, 1, __VA_ARGS__)   \
    NARROW_SUMS_KERNEL(narrow_sums_64, 8, 1, __VA_ARGS__)   \
    NARROW_SUMS_KERNEL(narrow_sums_96, 12, 1, __VA_ARGS__)  \
    NARROW_SUMS_KERNEL(narrow_sums_128, 16, 1, __VA_ARGS__) \
    NARROW_SUMS_KERNEL(narrow_sums_192, 12, 2, __VA_ARGS__) \
    NARROW_SUMS_KERNEL(narrow_sums_256, 16, 2, __VA_ARGS__) \
    NARROW_SUMS_KERNEL(narrow_sums_384, 12, 4, __VA_ARGS__) \
    NARROW_SUMS_KERNEL(narrow_sums_512, 16, 4, __VA_ARGS__)
