// C = finish(A B) of long sums and little of C, in 16 bits, from rows that begin anywhere.
//
// Formula: C[i, j] = finish(sum over l of A[i, l] B[l, j]); (m k + k n + m n) 2 bytes, of which most are A's or B's.
// Mapping: a block has a ROWS x COLUMNS tile of C, or of it a part of k: the blocks of a cluster share that. cp.async brings
//   the words of 16 bytes that LONG_STEP of k lie in, as they lie, into a ring; from there threads shift 8 elements after 8 to
//   where ldmatrix wants them. The sums of a cluster's blocks meet in their shared memory; of clusters that share a tile, in
//   memory. For the rest see loose_tiles.cuh.
// Idea: wgmma needs TMA, TMA rows of whole 16 bytes, and a kernel in front that makes them moves A and B three times.
#pragma once

#include "shared/hopper.cuh"
#include "shared/loose_tiles.cuh"
#include "shared/overlap.cuh"
#include "shared/tile_shares.cuh"

constexpr int LONG_STEP = 64;  // of k

// A word of 16 bytes to shared memory; of one that reaches over `end`, where the matrix does, the elements that are there.
__device__ __forceinline__ void copy_word(unsigned char* to, unsigned long long at, unsigned long long end) {
    if (at + 16 <= end) {
        copy_chunk(to, reinterpret_cast<const void*>(at), true);
    } else {
        for (int i = 0; at + i * sizeof(Element) < end; ++i)
            reinterpret_cast<Element*>(to)[i] = __ldg(reinterpret_cast<const Element*>(at) + i);
    }
}

// What several clusters leave that share a tile, each over a part of k: sums in memory, and flags that they are there.
struct Shares {
    float2* sums;
    Flag* flags;
    Flag ticket;
    int count;  // clusters of a tile
};

