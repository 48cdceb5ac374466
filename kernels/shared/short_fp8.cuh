// Products of FP8 (E4M3) matrices with short sums whose rows begin anywhere: all of k lies in shared memory at once.
//
// Formula: that of loose_fp8.cuh, of up to 128 terms: a block of k alone has scales.
// Mapping: a block has ROWS x COLUMNS tiles of C, one below the other: gridDim.x blocks share the rows, gridDim.y the
//   columns. A thread brings 16 elements out of the two words of 16 bytes that they lie in, shifts them, and puts the float16
//   that they are where ldmatrix wants them; those of the next tile are on their way while a tile is stored. For the rest
//   see loose_tiles.cuh.
// Idea: short_sums.cuh. In loose_fp8.cuh every warp makes float16 of what it reads, here it is made once; and without a ring
//   more blocks share a multiprocessor, of which some store while others read.
#pragma once

#include "shared/loose_fp8_products.cuh"
#include "shared/loose_tiles.cuh"
#include "shared/overlap.cuh"
#include "shared/word_ends.cuh"

// The lowest `count` bits, of 0 to any number.
__device__ __forceinline__ unsigned low_bits(int count) {
    unsigned bits;
    asm("bmsk.clamp.b32 %0, 0, %1;" : "=r"(bits) : "r"(max(count, 0)));
    return bits;
}

// Up to 16 bytes on their way from memory.
struct IncomingBytes {
    uint4 low, high;

    // INSIDE: the words that they lie in are of the matrix's memory as a whole.
    template <bool INSIDE>
    __device__ __forceinline__ void load(const unsigned char* from, int bytes, const unsigned char* end) {
        const unsigned past = bytes_past(from);
        const unsigned char* const word = from - past;
        load_if(low, word, INSIDE || (bytes > 0 && word + 16 <= end));
        load_if(high, word + 16, INSIDE || (static_cast<int>(past) + bytes > 16 && word + 32 <= end));
    }
    // As float16; all arguments as they were loaded.
    template <bool INSIDE>
    __device__ __forceinline__ void put(
        unsigned char* to, const unsigned char* from, int bytes, const unsigned char* end
    ) const {
        const unsigned past = bytes_past(from);
        unsigned words[4];
        bytes_amid(low, high, past, words);
        // Some are in the matrix's last word, which is not there as a whole. One at a time: many would take registers.
        if (!INSIDE && bytes > 0 && from - past + (static_cast<int>(past) + bytes > 16 ? 32 : 16) > end) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                words[i] = 0;
#pragma unroll 1
                for (int j = 0; j < 4; ++j) {
                    if (i * 4 + j < bytes) words[i] |= static_cast<unsigned>(from[i * 4 + j]) << j * 8;
                }
            }
        }
        // Neighbours begin with different halves of their 32 bytes, which lie in different banks.
        const int turned = threadIdx.x % 2;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const bool is_upper = turned != half;
            unsigned halves[4];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const unsigned word =
                    (is_upper ? words[i + 2] : words[i]) & low_bits((bytes - is_upper * 8 - i * 4) * 8);
                halves[i * 2] = to_halves(word & 0xffff), halves[i * 2 + 1] = to_halves(word >> 16);
            }
            *reinterpret_cast<uint4*>(to + is_upper * 16) = make_uint4(halves[0], halves[1], halves[2], halves[3]);
        }
    }

private:
    static __device__ __forceinline__ void load_if(uint4& word, const unsigned char* at, bool is_there) {
        asm volatile("{\n.reg .pred there;\nsetp.ne.u32 there, %5, 0;\n"
                     "mov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\n"
                     "@there ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];\n}"
                     : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                     : "l"(at), "r"(static_cast<unsigned>(is_there)));
    }
};

// MOST rows of A or B, each APART rows behind the one before, and their items, 16 elements of a row each, of which a thread
// has two on their way. In shared memory PAD bytes lie between 8 rows and the next.
template <int MOST, int THREADS, int APART = 1, int PAD = 0>
struct ShortRows {
    const unsigned char *first, *end;  // where the first row begins, and the matrix ends
    int k, rows, units, pitch;         // rows that are there; of a row its items, and bytes in shared memory
    unsigned each;                     // to divide by `units`, exactly below 2^16

