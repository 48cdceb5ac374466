// C = finish(A B) of short sums, in 16 bits, from rows that begin anywhere: all of k lies in shared memory at once.
//
// Formula: C[i, j] = finish(sum over l of A[i, l] B[l, j]); (m k + k n + m n) 2 bytes, of which most are C's.
// Mapping: a block has ROWS x COLUMNS tiles of C, one below the other: gridDim.x blocks share the rows, gridDim.y the
//   columns. Threads bring 8 elements after 8, out of the two words of 16 bytes that they lie in, and shift them to where
//   ldmatrix wants them; zeros fill up k. For the rest see loose_tiles.cuh.
// Idea: wgmma needs TMA, TMA rows of whole 16 bytes, and a kernel in front that makes them takes longer than these
//   products; their time is that of a launch, or of the stores of C.
#pragma once

#include "shared/loose_tiles.cuh"
#include "shared/overlap.cuh"

constexpr int LOADS = 4;  // of a thread, of twice 16 bytes, under way at once

// Up to 8 elements on their way from memory.
struct Incoming {
    uint4 low, high;
    unsigned past;
    bool lacks;  // some, which are in the matrix's last word, that is not there as a whole

    // The first `count` from there on; of the words only those that end no later than `end`, where the matrix does.
    __device__ __forceinline__ void load(const Element* from, int count, const Element* end) {
        const auto address = reinterpret_cast<unsigned long long>(from),
                   last = reinterpret_cast<unsigned long long>(end);
        past = address % 16;
        const unsigned long long word = address - past;
        const bool needs_high = static_cast<int>(past) + count * 2 > 16;
        load_if(low, word, count > 0 && word + 16 <= last);
        load_if(high, word + 16, needs_high && word + 32 <= last);
        lacks = count > 0 && word + (needs_high ? 32 : 16) > last;
    }

private:
    static __device__ __forceinline__ void load_if(uint4& word, unsigned long long at, bool is_there) {
        asm volatile("{\n.reg .pred there;\nsetp.ne.u32 there, %5, 0;\n"
                     "mov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\n"
                     "@there ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];\n}"
                     : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                     : "l"(at), "r"(static_cast<unsigned>(is_there)));
    }
};

