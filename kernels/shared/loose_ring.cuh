// A ring whose tiles come from rows that begin anywhere: warps load words of 16 bytes as they lie, shift them, and put them
// where TMA would have put them.
//
// TMA wants rows of whole 16 bytes, and a copy that has them costs as much as reading the matrix three times. Here a row's
// elements go through registers once. LANES lanes have words beside each other of a row: one word more than they make, which
// one of them loads besides, in each row another, so that it takes no register more. All rows of a thread begin alike, because
// they are a multiple of 8 apart. Two batches of a thread are under way at once.
#pragma once

#include "shared/amid_words.cuh"
#include "shared/wgmma_matmul.cuh"

using Element16 = unsigned short;

// A matrix of 16-bit elements whose rows follow each other, wherever they begin.
struct LooseMatrix {
    const Element16* begin;
    int rows, columns;
};

// What a thread has of COUNT rows, as many apart as THREADS threads take at once, in a part of LANES times 16 bytes.
template <int COUNT, int LANES, int THREADS>
struct LooseRows {
    static constexpr int APART = THREADS / LANES;
    static_assert(COUNT <= LANES && APART % 8 == 0);
    uint4 low[COUNT], extra;

    static __device__ __forceinline__ int lane_of(int thread) { return thread % LANES; }
    static __device__ __forceinline__ int unit_of(int thread, int i) { return (thread - i) & (LANES - 1); }

    // From `row` and `column` on, a multiple of 8 each; what lies outside of the matrix is 0.
    __device__ __forceinline__ void load(const LooseMatrix& matrix, int thread, int row, int column) {
        // All is there, with rows behind: reading on beyond a row's end does no harm.
        const bool is_inside = row > 0 && row + COUNT * APART < matrix.rows && column + LANES * 8 <= matrix.columns;
        row += thread / LANES;
        const Element16* const first = matrix.begin + (static_cast<long long>(row) * matrix.columns + column);
        const Element16* const from = first - reinterpret_cast<unsigned long long>(first) / 2 % 8;
        const Element16* const end = matrix.begin + static_cast<long long>(matrix.rows) * matrix.columns;
        const int apart = APART * matrix.columns;
        if (is_inside) {
#pragma unroll
            for (int i = 0; i < COUNT; ++i) {
                low[i] = __ldg(reinterpret_cast<const uint4*>(from + (i * apart + unit_of(thread, i) * 8)));
            }
            if (lane_of(thread) < COUNT) {
                extra = __ldg(reinterpret_cast<const uint4*>(from + (lane_of(thread) * apart + LANES * 8)));
            }
            return;
        }
        const int past = static_cast<int>(first - from), left = matrix.columns - column + past;
        bool at_an_edge = false;
        const auto word = [&](int i, int unit, bool wanted) {
            const Element16* const at = from + (i * apart + unit * 8);
            const bool is_there = wanted && row + i * APART < matrix.rows && unit * 8 < left;
            const bool is_whole = is_there && at >= matrix.begin && at + 8 <= end;
            at_an_edge |= is_there && !is_whole;
            uint4 four;
            asm volatile("{\n.reg .pred whole;\nsetp.ne.u32 whole, %5, 0;\n"
                         "mov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\n"
                         "@whole ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];\n}"
                         : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w)
                         : "l"(at), "r"(static_cast<unsigned>(is_whole)));
            return four;
        };
#pragma unroll
        for (int i = 0; i < COUNT; ++i) low[i] = word(i, unit_of(thread, i), true);
        extra = word(lane_of(thread), LANES, lane_of(thread) < COUNT);
        if (!__any_sync(WHOLE_WARP, at_an_edge)) return;
        // The words at both ends of the matrix, of which others have a part.
        const auto part_of_word = [&](int i, int unit, uint4& four) {
            const Element16* const at = from + (i * apart + unit * 8);
            if (row + i * APART >= matrix.rows || unit * 8 >= left || (at >= matrix.begin && at + 8 <= end)) return;
            unsigned words[4] = {};
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                if (at + j >= matrix.begin && at + j < end)
                    words[j / 2] |= static_cast<unsigned>(__ldg(at + j)) << j % 2 * 16;
            }
            four = make_uint4(words[0], words[1], words[2], words[3]);
        };