    __device__ __forceinline__ ShortRows(const unsigned char* matrix, long long all, long long row0, int k, int units)
        : first(matrix + row0 * k), end(matrix + all * k), k(k), units(units), pitch(units * 32 + 16),
          each(~0u / units + 1) {
        rows = static_cast<int>(min((all - row0 + APART - 1) / APART, static_cast<long long>(MOST)));
    }
    __device__ __forceinline__ void bring(unsigned char* to) const {
        // With all that an item reads beyond its row.
        if (first + MOST * APART * k + 48 <= end) bring_items<true>(to);
        else bring_items<false>(to);
    }

private:
    template <bool INSIDE>
    __device__ __forceinline__ void bring_items(unsigned char* to) const {
        const int count = MOST * units;
        for (int item = THREADS == WARP ? threadIdx.x % WARP : threadIdx.x; item < count; item += 2 * THREADS) {
            IncomingBytes incoming[2];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                if (i == 0 || item + THREADS < count) {
                    const int row = row_of(item + i * THREADS), unit = item + i * THREADS - row * units;
                    incoming[i].template load<INSIDE>(from(row, unit), bytes_of<INSIDE>(row, unit), end);
                }
            }
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                if (i == 0 || item + THREADS < count) {
                    const int row = row_of(item + i * THREADS), unit = item + i * THREADS - row * units;
                    unsigned char* const here = to + row * pitch + row / 8 * PAD + unit * 32;
                    incoming[i].template put<INSIDE>(here, from(row, unit), bytes_of<INSIDE>(row, unit), end);
                }
            }
        }
    }
    __device__ __forceinline__ int row_of(int item) const { return __umulhi(item, each); }
    __device__ __forceinline__ const unsigned char* from(int row, int unit) const {
        return first + row * APART * k + unit * 16;
    }
    template <bool INSIDE>
    __device__ __forceinline__ int bytes_of(int row, int unit) const {
        return INSIDE || row < rows ? min(k - unit * 16, 16) : 0;
    }
};

// Stores a tile of several beside each other by way of ROWS x PITCH_C elements of shared memory: two chunks of a row there make
// a word of 16 bytes as it lies in C.
template <class Tile, int ROWS, int COLUMNS>
__device__ __forceinline__ void store_by_words(
    const Tile& tile, const typename Tile::Sums& sum, unsigned char* shared, SCALAR* c
) {
    constexpr int PITCH = Tile::PITCH_C * 2, CHUNKS = COLUMNS / 8;
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int i = 0; i < Tile::WARP_ROWS / 16; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::WARP_COLUMNS / 16; ++j) {
            unsigned pairs[4];
#pragma unroll
            for (int of = 0; of < 4; ++of) {
                const float* const two = &sum[i][j * 2 + of / 2][of % 2 * 2];
                from_floats(two[0], two[1], reinterpret_cast<SCALAR*>(&pairs[of]));
            }
            const int row = Tile::warp_row() + i * 16 + lane % 16, chunk = Tile::warp_column() / 8 + j * 2 + lane / 16;
            store_matrices(shared + row * PITCH + chunk * 16, pairs);
        }
    }
    __syncthreads();
    const int chunk = threadIdx.x % CHUNKS;
    SCALAR* const first_c = c + tile.row0 * tile.n + tile.column0;
#pragma unroll 4
    for (int row = threadIdx.x / CHUNKS; row < tile.rows; row += Tile::THREADS / CHUNKS) {
        SCALAR* const to = first_c + row * tile.n;
        const int before = -static_cast<int>(reinterpret_cast<unsigned long long>(to) / sizeof(SCALAR)) & 7;
        const int at = chunk * 8 + before;  // of the first whole word from this chunk on
        const auto* const from = reinterpret_cast<const uint4*>(shared + row * PITCH + chunk * 16);
        const uint4 low = from[0], high = from[1];
        unsigned words[4];
        bytes_amid(low, high, before * 2, words);
        if (at + 8 <= tile.columns) {
            // The tile on the left has this one too where a word begins with this tile.
            if (chunk > 0 || before > 0 || tile.is_left || tile.n % 8 == 0)
                *reinterpret_cast<uint4*>(to + at) = make_uint4(words[0], words[1], words[2], words[3]);
        } else if (tile.is_right && at < tile.columns) {
            store_within_word(to + at, words, tile.columns - at);
        }
        if (tile.is_left && chunk == 0 && before > 0) store_before_word(to, low, before);
    }
}

constexpr int SHORT_BLOCK = 128;  // of k and n, with one scale

