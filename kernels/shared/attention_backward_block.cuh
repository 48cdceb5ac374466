// A block of attention's gradients on Hopper (sm_90a): its shared memory, what blocks tell each other, and the thread that
// copies.
//
// It takes tiles of 128 keys from a counter, and has TMA copy them and the steps of queries.
#pragma once

#include "shared/attention_backward_ends.cuh"
#include "shared/wgmma_attention_products.cuh"

constexpr int KEYS = 128;  // of a tile
constexpr int CONSUMERS = 2;
constexpr int STAGES = 2;
constexpr int ADDER = CONSUMERS * WARPGROUP / WARP + 1;  // the warp that has the parts of dq added

// Shared memory, as the launcher counts it.
template <int DIM>
struct Block {
    static constexpr int PART_BYTES = PART * 4;
    static constexpr int OWN = KEYS * DIM * 2;  // bytes of the keys, and of the values
    static constexpr int TILE = STEP<DIM> * DIM * 2;
    static constexpr int SCORES = STEP<DIM> * KEYS * 2;
    static constexpr int NUMBERS = 2 * STEP<DIM> * 4;

    static constexpr int VALUES_AT = OWN;
    static constexpr int QUERIES_AT = VALUES_AT + OWN;
    static constexpr int GRADS_AT = QUERIES_AT + STAGES * TILE;
    static constexpr int SCORES_AT = GRADS_AT + STAGES * TILE;
    static constexpr int PARTS_AT = SCORES_AT + 2 * SCORES;
    static constexpr int NUMBERS_AT = PARTS_AT + CONSUMERS * PART_BYTES;
    static constexpr int BARRIERS_AT = NUMBERS_AT + STAGES * NUMBERS;
    static_assert(BARRIERS_AT + 8 * (9 + 4 * STAGES) <= 232448);

    unsigned char* keys;
    Barrier* keys_full;
    Barrier* keys_empty;
    Barrier* values_full;
    Barrier* values_empty;
    Barrier* queries_full;
    Barrier* queries_empty;
    Barrier* grads_full;
    Barrier* grads_empty;
    // Its head, -1 after the last one; its number in the head; the phase of the one after it; the first of its steps; the
    // step after the last one; where its sums are added to others, its number among the divided ones, else -1.
    volatile int* next_tile;
    volatile int* chunk;    // of the thread that copies: its steps that remain, the first of them
    int* volatile* counts;  // of Progress

    __device__ __forceinline__ explicit Block(unsigned char* shared)
        : keys(shared), keys_full(reinterpret_cast<Barrier*>(shared + BARRIERS_AT)), keys_empty(keys_full + 1),
          values_full(keys_empty + 1), values_empty(values_full + 1), queries_full(values_empty + 1),
          queries_empty(queries_full + STAGES), grads_full(queries_empty + STAGES), grads_empty(grads_full + STAGES),
          next_tile(reinterpret_cast<volatile int*>(grads_empty + STAGES)), chunk(next_tile + 6),
          counts(reinterpret_cast<int* volatile*>(grads_empty + STAGES + 4)) {}

    __device__ __forceinline__ void begin(int* in_memory) const {
        if (threadIdx.x == 0) {
            *counts = in_memory;
            init_barrier(keys_full, 1);
            init_barrier(values_full, 1);
            init_barrier(keys_empty, CONSUMERS * WARPGROUP + WARP);  // the adder too has read next_tile
            init_barrier(values_empty, CONSUMERS);
            for (int stage = 0; stage < STAGES; ++stage) {
                init_barrier(queries_full + stage, 1);
                init_barrier(queries_empty + stage, CONSUMERS * WARPGROUP);
                init_barrier(grads_full + stage, 1);
                init_barrier(grads_empty + stage, CONSUMERS);
            }
            publish_barriers();
        }
        wait_for_previous();
        __syncthreads();
    }
    __device__ __forceinline__ unsigned char* queries(int turn) const {
        return keys + QUERIES_AT + turn % STAGES * TILE;
    }
    __device__ __forceinline__ unsigned char* grads(int turn) const { return keys + GRADS_AT + turn % STAGES * TILE; }
    __device__ __forceinline__ unsigned char* scores(int turn) const { return keys + SCORES_AT + turn % 2 * SCORES; }
    __device__ __forceinline__ unsigned char* part(int warpgroup) const {
        return keys + PARTS_AT + warpgroup * PART_BYTES;
    }
    __device__ __forceinline__ unsigned char* numbers(int turn) const {
        return keys + NUMBERS_AT + turn % STAGES * NUMBERS;
    }
};

