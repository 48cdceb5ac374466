// Rows times 4-bit weights on the tensor cores, fed by a ring of asynchronous copies for each warp.
//
// Where there are clusters, the blocks of one share a tile, each over a part of k: few columns of y are few tiles, and a
// long k leaves each of few warps many steps, each of which waits for its copies.
#pragma once

#include "matmul_w4a16/fragments.cuh"
#include "shared/cluster_sums.cuh"

constexpr int MOST_BLOCKS = 16;  // of a cluster, the last of CLUSTERS in stages.py

// Copies 16 bytes, or zeros where they are not inside; through L1 what other warps will read too.
template <bool THROUGH_L1>
__device__ __forceinline__ void copy_chunk(uint4* to, const void* from, bool inside) {
    const unsigned address = shared_address(to);
    const int bytes = inside ? 16 : 0;
    if (THROUGH_L1) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
    } else {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
    }
}

// WHOLE: a step lies in one group, and a sum is scaled once a step. Else every weight is, and rounded to 16 bits.
template <int TILES, int BATCHES, int WARPS, int DEPTH, bool WHOLE>
__device__ __forceinline__ void multiply_in_stages(
    const SCALAR* __restrict__ x, const unsigned char* __restrict__ packed, const SCALAR* __restrict__ scales,
    SCALAR* __restrict__ y, long long m, long long n, int row_bytes, int log2_half
) {
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int line = lane / 4, offset = lane % 4 * 16;  // a row of each operand, and the packed bytes in a step
#if __CUDA_ARCH__ >= 900
    const int blocks = blocks_of_cluster(), rank = static_cast<int>(rank_in_cluster());
#else
    constexpr int blocks = 1, rank = 0;
#endif
    const int batches = static_cast<int>((m + 8 * BATCHES - 1) / (8 * BATCHES));
    const long long tile = blockIdx.x / blocks;
    const long long first_row = tile / batches * (16 * TILES), first_x = tile % batches * (8 * BATCHES);

    // Steps of this warp: from `step` to `end`.
    const int steps = (row_bytes + STEP - 1) / STEP, share = (steps + WARPS * blocks - 1) / (WARPS * blocks);
    int step = (rank * WARPS + warp) * share;
    const int end = min(step + share, steps);
    // The last step of a row may lie beyond it for some lanes; a WHOLE one does not.
    const auto is_inside = [&](int at) { return WHOLE || at < row_bytes; };

    // Rows past the last one read the last one, and rows of x past the last one what its lanes have copied: their
    // sums are not stored.
    const unsigned char* rows[TILES][2];
    const SCALAR* row_scales[TILES][2];
    const SCALAR* columns[BATCHES];
    int x_lane[BATCHES];
#pragma unroll
    for (int i = 0; i < TILES * 2; ++i) {
        const long long row = min(first_row + i * 8 + line, n - 1);
        rows[i / 2][i % 2] = packed + row * row_bytes + step * STEP + offset;
        row_scales[i / 2][i % 2] = scales + row * (row_bytes >> log2_half);
        keep(rows[i / 2][i % 2]);
        keep(row_scales[i / 2][i % 2]);
    }
#pragma unroll
    for (int i = 0; i < BATCHES; ++i) {
        const int last = static_cast<int>(min(m - 1 - first_x - i * 8, 7LL));
        x_lane[i] = min(line, max(last, 0)) * 4 + lane % 4;
        columns[i] = x + (first_x + i * 8 + line) * row_bytes * 2;
        keep(columns[i]);
    }
    // The compiler must not know that this is a constant, or it would move it to a register at every use.
    const unsigned exponent = EXPONENT + (row_bytes >> 31);

    // A chunk of 16 bytes for each lane: two of every tile of weights, then four of every batch of x.
    constexpr int CHUNKS = TILES * 2 + BATCHES * 4;
    extern __shared__ uint4 chunks[];
    uint4(*const ring)[CHUNKS][WARP] = reinterpret_cast<uint4(*)[CHUNKS][WARP]>(chunks) + warp * DEPTH;
    SCALAR factors[DEPTH][TILES][2];

    const auto copy_step = [&](int stage, int at) {
        uint4(&to)[CHUNKS][WARP] = ring[stage];
        const bool inside = is_inside(at);
#pragma unroll
        for (int i = 0; i < TILES * 2; ++i) {
            copy_chunk<false>(&to[i][lane], rows[i / 2][i % 2], inside);
            rows[i / 2][i % 2] += STEP;
            factors[stage][i / 2][i % 2] = inside ? __ldg(row_scales[i / 2][i % 2] + (at >> log2_half)) : SCALAR(0.0f);
        }
        const int column = at + (at >> log2_half << log2_half);
#pragma unroll
        for (int i = 0; i < BATCHES; ++i) {
            if (first_x + i * 8 + line >= m) continue;
#pragma unroll
            for (int j = 0; j < 4; ++j) {  // the second two belong to the high nibbles, half a group on
                const int element = column + (j / 2 << log2_half) + j % 2 * 8;
                copy_chunk<true>(&to[TILES * 2 + i * 4 + j][lane], columns[i] + element, inside);
            }
        }
    };

    float sum[TILES][BATCHES][4] = {};
    const auto multiply_step = [&](int stage) {
        const uint4(&from)[CHUNKS][WARP] = ring[stage];
        uint4 words[TILES][2];
#pragma unroll
        for (int i = 0; i < TILES * 2; ++i) words[i / 2][i % 2] = from[i][lane];
        float part[TILES][BATCHES][4] = {};
        auto& to = WHOLE ? part : sum;
#pragma unroll
        for (int j = 0; j < 4; ++j) {  // chunks of x, of two words of weights each
            uint4 b[BATCHES];
#pragma unroll
            for (int i = 0; i < BATCHES; ++i) b[i] = from[TILES * 2 + i * 4 + j][x_lane[i]];
#pragma unroll
            for (int t = 0; t < TILES; ++t) {
#pragma unroll
                for (int w = 0; w < 2; ++w) {
                    Pair a[4];
#pragma unroll
                    for (int h = 0; h < 2; ++h) {
                        const unsigned codes = word_of(words[t][h], j % 2 * 2 + w) >> j / 2 * 4 & 0x0f0f0f0fu;
                        a[h] = weights_of<0>(codes, exponent);
                        a[h + 2] = weights_of<2>(codes, exponent);
                        if (WHOLE) continue;
                        a[h] = __hmul2(a[h], both(to_float(factors[stage][t][h])));
                        a[h + 2] = __hmul2(a[h + 2], both(to_float(factors[stage][t][h])));
                    }
#pragma unroll
                    for (int i = 0; i < BATCHES; ++i) {
                        multiply_add(to[t][i], a, word_of(b[i], w * 2), word_of(b[i], w * 2 + 1));
                    }
                }
            }
        }
        if (!WHOLE) return;
#pragma unroll
        for (int t = 0; t < TILES; ++t) {
#pragma unroll
            for (int i = 0; i < BATCHES * 4; ++i) {
                float& total = sum[t][i / 4][i % 4];
                total = fmaf(part[t][i / 4][i % 4], to_float(factors[stage][t][i % 4 / 2]), total);
            }
        }
    };

#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
        if (step + d < end) copy_step(d, (step + d) * STEP + offset);
        asm volatile("cp.async.commit_group;");
    }
    while (step < end) {
#pragma unroll
        for (int d = 0; d < DEPTH; ++d, ++step) {
            asm volatile("cp.async.wait_group %0;" ::"n"(DEPTH - 1) : "memory");
            __syncwarp();  // lanes read what others have copied of x
            if (step < end) multiply_step(d);
            __syncwarp();
            if (step + DEPTH < end) copy_step(d, (step + DEPTH) * STEP + offset);
            asm volatile("cp.async.commit_group;");
        }
    }

    // A lane holds columns 2 p and 2 p + 1, p = lane % 4, of rows `line` and `line` + 8 of each sum.
    constexpr int OF_TILE = BATCHES * 8 * 16;
    float (*const parts)[BATCHES * 8][16] = reinterpret_cast<float (*)[BATCHES * 8][16]>(chunks);
    float* const met = &parts[WARPS][0][0];  // the sums of this block, where it is not alone
    static_assert((WARPS + TILES) * OF_TILE * sizeof(float) <= WARPS * DEPTH * CHUNKS * WARP * sizeof(uint4));
    const auto store = [&](int t, int i, float total) {
        const long long row = first_row + t * 16 + i % 16, x_row = first_x + i / 16;
        if (row < n && x_row < m) from_float(total, y[x_row * n + row]);
    };
