// Rows times 4-bit weights of a short k, which no warps share: each has rows of weights for itself.
//
// Warps that share k, as in stages.cuh, have little or nothing to do where it is short; and where n is large, blocks of few
// rows are many, each of which waits for its loads and adds up the sums of its warps. Here warps share out the rows of
// weights, and all read the same rows of x, which the block copies once: so it may have many of both.
#pragma once

#include "matmul_w4a16/stages.cuh"

constexpr int OWNERS = 8;  // warps of a block
constexpr int RING = 3;    // steps of a block that have room, one of which is being multiplied

// A warp has 16 TILES rows of weights, a block 8 BATCHES rows of x. Weights are scaled and rounded to 16 bits; no half
// of a group is longer than a step.
template <int TILES, int BATCHES>
__device__ __forceinline__ void multiply_undivided(
    const SCALAR* __restrict__ x, const unsigned char* __restrict__ packed, const SCALAR* __restrict__ scales,
    SCALAR* __restrict__ y, long long m, long long n, int row_bytes, int log2_half
) {
    constexpr int OWN = 16 * TILES, COLUMNS = 8 * BATCHES;
    constexpr int PITCH = BATCHES * WARP + 2;  // 2 more, so that chunks of a group lie in different banks
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int line = lane / 4, position = lane % 4;  // a row of each operand, and 16 packed bytes in a step
    const unsigned parts = static_cast<unsigned>((m + COLUMNS - 1) / COLUMNS);
    const long long first_row = (blockIdx.x / parts * static_cast<long long>(OWNERS) + warp) * OWN;
    const long long first_x = blockIdx.x % parts * static_cast<long long>(COLUMNS);
    const int live = static_cast<int>(min(m - first_x, static_cast<long long>(COLUMNS)));
    const int steps = (row_bytes + STEP - 1) / STEP;

    // Of each step four chunks for every lane and batch of x, in the order of their use, and two for every tile.
    extern __shared__ uint4 chunks[];
    uint4(*const columns)[4][PITCH] = reinterpret_cast<uint4(*)[4][PITCH]>(chunks);
    uint4(*const weights)[OWNERS][TILES * 2][WARP] =
        reinterpret_cast<uint4(*)[OWNERS][TILES * 2][WARP]>(chunks + RING * 4 * PITCH);

    // Rows past the last one read the last one: their sums are not stored.
    const int groups = row_bytes >> log2_half, last = static_cast<int>(min(n - 1 - first_row, OWN - 1LL));
    const unsigned char* const own = packed + first_row * row_bytes;
    const SCALAR* const own_scales = scales + first_row * groups;
    const auto row_of = [&](int i) { return static_cast<long long>(min(i * 8 + line, last)); };
    SCALAR next[TILES * 2];  // scales, a step ahead
    const auto load_scales = [&](int step) {
        const int at = step * STEP + position * 16;
#pragma unroll
        for (int i = 0; i < TILES * 2; ++i) {
            next[i] = at < row_bytes ? __ldg(own_scales + row_of(i) * groups + (at >> log2_half)) : SCALAR(0.0f);
        }
    };

    // Half a warp copies a step of a row of x: a chunk goes to the lane that has its weights, in low or in high nibbles.
    const int element = lane % 16 * 8, half = 1 << log2_half;
    const int byte = (element >> (log2_half + 1) << log2_half) + element % half;
    const int chunk = (element >> log2_half) % 2 * 2 + byte % 16 / 8;
    const auto copy_step = [&](int step) {
        if (step < steps) {
            const int stage = step % RING, at = step * STEP + position * 16, x_at = step * (STEP * 2) + element;
            const bool inside = at < row_bytes, x_inside = x_at < row_bytes * 2;
#pragma unroll
            for (int i = 0; i < TILES * 2; ++i) {
                copy_chunk<false>(
                    &weights[stage][warp][i][lane], own + row_of(i) * row_bytes + (inside ? at : 0), inside
                );
            }
            // Rows past the last one are zeros, as is what lies past a row's end.
            for (int row = warp * 2 + lane / 16; row < COLUMNS; row += OWNERS * 2) {
                const SCALAR* const from = x + (first_x + min(row, live - 1)) * (row_bytes * 2LL);
                const bool filled = x_inside && row < live;
                copy_chunk<false>(&columns[stage][chunk][row * 4 + byte / 16], from + (filled ? x_at : 0), filled);
            }
        }
        asm volatile("cp.async.commit_group;");
    };

    // The compiler must not know that this is a constant, or it would move it to a register at every use.
    const unsigned exponent = EXPONENT + (row_bytes >> 31);
    float sum[TILES][BATCHES][4] = {};
    const auto multiply_step = [&](int stage, const Pair(&factor)[TILES* 2]) {
        uint4 words[TILES * 2];
#pragma unroll
        for (int i = 0; i < TILES * 2; ++i) words[i] = weights[stage][warp][i][lane];
#pragma unroll
        for (int j = 0; j < 4; ++j) {  // chunks of x, of two words of weights each
            Pair a[TILES][2][4];
#pragma unroll
            for (int i = 0; i < TILES * 4; ++i) {
                const int t = i / 4, w = i / 2 % 2, h = i % 2;
                const unsigned codes = word_of(words[t * 2 + h], j % 2 * 2 + w) >> j / 2 * 4 & 0x0f0f0f0fu;
                a[t][w][h] = __hmul2(weights_of<0>(codes, exponent), factor[t * 2 + h]);
                a[t][w][h + 2] = __hmul2(weights_of<2>(codes, exponent), factor[t * 2 + h]);
            }
#pragma unroll
            for (int i = 0; i < BATCHES; ++i) {
                const uint4 b = columns[stage][j][i * WARP + lane];
#pragma unroll
                for (int t = 0; t < TILES; ++t) {
                    multiply_add(sum[t][i], a[t][0], b.x, b.y);
                    multiply_add(sum[t][i], a[t][1], b.z, b.w);
                }
            }
        }
    };

    for (int step = 0; step < RING - 1; ++step) copy_step(step);
    load_scales(0);
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(RING - 2) : "memory");
        __syncthreads();  // the step is there for all, and all are done with the one before
        copy_step(step + RING - 1);
        Pair factor[TILES * 2];