// ---- The thread that has TMA copy ----------------------------------------------------------------

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

// ---- What blocks tell each other -------------------------------------------------------------------

// In global memory, zero before the kernel starts. The first heads are prepared by the kernel in front, the last ones
// finished by the kernel behind; the others by warps that have nothing else to do, while tiles are multiplied.
struct Progress {
    int* volatile* counts;  // in shared memory: held by a register it would be stored and loaded again anyway
    int heads;
    int prepared;  // heads by the kernel in front
    int finished;  // heads in this kernel
    __device__ __forceinline__ int* tiles_taken() const { return *counts; }
    __device__ __forceinline__ int* steps_taken() const { return *counts + made_anew(1); }  // to be prepared
    __device__ __forceinline__ int* sums_taken() const { return *counts + made_anew(2); }   // steps to be finished
    __device__ __forceinline__ int* steps_ready(int head) const { return *counts + made_anew(3) + head; }
    __device__ __forceinline__ int* tiles_done(int head) const { return *counts + made_anew(3) + heads + head; }
    static __device__ __forceinline__ int size(int heads) { return 3 + 2 * heads; }
};

// What one side has written by stores or by the copy engine, the other may read by either.
__device__ __forceinline__ void publish_everywhere() { asm volatile("fence.proxy.async;" ::: "memory"); }
__device__ __forceinline__ void count_up(int* count) {
    asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(count) : "memory");
}
__device__ __forceinline__ void wait_until(const int* count, int wanted) {
    int found;
    while (true) {
        asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(found) : "l"(count) : "memory");
        if (found >= wanted) break;
        __nanosleep(200);
    }
    publish_everywhere();
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

template <int DIM, bool CAUSAL>
__device__ __forceinline__ void copy_tiles(
    const Block<DIM>& at, const CUtensorMap& q, const CUtensorMap& k, const CUtensorMap& v, const CUtensorMap& grad,
    const float* __restrict__ numbers, const Progress& progress, const Division& division, int blocks, int steps,
    int group
) {
    using At = Block<DIM>;
    int turn = 0;
    unsigned empty = 1;  // phase
    at.chunk[0] = 0;
    while (true) {
        int tile = 0, first = 0, end = steps, divided = -1, rest = CAUSAL ? 0 : at.chunk[0];
        if (rest == 0) {
            // From the first one on: a block that does not run yet holds back no tile for which others wait.
            tile = atomicAdd(progress.tiles_taken(), 1);
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
        const auto [head, block] = origin<CAUSAL>(tile, made_anew(progress.heads), made_anew(blocks), made_anew(group));
        if (CAUSAL) first = block * KEYS / STEP<DIM>;
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
            const int stage = turn % STAGES, row = step * STEP<DIM>;
            const unsigned phase = turn / STAGES % 2;
            wait_for(at.queries_empty + stage, phase ^ 1);
            expect(at.queries_full + stage, At::NUMBERS);
            const float* const from = numbers + (static_cast<long long>(head) * steps + step) * 2 * STEP<DIM>;
            copy_run(at.numbers(turn), from, At::NUMBERS, at.queries_full + stage);
            copy_rows<DIM, STEP<DIM>>(at.queries(turn), q, row, head, at.queries_full + stage);
            if (step == at.next_tile[3]) {
                wait_for(at.values_empty, empty);
                copy_rows<DIM, KEYS>(at.keys + At::VALUES_AT, v, at.next_tile[1] * KEYS, head, at.values_full);
            }
            wait_for(at.grads_empty + stage, phase ^ 1);
            copy_rows<DIM, STEP<DIM>>(at.grads(turn), grad, row, head, at.grads_full + stage);
        }
        empty ^= 1;
    }
    wait_for(at.keys_empty, empty);
    at.next_tile[0] = -1;
    arrive(at.keys_full);
}
