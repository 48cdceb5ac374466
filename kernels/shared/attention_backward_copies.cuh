// The thread of a block of attention's gradients on Hopper (sm_90a) that has TMA copy.
//
// It takes tiles of 128 keys from a counter, two of them for a pair of blocks, and has them and the steps of queries copied.
#pragma once

#include "shared/attention_backward_block.cuh"

// Further bytes that a phase waits for, beside those of the arrival.
__device__ __forceinline__ void expect(Barrier* barrier, int bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void copy_run(void* to, const void* from, int bytes, Barrier* barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
}

// A step's rows; each block of a pair has a half of them copied into both.
template <int DIM, bool PAIRS>
__device__ __forceinline__ void copy_step(
    unsigned char* to, const CUtensorMap& map, int row, int head, Barrier* barrier
) {
    constexpr int ROWS = STEP<DIM>;
    if constexpr (!PAIRS) {
        copy_rows<DIM, ROWS>(to, map, row, head, barrier);
    } else {
        arrive_and_expect(barrier, ROWS * DIM * 2);
        const int own = rank_in_cluster() * (ROWS / 2);
#pragma unroll
        for (int band = 0; band < DIM / 64; ++band) {
            asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                         "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared_address(to + (band * ROWS + own) * ROW)),
                         "l"(&map), "r"(band * 64), "r"(row + own), "r"(head), "r"(shared_address(barrier)),
                         "h"(static_cast<unsigned short>(3))
                         : "memory");
        }
    }
}

// The last tiles, from number `whole` on, would occupy few blocks: their steps, one tile's after the other's, are divided
// into as many chunks as there are blocks.
struct Division {
    int whole;
    int chunks;
};

struct TileOrigin {
    int head;
    int block;
};

// Where causal, the tiles of some heads that have most queries come first, of all these heads in turn; the first group
// of heads also has the remaining ones, so that the last one is whole.
template <bool CAUSAL>
__device__ __forceinline__ TileOrigin origin(unsigned tile, unsigned heads, unsigned blocks, unsigned group) {
    unsigned first_head = 0;
    if (CAUSAL) {
        const unsigned remaining = heads % group;
        if (tile >= (remaining + group) * blocks) {
            first_head = (tile / blocks - remaining) / group * group + remaining;
        } else {
            group += remaining;
        }
        tile -= first_head * blocks;
        return {static_cast<int>(first_head + tile % group), static_cast<int>(tile / group)};
    }
    return {static_cast<int>(tile / blocks), static_cast<int>(tile % blocks)};
}

// The next number of the counter. The second block of a pair gets it from the first one, which is never so many tiles
// ahead that a slot is taken twice: it waits for steps that both have multiplied.
template <int DIM, bool PAIRS>
__device__ __forceinline__ int take_tile(const Block<DIM, PAIRS>& at, const Progress& progress, unsigned& turn) {
    if constexpr (!PAIRS) {
        return atomicAdd(progress.tiles_taken(), 1);
    } else {
        const unsigned slot = turn % SLOTS, phase = turn / SLOTS % 2;
        ++turn;
        if (rank_in_cluster() == 0) {
            const int tile = atomicAdd(progress.tiles_taken(), 1);
            send_to(
                address_in(1, const_cast<const unsigned*>(at.taken + slot)), static_cast<unsigned>(tile),
                address_in(1, at.taken_full + slot)
            );
            return tile;
        }
        arrive_and_expect(at.taken_full + slot, 4);
        wait_for(at.taken_full + slot, phase);
        return static_cast<int>(at.taken[slot]);
    }
}

template <int DIM, bool CAUSAL, bool PAIRS>
__device__ __forceinline__ void copy_tiles(
    const Block<DIM, PAIRS>& at, const CUtensorMap& q, const CUtensorMap& k, const CUtensorMap& v,
    const CUtensorMap& grad, const float* __restrict__ numbers, const Progress& progress, const Division& division,
    int blocks, int steps, int group
) {
    using At = Block<DIM, PAIRS>;
    int turn = 0;
    unsigned empty = 1;  // phase
    unsigned taken = 0;
    blocks /= BLOCKS<PAIRS>;  // of a pair, a tile here is both of its blocks'
    at.chunk[0] = 0;
    while (true) {
        int tile = 0, first = 0, end = steps, divided = -1, rest = CAUSAL ? 0 : at.chunk[0];
        if (rest == 0) {
            // From the first one on: a block that does not run yet holds back no tile for which others wait.
            tile = take_tile(at, progress, taken);
            if (CAUSAL || tile < division.whole) {
                if (tile >= progress.heads * blocks) break;
            } else {
                const int number = tile - division.whole;
                if (number >= division.chunks) break;
                const long long all = static_cast<long long>(progress.heads * blocks - division.whole) * steps;
                at.chunk[1] = static_cast<int>(all * number / division.chunks);
                at.chunk[0] = rest = static_cast<int>(all * (number + 1) / division.chunks) - at.chunk[1];
                if (rest == 0) continue;
            }
        }
        if (!CAUSAL && rest > 0) {
            const int from = at.chunk[1];
            divided = from / steps;
            first = from % steps;
            end = min(steps, first + rest);
            tile = division.whole + divided;
            at.chunk[0] = rest - (end - first);
            at.chunk[1] = from + end - first;
        }
        auto [head, block] = origin<CAUSAL>(tile, made_anew(progress.heads), made_anew(blocks), made_anew(group));
        block *= BLOCKS<PAIRS>;
        if (CAUSAL) first = block * KEYS / STEP<DIM>;  // of a pair both begin there
        if (PAIRS) {
            block += rank_in_cluster();
            if (divided >= 0) divided = divided * 2 + rank_in_cluster();
        }
        if (head >= progress.prepared) wait_until(progress.steps_ready(head), steps);
        wait_for(at.keys_empty, empty);
        at.next_tile[0] = head;
        at.next_tile[1] = block;
        at.next_tile[2] = empty;
        at.next_tile[3] = first;
        at.next_tile[4] = end;
        at.next_tile[5] = divided;
        copy_rows<DIM, KEYS>(at.keys, k, block * KEYS, head, at.keys_full);
        for (int step = first; step < at.next_tile[4]; ++step, ++turn) {
            const int stage = turn % At::STAGES, row = step * STEP<DIM>;
            const unsigned phase = turn / At::STAGES % 2;
            wait_for(at.queries_empty + stage, phase ^ 1);
            expect(at.queries_full + stage, At::NUMBERS);
            const float* const from = numbers + (static_cast<long long>(head) * steps + step) * 2 * STEP<DIM>;
            copy_run(at.numbers(turn), from, At::NUMBERS, at.queries_full + stage);
            copy_step<DIM, PAIRS>(at.queries(turn), q, row, head, at.queries_full + stage);
            if (step == at.next_tile[3]) {
                wait_for(at.values_empty, empty);
                copy_rows<DIM, KEYS>(at.keys + At::VALUES_AT, v, at.next_tile[1] * KEYS, head, at.values_full);
            }
            wait_for(at.grads_empty + stage, phase ^ 1);
            copy_step<DIM, PAIRS>(at.grads(turn), grad, row, head, at.grads_full + stage);
        }
        empty ^= 1;
    }
    wait_for(at.keys_empty, empty);
    at.next_tile[0] = -1;
    arrive(at.keys_full);
}