template <int ROWS, int COLUMNS, int WARPS_BELOW, int WARPS_BESIDE, bool SCALED, class MakeFinish>
__device__ __forceinline__ void multiply_short_fp8(
    const unsigned char* __restrict__ a, const unsigned char* __restrict__ b, SCALAR* __restrict__ c,
    const float* __restrict__ scale_a, const float* __restrict__ scale_b, long long m, long long n, int k,
    const MakeFinish& make_finish
) {
    using Tile = LooseTile<ROWS, COLUMNS, WARPS_BELOW, WARPS_BESIDE>;
    constexpr int THREADS = Tile::THREADS;
    extern __shared__ __align__(16) unsigned char of_b[];
    const int units = max((k + 15) / 16, 2), pitch = units * 32 + 16;  // bytes: 8 rows fall in different banks
    unsigned char* const of_a = of_b + COLUMNS * pitch;                // and C's when A is not needed any more
    const int tiles = static_cast<int>((m + ROWS - 1) / ROWS);
    const int lane = threadIdx.x % WARP;
    wait_for_previous();
    let_next_start();
    const auto finish = make_finish();

    const long long column0 = Tile(m, n, blockIdx.x, blockIdx.y, gridDim.y).column0;
    ShortRows<COLUMNS, THREADS>(b, n, column0, k, units).bring(of_b);
    // Tiles overlap, so the columns of a warp may be of two blocks of B.
    const int column = static_cast<int>(column0) + Tile::warp_column(),
              last_block = static_cast<int>(n - 1) / SHORT_BLOCK;
    const int until = SHORT_BLOCK - column % SHORT_BLOCK;  // of the warp's columns, the first of the second
    float of_block[2] = {1.0f, 1.0f};
    if constexpr (SCALED) {
#pragma unroll
        for (int i = 0; i < 2; ++i) of_block[i] = __ldg(scale_b + min(column / SHORT_BLOCK + i, last_block));
    }

    for (int number = blockIdx.x;; number += gridDim.x) {
        const Tile tile(m, n, number, blockIdx.y, gridDim.y);
        ShortRows<ROWS, THREADS>(a, m, tile.row0, k, units).bring(of_a);
        __syncthreads();
        float of_row[Tile::WARP_ROWS / 8];
        if constexpr (SCALED) {
#pragma unroll
            for (int i = 0; i < Tile::WARP_ROWS / 8; ++i)
                of_row[i] = __ldg(scale_a + min(tile.row0 + Tile::warp_row() + i * 8 + lane / 4, m - 1));
        }
        typename Tile::Sums sum = {};
        for (int slice = 0; slice < (k + 15) / 16; ++slice) {
            unsigned slice_b[Tile::WARP_COLUMNS / 16][4];
#pragma unroll
            for (int j = 0; j < Tile::WARP_COLUMNS / 16; ++j) {
                const int row = Tile::warp_column() + j * 16 + lane / 16 * 8 + lane % 8;
                load_matrices(slice_b[j], of_b + row * pitch + slice * 32 + lane / 8 % 2 * 16);
            }
#pragma unroll
            for (int i = 0; i < Tile::WARP_ROWS / 16; ++i) {
                unsigned slice_a[4];
                const int row = Tile::warp_row() + i * 16 + lane % 16;
                load_matrices(slice_a, of_a + row * pitch + slice * 32 + lane / 16 * 16);
#pragma unroll
                for (int j = 0; j < Tile::WARP_COLUMNS / 8; ++j) {
                    const unsigned two[2] = {slice_b[j / 2][j % 2 * 2], slice_b[j / 2][j % 2 * 2 + 1]};
                    multiply_halves(sum[i][j], slice_a, two);
                }
            }
        }
#pragma unroll
        for (int j = 0; j < Tile::WARP_COLUMNS / 8; ++j) {
            const float of_column = j * 8 < until ? of_block[0] : of_block[1];
#pragma unroll
            for (int i = 0; i < Tile::WARP_ROWS / 4; ++i) {
                float& of_sum = sum[i / 4][j][i % 4];
                of_sum = finish(SCALED ? of_sum * (of_row[i / 2] * of_column) : of_sum);
            }
        }
        __syncthreads();
        if (gridDim.y > 1) store_by_words<Tile, ROWS, COLUMNS>(tile, sum, of_a, c);
        else tile.store(sum, of_a, c, [](float2 two, int) { return two; });
        if (number + static_cast<int>(gridDim.x) >= tiles) return;
        __syncthreads();
    }
}

#define SHORT_FP8_KERNEL(NAME, ROWS, COLUMNS, BELOW, BESIDE, BLOCKS)                                              \
    extern "C" __global__ void __launch_bounds__(BELOW * BESIDE * WARP, BLOCKS)                                   \
        NAME(const unsigned char* __restrict__ a, const unsigned char* __restrict__ b, SCALAR* __restrict__ c,    \
             const float* __restrict__ scale_a, const float* __restrict__ scale_b, long long m, long long n,      \
             long long k) {                                                                                       \
        multiply_short_fp8<ROWS, COLUMNS, BELOW, BESIDE, LOOSE_SCALED>(                                           \
            a, b, c, scale_a, scale_b, m, n, static_cast<int>(k), [&] { return LooseFinish{scale_a, scale_b}; }   \
        );                                                                                                        \
    }
// As in loose_fp8.py.
#define SHORT_FP8_KERNELS                            \
    SHORT_FP8_KERNEL(short_64x64, 64, 64, 2, 4, 4)   \
    SHORT_FP8_KERNEL(short_64x128, 64, 128, 2, 4, 3) \
    SHORT_FP8_KERNEL(short_64x256, 64, 256, 2, 4, 2)