template <int ROWS, int COLUMNS, int WARPS_BELOW, int WARPS_BESIDE, class MakeFinish>
__device__ __forceinline__ void multiply_short_sums(
    const Element* __restrict__ a, const Element* __restrict__ b, SCALAR* __restrict__ c, long long m, long long n,
    int k, const MakeFinish& make_finish
) {
    using Tile = LooseTile<ROWS, COLUMNS, WARPS_BELOW, WARPS_BESIDE>;
    constexpr int THREADS = Tile::THREADS, WORDS = Tile::WORDS, PITCH_B = Tile::PITCH_B;
    extern __shared__ __align__(16) unsigned char of_b[];
    const int units = (k + 15) / 16 * 2;                     // of 8 elements along k
    const int pitch_a = (units + 1) * 16;                    // bytes: 8 rows fall in different banks
    unsigned char* const of_a = of_b + units * 8 * PITCH_B;  // and C's when A is not needed any more
    const long long tiles = (m + ROWS - 1) / ROWS;
    const Element* const end_a = a + m * k;
    const Element* const end_b = b + static_cast<long long>(k) * n;
    const unsigned each = ~0u / units + 1;  // to divide by `units`, exactly below 2^16
    const auto finish = make_finish();
    if (threadIdx.x <= COLUMNS / 64) {
        const unsigned column0 = blockIdx.y * (COLUMNS - (n % 8 ? 8 : 0));
        ask_for_columns(finish, static_cast<int>(column0 + threadIdx.x * 64));
    }
    wait_for_previous();
    let_next_start();

    int items_b = units * 8 * WORDS;  // with the first tile only
    for (long long number = blockIdx.x; number < tiles; number += gridDim.x) {
        const Tile tile(m, n, number, blockIdx.y, gridDim.y);
        const Element* const first_a = a + tile.row0 * k;
        const int items_a = ROWS * units, items = items_a + items_b;
        // Of an item where its elements begin, how many there are, where the matrix ends and where they go.
        const auto place_of = [&](int item, const Element*& from, int& count, const Element*& end) {
            if (item < items_a) {
                const int row = __umulhi(item, each), unit = item - row * units;
                from = first_a + row * k + unit * 8;
                count = row < tile.rows ? min(k - unit * 8, 8) : 0;
                end = end_a;
                return static_cast<int>(of_a - of_b) + row * pitch_a + unit * 16;
            }
            const int row = (item - items_a) / WORDS, unit = (item - items_a) % WORDS;
            from = b + static_cast<long long>(row) * n + tile.column0 + unit * 8;
            count = row < k ? min(tile.columns - unit * 8, 8) : 0;
            end = end_b;
            return row * PITCH_B + unit * 16;
        };
        for (int first = threadIdx.x; first < items; first += LOADS * THREADS) {
            Incoming incoming[LOADS];
            int count[LOADS], to[LOADS];
#pragma unroll
            for (int i = 0; i < LOADS; ++i) {
                const Element *from, *end;
                to[i] = place_of(first + i * THREADS, from, count[i], end);
                if (first + i * THREADS >= items) count[i] = 0;
                incoming[i].load(from, count[i], end);
            }
#pragma unroll
            for (int i = 0; i < LOADS; ++i) {
                unsigned words[4], mask[4];
                bytes_amid(incoming[i].low, incoming[i].high, incoming[i].past, words);
                if (incoming[i].lacks) {
                    const Element *from, *end;
                    int all;
                    place_of(first + i * THREADS, from, all, end);
                    load_last(words, from, all, end);
                }
                bits_of(mask, count[i]);
#pragma unroll
                for (int j = 0; j < 4; ++j) words[j] &= mask[j];
                if (first + i * THREADS < items)
                    *reinterpret_cast<uint4*>(of_b + to[i]) = make_uint4(words[0], words[1], words[2], words[3]);
            }
        }
        items_b = 0;
        __syncthreads();
        typename Tile::Sums sum = {};
        const auto& of_columns = tile.of_columns(finish);
        Tile::multiply(sum, of_a, pitch_a, of_b, units / 2);
        __syncthreads();
        tile.store(sum, of_a, c, of_columns);
        if (number + gridDim.x < tiles) __syncthreads();
    }
}

#define SHORT_SUMS_KERNEL(NAME, ROWS, COLUMNS, BELOW, BESIDE, BLOCKS, FINISH, ...)                                \
    extern "C" __global__ void __launch_bounds__(BELOW * BESIDE * WARP, BLOCKS) NAME(                             \
        const Element* a, const Element* b, SCALAR* c, long long m, long long n, long long k, ##__VA_ARGS__       \
    ) {                                                                                                           \
        multiply_short_sums<ROWS, COLUMNS, BELOW, BESIDE>(                                                        \
            a, b, c, m, n, static_cast<int>(k), [&] { return FINISH; }                                            \
        );                                                                                                        \
    }
#define SHORT_SUMS_KERNELS(...)                                           \
    SHORT_SUMS_KERNEL(short_sums_32x64, 32, 64, 2, 2, 6, __VA_ARGS__)     \
    SHORT_SUMS_KERNEL(short_sums_32x64_wide, 32, 64, 2, 4, 3, __VA_ARGS__) \
    SHORT_SUMS_KERNEL(short_sums_64x32, 64, 32, 4, 1, 6, __VA_ARGS__)     \
    SHORT_SUMS_KERNEL(short_sums_64x64, 64, 64, 2, 2, 6, __VA_ARGS__)     \
    SHORT_SUMS_KERNEL(short_sums_64x64_wide, 64, 64, 2, 4, 3, __VA_ARGS__) \
    SHORT_SUMS_KERNEL(short_sums_64x128, 64, 128, 2, 4, 3, __VA_ARGS__)   \
    SHORT_SUMS_KERNEL(short_sums_64x256, 64, 256, 2, 4, 2, __VA_ARGS__)   \
    SHORT_SUMS_KERNEL(short_sums_128x128, 128, 128, 2, 4, 2, __VA_ARGS__)