#pragma unroll
        for (int i = 0; i < COUNT; ++i) part_of_word(i, unit_of(thread, i), low[i]);
        if (lane_of(thread) < COUNT) part_of_word(lane_of(thread), LANES, extra);
    }

    // Into rows of 128 bytes, swizzled, and parts of 128 bytes `subtile` bytes apart. Of a row there are `left` elements from
    // its column on; of rows, `rows` from the first on: warps that have none store nothing, unless KEEPS_ALL.
    template <bool KEEPS_ALL>
    __device__ __forceinline__ void store(
        unsigned char* to, int subtile, int thread, unsigned past, int left, int rows
    ) const {
        if (left < LANES * 8) store_words<KEEPS_ALL, true>(to, subtile, thread, past, left, rows);
        else store_words<KEEPS_ALL, false>(to, subtile, thread, past, left, rows);
    }

    // By how many bytes a thread's rows begin behind a word.
    static __device__ __forceinline__ unsigned past_of(const LooseMatrix& matrix, int thread) {
        const auto first = reinterpret_cast<unsigned long long>(matrix.begin);
        return static_cast<unsigned>(first / 2 + static_cast<unsigned>(thread / LANES) * matrix.columns) % 8 * 2;
    }

private:
    template <bool KEEPS_ALL, bool ENDS>
    __device__ __forceinline__ void store_words(
        unsigned char* to, int subtile, int thread, unsigned past, int left, int rows
    ) const {
        const int own = thread / LANES, lane = lane_of(thread);
        const int from = (threadIdx.x & ~(LANES - 1)) | ((lane + 1) & (LANES - 1));
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            if (!KEEPS_ALL && i * APART + (thread - thread % WARP) / LANES >= rows) return;
            const int unit = unit_of(thread, i);
            const uint4 given = lane == i ? extra : low[i];
            uint4 high;
            high.x = __shfl_sync(WHOLE_WARP, given.x, from), high.y = __shfl_sync(WHOLE_WARP, given.y, from);
            high.z = __shfl_sync(WHOLE_WARP, given.z, from), high.w = __shfl_sync(WHOLE_WARP, given.w, from);
            unsigned words[4];
            bytes_amid(low[i], high, past, words);
            if constexpr (ENDS) {
                const int here = left - unit * 8;
#pragma unroll
                for (int j = 0; j < 4; ++j) words[j] &= here >= j * 2 + 2 ? ~0u : here == j * 2 + 1 ? 0xffffu : 0;
            }
            const int row = i * APART + own;
            *reinterpret_cast<uint4*>(to + unit / 8 * subtile + row * ROW + ((unit % 8) ^ row % 8) * 16) =
                make_uint4(words[0], words[1], words[2], words[3]);
        }
    }
};

// Stages of twice 64 along k, of 64 rows of A and of B, filled by two warpgroups behind the one that multiplies.
struct LooseRing {
    static constexpr int BLOCK_N = 64, STAGES = 6, STEPS = 2, LANES = STEPS * 8, DEPTH = STEPS * STEP_K,
                         THREADS = 2 * WARPGROUP;
    static constexpr int ROWS_A = 64, BYTES_A = ROWS_A * ROW, SUBTILE = BYTES_A + BLOCK_N * ROW,
                         STAGE = STEPS * SUBTILE;
    static constexpr int APART = THREADS / LANES;
    using RowsOfA = LooseRows<ROWS_A / APART, LANES, THREADS>;
    using RowsOfB = LooseRows<BLOCK_N / APART, LANES, THREADS>;

    unsigned char* stages;
    Barrier *full, *empty;
    int stage = 0;
    unsigned phase = 0;

    // For all threads of a block, which meet.
    __device__ __forceinline__ explicit LooseRing(unsigned char* stages)
        : stages(stages), full(reinterpret_cast<Barrier*>(stages + STAGES * STAGE)), empty(full + STAGES) {
        if (threadIdx.x == 0) {
            for (int i = 0; i < STAGES; ++i) {
                init_barrier(full + i, THREADS / WARP * ARRIVALS_OF_WARP);
                init_barrier(empty + i, 1);
            }
            publish_barriers();
        }
        __syncthreads();
    }
    __device__ __forceinline__ void advance() {
        if (++stage == STAGES) stage = 0, phase ^= 1;
    }

