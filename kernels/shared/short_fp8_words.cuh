// Products of FP8 (E4M3) matrices with short sums and much of C, whose rows begin anywhere: words of C out of registers.
//
// Formula: that of short_fp8.cuh.
// Mapping: what a warp stores of a row are whole sectors of 32 bytes, wherever the row begins. Of rows 16 apart these are the
//   same columns: a warp takes 16 such rows and 256 columns, 64 at a time. Rows of B are what mma.sync has as its A, so that a
//   thread's sums are of few rows of C; and it takes them in such an order that of a row these are 8 neighbours, a word of 16
//   bytes. The 8 lanes of a row store 128 bytes of it. A block's tiles follow each other down the columns of C, whose rows of B
//   it keeps; each warp brings its rows of A itself, and waits for no other.
// Idea: short_fp8.cuh's tiles go by way of shared memory, where each thread shifts each word, between two meetings of the block,
//   and so wait for neither memory nor the tensor cores.
#pragma once

#include "shared/short_fp8.cuh"

constexpr int SECTOR = 32 / sizeof(SCALAR), WORD = 16 / sizeof(SCALAR);  // elements of C
constexpr int WORDS_COLUMNS = 256, WORDS_UNIT = 64;                      // of C, of a warp: all, and at once
constexpr int WORDS_HELD = WORDS_COLUMNS + SECTOR;                       // rows of B that a block has
constexpr int WORDS_WARPS = 8;
constexpr int WORDS_PAD = 16;  // bytes from 8 rows of B to the next: rows 8 apart fall in different banks

// What a thread stores of a row, from column `begin` of n on.
__device__ __forceinline__ void store_word(SCALAR* to, const unsigned (&words)[4], int begin, int n) {
    if (begin >= 0 && begin + WORD <= n) {
        *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
        return;
    }
    auto* const out = reinterpret_cast<unsigned short*>(to);
#pragma unroll
    for (int i = 0; i < WORD; ++i) {
        if (begin + i >= 0 && begin + i < n) out[i] = static_cast<unsigned short>(words[i / 2] >> i % 2 * 16);
    }
}