template <int ROWS, int COLUMNS, int WARPS_BELOW, int WARPS_BESIDE, int STAGES, class MakeFinish>
__device__ __forceinline__ void multiply_long_sums(
    const Element* __restrict__ a, const Element* __restrict__ b, SCALAR* __restrict__ c, long long m, long long n,
    long long k, const Shares& shares, const MakeFinish& make_finish
) {
    using Tile = LooseTile<ROWS, COLUMNS, WARPS_BELOW, WARPS_BESIDE>;
    constexpr int THREADS = Tile::THREADS, UNITS = LONG_STEP / 8;
    constexpr int PITCH_A = (UNITS + 1) * 16, PITCH_B = Tile::PITCH_B;  // of rows in words as they lie, too
    constexpr int BYTES_A = ROWS * PITCH_A, BYTES_B = LONG_STEP * PITCH_B, STAGE = BYTES_A + BYTES_B;
    constexpr int PITCH_SUMS = COLUMNS + 8;  // floats
    static_assert(ROWS * Tile::PITCH_C * 2 <= STAGE && ROWS * PITCH_SUMS * 4 <= STAGES * STAGE);
    extern __shared__ __align__(16) unsigned char of_a[];
    unsigned char* const of_b = of_a + BYTES_A;
    unsigned char* const ring = of_a + STAGE;
    const int lane = threadIdx.x % WARP;
    const int blocks = blocks_of_cluster();
    const int overlap = n % 8 ? 8 : 0;
    const unsigned across = n <= COLUMNS ? 1 : (n - overlap + COLUMNS - overlap - 1) / (COLUMNS - overlap);
    const unsigned tiles = static_cast<unsigned>((m + ROWS - 1) / ROWS) * across;
    const unsigned rank = rank_in_cluster(), cluster = blockIdx.x / blocks;
    const unsigned number = cluster % tiles, share = cluster / tiles;
    const Tile tile(m, n, number / across, number % across, across);
    const int steps = static_cast<int>((k + LONG_STEP - 1) / LONG_STEP), parts = blocks * shares.count;
    const int each = (steps + parts - 1) / parts;
    const int first = min(static_cast<int>(share * blocks + rank) * each, steps), last = min(steps, first + each);
    const auto address_of = [](const Element* at) { return reinterpret_cast<unsigned long long>(at); };
    const unsigned long long end_a = address_of(a + m * k), end_b = address_of(b + k * n);
    const Element* const first_a = a + tile.row0 * k + static_cast<long long>(first) * LONG_STEP;
    const Element* const first_b = b + static_cast<long long>(first) * LONG_STEP * n + tile.column0;

    // Where a thread's words lie in the first step, and how many bytes of each matter: rows begin alike in every step.
    constexpr int WORDS = (STAGE / 16 + THREADS - 1) / THREADS;
    unsigned long long at[WORDS], next[WORDS];
    int begin[WORDS];  // bytes of the row in front of the word; those of A matter as far as k goes
#pragma unroll
    for (int i = 0; i < WORDS; ++i) {
        const int item = i * THREADS + threadIdx.x;
        const bool is_a = item < BYTES_A / 16;
        const int pitch = is_a ? PITCH_A / 16 : PITCH_B / 16, in_stage = is_a ? item : item - BYTES_A / 16;
        const int row = in_stage / pitch, word = in_stage % pitch;
        const unsigned long long from = address_of(is_a ? first_a + row * k : first_b + row * n);
        const int past = static_cast<int>(from % 16);
        at[i] = from - past + word * 16, next[i] = (is_a ? 1 : n) * (LONG_STEP * sizeof(Element));
        begin[i] = word * 16 - past;
        const bool is_there = is_a ? row < tile.rows : begin[i] < tile.columns * 2;
        if (item >= STAGE / 16 || !is_there) begin[i] = LONG_STEP * 16;  // never
        else if (!is_a) begin[i] = row * 2;                              // as those of A: of 64 rows those below k
    }
    constexpr int ITEMS_A = ROWS * UNITS, ITEMS = ITEMS_A + LONG_STEP * Tile::WORDS;
    constexpr int SHIFTS = (ITEMS + THREADS - 1) / THREADS;
    unsigned past[SHIFTS];
#pragma unroll
    for (int i = 0; i < SHIFTS; ++i) {
        const int item = i * THREADS + threadIdx.x;
        const bool is_a = item < ITEMS_A;
        const int row = is_a ? item / UNITS : (item - ITEMS_A) / Tile::WORDS;
        past[i] = address_of(is_a ? first_a + row * k : first_b + row * n) % 16;
    }
    if (threadIdx.x <= COLUMNS / 64) ask_for_columns(make_finish(), static_cast<int>(tile.column0 + threadIdx.x * 64));
    wait_for_previous();
    let_next_start();

    const auto there_at = [&](int step) {
        return static_cast<int>(min(k - static_cast<long long>(step) * LONG_STEP, static_cast<long long>(LONG_STEP)));
    };
    const auto copy = [&](int step) {
        unsigned char* const stage = ring + (step - first) % STAGES * STAGE + threadIdx.x * 16;
        const int there = there_at(step) * 2;
#pragma unroll
        for (int i = 0; i < WORDS; ++i) {
            const bool is_a = i * THREADS + static_cast<int>(threadIdx.x) < BYTES_A / 16;
            if (begin[i] < there) copy_word(stage + i * THREADS * 16, at[i], is_a ? end_a : end_b);
            at[i] += next[i];
        }
    };
    const auto shift = [&](int step) {
        const unsigned char* const stage = ring + (step - first) % STAGES * STAGE;
        const int there = there_at(step);
#pragma unroll
        for (int i = 0; i < SHIFTS; ++i) {
            const int item = i * THREADS + threadIdx.x;
            const bool is_a = item < ITEMS_A;
            const int row = is_a ? item / UNITS : (item - ITEMS_A) / Tile::WORDS;
            const int unit = is_a ? item % UNITS : (item - ITEMS_A) % Tile::WORDS;
            const int place = (is_a ? row * PITCH_A : BYTES_A + row * PITCH_B) + unit * 16;
            if (item >= ITEMS) continue;
            unsigned words[4], mask[4];
            bytes_amid(
                *reinterpret_cast<const uint4*>(stage + place), *reinterpret_cast<const uint4*>(stage + place + 16),
                past[i], words
            );
            if (there < LONG_STEP) {  // behind k is what was there before
                bits_of(mask, is_a ? there - unit * 8 : row < there ? 8 : 0);
#pragma unroll
                for (int j = 0; j < 4; ++j) words[j] &= mask[j];
            }
            *reinterpret_cast<uint4*>(of_a + place) = make_uint4(words[0], words[1], words[2], words[3]);
        }
    };

    typename Tile::Sums sum = {};
#pragma unroll
    for (int ahead = 0; ahead < STAGES - 1; ++ahead) {
        if (first + ahead < last) copy(first + ahead);
        commit_copies();
    }
    for (int step = first; step < last; ++step) {
        wait_for_copies<STAGES - 2>();
        __syncthreads();
        if (step + STAGES - 1 < last) copy(step + STAGES - 1);
        commit_copies();
        shift(step);
        __syncthreads();
        Tile::multiply(sum, of_a, PITCH_A, of_b, LONG_STEP / 16);
    }
    wait_for_copies<0>();
    __syncthreads();
    const auto finish = make_finish();
    if (parts == 1) {
        tile.store(sum, of_a, c, tile.of_columns(finish));
        return;
    }

    auto* const sums = reinterpret_cast<float*>(ring);
#pragma unroll
    for (int i = 0; i < Tile::WARP_ROWS / 8; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::WARP_COLUMNS / 8; ++j) {
            const float (&four)[4] = sum[i / 2][j];
            const int row = Tile::warp_row() + i * 8 + lane / 4, column = Tile::warp_column() + j * 8 + lane % 4 * 2;
            *reinterpret_cast<float2*>(sums + row * PITCH_SUMS + column) =
                make_float2(four[i % 2 * 2], four[i % 2 * 2 + 1]);
        }
    }
    arrive_with_writes();
    wait_for_cluster();
    constexpr int PAIRS = COLUMNS / 2;
    const int of_block = ROWS * PAIRS / blocks;
    // Those of a block, in the order of the tiles' parts.
    const auto place_of = [&](unsigned of) { return (of * tiles + number) * blocks + rank; };
    const bool stores = static_cast<int>(share) == shares.count - 1;  // what the others, begun before, have left
    if (stores) {
        for (unsigned other = 0; other < share; ++other) wait_for_flag(shares.flags + place_of(other), shares.ticket);
    }
    for (int i = threadIdx.x; i < of_block; i += THREADS) {
        const int pair = rank * of_block + i, row = pair / PAIRS, column = pair % PAIRS * 2;
        if (row >= tile.rows || column >= tile.columns) continue;
        float2 two = {};
#pragma unroll 4
        for (int block = 0; block < blocks; ++block) {
            float2 more;
            asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];"
                         : "=f"(more.x), "=f"(more.y)
                         : "r"(address_in(block, sums + row * PITCH_SUMS + column))
                         : "memory");
            two.x += more.x, two.y += more.y;
        }
        if (!stores) {
            __stcg(shares.sums + static_cast<long long>(place_of(share)) * of_block + i, two);
            continue;
        }
        for (unsigned other = 0; other < share; ++other) {
            const float2 more = __ldcg(shares.sums + static_cast<long long>(place_of(other)) * of_block + i);
            two.x += more.x, two.y += more.y;
        }
        const int of_c = static_cast<int>(tile.column0) + column;
        const float2 done = finish_pair(for_columns<1>(finish, of_c), two, of_c, 0);
        SCALAR* const to = c + (tile.row0 + row) * n + tile.column0 + column;
        from_float(done.x, to[0]);
        if (column + 1 < tile.columns) from_float(done.y, to[1]);
    }
    if (shares.count > 1) {
        __syncthreads();
        if (threadIdx.x == 0) {
            if (!stores) raise_flag(shares.flags + place_of(share), shares.ticket);
            for (unsigned other = 0; stores && other < share; ++other) shares.flags[place_of(other)] = 0;
        }
    }
    meet_cluster();  // none may end while another reads its sums
}

#define LONG_SUMS_KERNEL(ROWS, COLUMNS, BELOW, BESIDE, STAGES, BLOCKS, FINISH, ...)                               \
    extern "C" __global__ void __launch_bounds__(BELOW * BESIDE * WARP, BLOCKS) long_sums_##ROWS##x##COLUMNS(     \
        const Element* a, const Element* b, SCALAR* c, long long m, long long n, long long k, float2* sums,       \
        Flag* flags, Flag ticket, long long shares, ##__VA_ARGS__                                                 \
    ) {                                                                                                           \
        multiply_long_sums<ROWS, COLUMNS, BELOW, BESIDE, STAGES>(                                                 \
            a, b, c, m, n, k, Shares{sums, flags, ticket, static_cast<int>(shares)}, [&] { return FINISH; }       \
        );                                                                                                        \
    }
#define LONG_SUMS_KERNELS(...) LONG_SUMS_KERNEL(32, 64, 2, 4, 4, 2, __VA_ARGS__)