    // By the producers: `steps` steps of the tiles that `next(row, in_b)` names, until it gives false.
    template <class Next>
    __device__ __forceinline__ void fill(const LooseMatrix& a, const LooseMatrix& b, int steps, const Next& next) {
        struct Batch {
            RowsOfA of_a;
            RowsOfB of_b;
            int left, rows_a;
            bool is_there;
        };
        const int thread = threadIdx.x - WARPGROUP;
        const unsigned past_a = RowsOfA::past_of(a, thread), past_b = RowsOfB::past_of(b, thread);
        int row = 0, in_b = 0, step = steps;
        const auto load = [&](Batch& batch) {
            if (step == steps) {
                batch.is_there = next(row, in_b);
                if (!batch.is_there) return;
                step = 0;
            }
            batch.is_there = true;
            batch.left = a.columns - step * DEPTH, batch.rows_a = a.rows - row;
            batch.of_a.load(a, thread, row, step * DEPTH);
            batch.of_b.load(b, thread, in_b, step * DEPTH);
            ++step;
        };
        const auto store = [&](const Batch& batch) {
            unsigned char* const to = stages + stage * STAGE;
            wait_for(empty + stage, phase ^ 1);
            batch.of_a.template store<false>(to, SUBTILE, thread, past_a, batch.left, batch.rows_a);
            batch.of_b.template store<true>(to + BYTES_A, SUBTILE, thread, past_b, batch.left, BLOCK_N);
            publish_writes();
            __syncwarp();
            if (arrives_for_warp(thread % WARP)) arrive(full + stage);
            advance();
        };
        Batch one, other;
        load(one);
        while (one.is_there) {
            load(other);
            store(one);
            if (!other.is_there) break;
            load(one);
            store(other);
        }
    }

    // By the warpgroup in front: `sum` += A times B over `steps` steps. Beyond the end of k both are 0.
    __device__ __forceinline__ void add_products(float (&sum)[BLOCK_N / 2], int steps) {
        int before = 0;
        for (int step = 0; step < steps; ++step) {
            wait_for(full + stage, phase);
            const unsigned char* const from = stages + stage * STAGE;
            begin_products();
#pragma unroll
            for (int sub = 0; sub < STEPS; ++sub) {
                const unsigned long long tile_a = swizzled_tile(from + sub * SUBTILE, ATOM, 0);
                const unsigned long long tile_b = swizzled_tile(from + sub * SUBTILE + BYTES_A, ATOM, 0);
#pragma unroll
                for (int part = 0; part < 4; ++part) multiply_add(sum, tile_a + part * 2, tile_b + part * 2);
            }
            commit_products();
            wait_for_products<1>();
            if (step > 0 && threadIdx.x == 0) arrive(empty + before);
            before = stage;
            advance();
        }
        wait_for_products<0>();
        settle(sum);
        if (steps > 0 && threadIdx.x == 0) arrive(empty + before);
    }
};

// All tiles of A B^T: `compute(ring, position, steps)` takes a tile's steps from the ring.
template <class Tiles, class Compute>
__device__ __forceinline__ void for_each_loose_tile(
    const LooseMatrix& a, const LooseMatrix& b, const Tiles& tiles, const Compute& compute
) {
    extern __shared__ __align__(1024) unsigned char stages[];
    LooseRing ring(stages);
    const int steps = (a.columns + LooseRing::DEPTH - 1) / LooseRing::DEPTH;
    const unsigned count = tiles.count();
    unsigned tile = blockIdx.x;
    wait_for_previous();
    if (__shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0) > 0) {
        ring.fill(a, b, steps, [&](int& row, int& in_b) {
            if (tile >= count) return false;
            const auto at = tiles.at(tile);
            row = at.row, in_b = at.in_b, tile += gridDim.x;
            return true;
        });
    } else {
        for (; tile < count; tile += gridDim.x) compute(ring, tiles.at(tile), steps);
    }
}