#pragma unroll
        for (int i = 0; i < TILES * 2; ++i) factor[i] = both(to_float(next[i]));
        load_scales(step + 1);
        multiply_step(step % RING, factor);
    }

    // A lane holds columns 2 p and 2 p + 1, p = lane % 4, of rows `line` and `line` + 8 of each sum.
#pragma unroll
    for (int i = 0; i < BATCHES * 2; ++i) {
        const int column = i / 2 * 8 + position * 2 + i % 2;
        SCALAR* const to = y + ((first_x + column) * n + first_row + line);
#pragma unroll
        for (int t = 0; t < TILES * 2; ++t) {
            const bool inside = column < live && first_row + line + t * 8 < n;
            if (inside) from_float(sum[t / 2][i / 2][i % 2 + t % 2 * 2], to[t * 8]);
        }
    }
}

// Named as those of stages.cuh.
#define UNDIVIDED(ROWS, COLUMNS, BLOCKS)                                                                           \
    extern "C" __global__ void __launch_bounds__(OWNERS* WARP, BLOCKS) multiply_##ROWS##x##COLUMNS##_scaled(       \
        const SCALAR* __restrict__ x, const unsigned char* __restrict__ packed, const SCALAR* __restrict__ scales, \
        SCALAR* __restrict__ y, long long m, long long n, long long row_bytes, long long log2_half) {            \
        multiply_undivided<ROWS / (16 * OWNERS), COLUMNS / 8>(                                                    \
            x, packed, scales, y, m, n, static_cast<int>(row_bytes), static_cast<int>(log2_half));                \
    }