template <bool SCALED, class MakeFinish>
__device__ __forceinline__ void multiply_short_fp8_by_words(
    const unsigned char* __restrict__ a, const unsigned char* __restrict__ b, SCALAR* __restrict__ c,
    const float* __restrict__ scale_a, const float* __restrict__ scale_b, long long m, int n, int k,
    const MakeFinish& make_finish
) {
    constexpr int THREADS = WORDS_WARPS * WARP;
    extern __shared__ __align__(16) unsigned char of_b[];
    const int units = max((k + 15) / 16, 2), pitch = units * 32 + 16;  // bytes: 8 rows fall in different banks
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    unsigned char* const of_a = of_b + WORDS_HELD * pitch + WORDS_HELD / 8 * WORDS_PAD + warp * (16 * pitch);
    // C begins with a sector. Of 16 rows that begin in each place of one, two tiles have 8 each.
    const unsigned below = static_cast<unsigned>((m + 16 * SECTOR - 1) / (16 * SECTOR)) * (SECTOR / WORDS_WARPS);
    const unsigned beside = (n + (n % SECTOR ? SECTOR - 1 : 0) + WORDS_COLUMNS - 1) / WORDS_COLUMNS;
    const long long tiles = static_cast<long long>(below) * beside;
    const auto share = [&](unsigned block) { return static_cast<unsigned>(tiles * block / gridDim.x); };
    const unsigned last = share(blockIdx.x + 1);
    wait_for_previous();
    let_next_start();
    const auto finish = make_finish();

    unsigned held = ~0u;
    for (unsigned tile = share(blockIdx.x); tile < last; ++tile) {
        const unsigned of_column = tile / below, of_row = tile % below;
        if (of_column != held) {
            // From a sector before the tile's first column on. Where there is none before, as many too many fall on A's rows,
            // which come later.
            const int skipped = of_column == 0 ? SECTOR : 0;
            const long long column0 = static_cast<long long>(of_column) * WORDS_COLUMNS - SECTOR + skipped;
            __syncthreads();
            ShortRows<WORDS_HELD, THREADS, 1, WORDS_PAD>(b, n, column0, k, units)
                .bring(of_b + skipped * pitch + skipped / 8 * WORDS_PAD);
            __syncthreads();
            held = of_column;
        }
        const int place = of_row % (SECTOR / WORDS_WARPS) * WORDS_WARPS + warp;
        const long long row0 = static_cast<long long>(of_row / (SECTOR / WORDS_WARPS)) * (16 * SECTOR) + place;
        if (row0 >= m) continue;
        const int rows = static_cast<int>(min((m - row0 + SECTOR - 1) / SECTOR, 16ll));
        __syncwarp();
        ShortRows<16, WARP, SECTOR>(a, m, row0, k, units).bring(of_a);
        __syncwarp();

        const int past = place * (n % SECTOR) % SECTOR;  // elements, by which these rows begin behind a sector
        const int own_row = lane % 4 * 2;                // and the next, and those 8 on
        float of_rows[2][2];
        if constexpr (SCALED) {
#pragma unroll
            for (int i = 0; i < 4; ++i)
                of_rows[i / 2][i % 2] = __ldg(scale_a + min(row0 + (i / 2 * 8 + own_row + i % 2) * SECTOR, m - 1));
        }
        const unsigned char* const from_a = of_a + (lane / 16 * 8 + lane % 8) * pitch + lane / 8 % 2 * 16;
        const unsigned char* from_b[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int behind = SECTOR - past + i * 2 + lane / 8 % 2;
            from_b[i] = of_b + (lane % 8 * 8 + behind) * pitch + (lane % 8 + behind / 8) * WORDS_PAD + lane / 16 * 16;
        }
        int column = static_cast<int>(of_column) * WORDS_COLUMNS - past;
        const int end = min(column + WORDS_COLUMNS, n);
        const long long apart = static_cast<long long>(n) * SECTOR;
        SCALAR* to = c + row0 * n + own_row * apart + column + lane / 4 * WORD;
#pragma unroll 1
        for (; column < end; column += WORDS_UNIT, to += WORDS_UNIT) {
            const int begin = column + lane / 4 * WORD;  // the thread's first
            float of_block = 1.0f, of_next = 1.0f;
            int until = 0;  // of the thread's columns, the first of the next block of B
            if constexpr (SCALED) {
                const int block = min(max(begin, 0), n - 1) / SHORT_BLOCK;
                of_block = __ldg(scale_b + block);
                of_next = __ldg(scale_b + min(block + 1, (n - 1) / SHORT_BLOCK));
                until = (block + 1) * SHORT_BLOCK - begin;
            }
            float sum[2][4][4] = {};
#pragma unroll 1
            for (int slice = 0; slice < (k + 15) / 16; ++slice) {
                unsigned rows_of_c[4];
                load_matrices(rows_of_c, from_a + slice * 32);
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    unsigned columns_of_c[4];
                    load_matrices(columns_of_c, from_b[i] + slice * 32);
#pragma unroll
                    for (int j = 0; j < 2; ++j) {
                        const unsigned eight_rows[2] = {rows_of_c[j * 2], rows_of_c[j * 2 + 1]};
                        multiply_halves(sum[j][i], columns_of_c, eight_rows);
                    }
                }
            }
#pragma unroll
            for (int j = 0; j < 2; ++j) {
#pragma unroll
                for (int of = 0; of < 2; ++of) {
                    unsigned words[4];
#pragma unroll
                    for (int i = 0; i < 4; ++i) {
                        float two[2];
#pragma unroll
                        for (int l = 0; l < 2; ++l) {
                            const float one = sum[j][i][l * 2 + of];
                            const float of_columns = i * 2 + l < until ? of_block : of_next;
                            two[l] = finish(SCALED ? one * (of_rows[j][of] * of_columns) : one);
                        }
                        from_floats(two[0], two[1], reinterpret_cast<SCALAR*>(&words[i]));
                    }
                    if (j * 8 + own_row + of < rows) store_word(to + (j * 8 + of) * apart, words, begin, n);
                }
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) from_b[i] += WORDS_UNIT * pitch + WORDS_UNIT / 8 * WORDS_PAD;
        }
    }
}

// As in loose_fp8.py.
#define SHORT_FP8_WORDS_KERNEL                                                                                    \
    extern "C" __global__ void __launch_bounds__(WORDS_WARPS * WARP, 3)                                           \
        short_words(const unsigned char* __restrict__ a, const unsigned char* __restrict__ b,                     \
                    SCALAR* __restrict__ c, const float* __restrict__ scale_a,                                    \
                    const float* __restrict__ scale_b, long long m, long long n, long long k) {                   \
        multiply_short_fp8_by_words<LOOSE_SCALED>(                                                                \
            a, b, c, scale_a, scale_b, m, static_cast<int>(n), static_cast<int>(k),                               \
            [&] { return LooseFinish{scale_a, scale_b}; }                                                         \
        );                                                                                                        \
    }