#pragma unroll
    for (int t = 0; t < TILES; ++t) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < BATCHES; ++i) {
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                parts[warp][i * 8 + lane % 4 * 2 + c % 2][line + c / 2 * 8] = sum[t][i][c];
            }
        }
        __syncthreads();
        for (int i = threadIdx.x; i < OF_TILE; i += WARPS * WARP) {
            float total = 0.0f;
#pragma unroll
            for (int w = 0; w < WARPS; ++w) total += parts[w][i / 16][i % 16];
            if (blocks == 1) {
                store(t, i, total);
            } else {
                met[t * OF_TILE + i] = total;
            }
        }
    }
#if __CUDA_ARCH__ >= 900
    if (blocks == 1) return;
    arrive_with_writes();
    wait_for_cluster();
    for (int i = rank * WARPS * WARP + threadIdx.x; i < TILES * OF_TILE; i += blocks * WARPS * WARP) {
        store(i / OF_TILE, i % OF_TILE, sum_over_cluster<MOST_BLOCKS>(met + i, blocks));
    }
    meet_cluster();  // nobody leaves before all have read
#endif
}

// Named by the rows of weights and of x in a block, BLOCKS of which share a multiprocessor; `_scaled` for groups of
// 32 and 64.
#define KERNEL(NAME, TILES, BATCHES, WARPS, DEPTH, BLOCKS, WHOLE)                                                \
    extern "C" __global__ void __launch_bounds__(WARPS * WARP, BLOCKS) NAME(                                     \
        const SCALAR* __restrict__ x, const unsigned char* __restrict__ packed, const SCALAR* __restrict__ scales, \
        SCALAR* __restrict__ y, long long m, long long n, long long row_bytes, long long log2_half) {            \
        multiply_in_stages<TILES, BATCHES, WARPS, DEPTH, WHOLE>(                                                  \
            x, packed, scales, y, m, n, static_cast<int>(row_bytes), static_cast<int>(log2_half));                \
    }
#define KERNELS(ROWS, COLUMNS, WARPS, DEPTH, BLOCKS)                                                     \
    KERNEL(multiply_##ROWS##x##COLUMNS, ROWS / 16, COLUMNS / 8, WARPS, DEPTH, BLOCKS, true)              \
    KERNEL(multiply_##ROWS##x##COLUMNS##_scaled, ROWS / 16, COLUMNS / 8, WARPS, DEPTH, BLOCKS, false)
