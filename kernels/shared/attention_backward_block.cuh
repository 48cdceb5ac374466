// A block of attention's gradients on Hopper (sm_90a): its shared memory, and those of its warps that do not multiply.
//
// A thread takes tiles of 128 keys from a counter, and has TMA copy them and the steps of queries. A warp has the parts
// of dq added to their sums in memory. The threads that multiply would lose time to starting these adds.
#pragma once

#include "shared/attention_backward_ends.cuh"
#include "shared/wgmma_attention_products.cuh"

constexpr int KEYS = 128;  // of a tile
constexpr int CONSUMERS = 2;
constexpr int STAGES = 2;
constexpr int ADDER = CONSUMERS * WARPGROUP / WARP + 1;  // the warp that has the parts of dq added
constexpr int PART_BYTES = PART * 4;

// Shared memory, as the launcher counts it.
template <int DIM>
struct Block {
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
    static_assert(BARRIERS_AT + 8 * (6 + 4 * STAGES) <= 232448);

    unsigned char* keys;
    Barrier* keys_full;
    Barrier* keys_empty;
    Barrier* values_full;
    Barrier* values_empty;
    Barrier* queries_full;
    Barrier* queries_empty;
    Barrier* grads_full;
    Barrier* grads_empty;
    volatile int* next_tile;  // its head, -1 after the last one; its number in the head; the phase of the one after it

    __device__ __forceinline__ explicit Block(unsigned char* shared)
        : keys(shared), keys_full(reinterpret_cast<Barrier*>(shared + BARRIERS_AT)), keys_empty(keys_full + 1),
          values_full(keys_empty + 1), values_empty(values_full + 1), queries_full(values_empty + 1),
          queries_empty(queries_full + STAGES), grads_full(queries_empty + STAGES), grads_empty(grads_full + STAGES),
          next_tile(reinterpret_cast<volatile int*>(grads_empty + STAGES)) {}

    __device__ __forceinline__ void begin() const {
        if (threadIdx.x == 0) {
            init_barrier(keys_full, 1);
            init_barrier(values_full, 1);
            init_barrier(keys_empty, CONSUMERS + 1);  // the adder too has read next_tile
            init_barrier(values_empty, CONSUMERS);
            for (int stage = 0; stage < STAGES; ++stage) {
                init_barrier(queries_full + stage, 1);
                init_barrier(queries_empty + stage, CONSUMERS);
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

// Keeps what follows from a value out of registers over the loop.
__device__ __forceinline__ int made_anew(int value) {
    asm volatile("" : "+r"(value));
    return value;
}

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
    const float* __restrict__ numbers, int* __restrict__ taken, int blocks, int steps, int heads, int group
) {
    using At = Block<DIM>;
    int turn = 0;
    unsigned empty = 1;  // phase
    for (int tile = blockIdx.x; tile < heads * blocks; tile = gridDim.x + atomicAdd(taken, 1), empty ^= 1) {
        const auto [head, block] = origin<CAUSAL>(tile, made_anew(heads), made_anew(blocks), made_anew(group));
        const int first = CAUSAL ? block * KEYS / STEP<DIM> : 0;
        wait_for(at.keys_empty, empty);
        at.next_tile[0] = head;
        at.next_tile[1] = block;
        at.next_tile[2] = empty;
        copy_rows<DIM, KEYS>(at.keys, k, block * KEYS, head, at.keys_full);
        for (int step = first; step < steps; ++step, ++turn) {
            const int stage = turn % STAGES, row = step * STEP<DIM>;
            const unsigned phase = turn / STAGES % 2;
            wait_for(at.queries_empty + stage, phase ^ 1);
            expect(at.queries_full + stage, At::NUMBERS);
            const float* const from = numbers + (static_cast<long long>(head) * steps + step) * 2 * STEP<DIM>;
            copy_run(at.numbers(turn), from, At::NUMBERS, at.queries_full + stage);
            copy_rows<DIM, STEP<DIM>>(at.queries(turn), q, row, head, at.queries_full + stage);
            if (step == first) {
                wait_for(at.values_empty, empty);
                copy_rows<DIM, KEYS>(at.keys + At::VALUES_AT, v, block * KEYS, head, at.values_full);
            }
            wait_for(at.grads_empty + stage, phase ^ 1);
            copy_rows<DIM, STEP<DIM>>(at.grads(turn), grad, row, head, at.grads_full + stage);
        }
    }
    wait_for(at.keys_empty, empty);
    at.next_tile[0] = -1;
    arrive(at.keys_full);
}

// ---- The warp that has parts of dq added ---------------------------------------------------------

// Barriers of a warpgroup and this warp, of which one waits for the other, and the other goes on.
__device__ __forceinline__ int part_full(int warpgroup) { return 3 + warpgroup; }
__device__ __forceinline__ int part_empty(int warpgroup) { return 5 + warpgroup; }
__device__ __forceinline__ void wait_at(int barrier) { asm volatile("bar.sync %0, 160;" ::"r"(barrier) : "memory"); }
__device__ __forceinline__ void tell(int barrier) { asm volatile("bar.arrive %0, 160;" ::"r"(barrier) : "memory"); }

__device__ __forceinline__ void add_run(float* to, const void* from, int bytes) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;\n"
                 "cp.async.bulk.commit_group;" ::"l"(to), "r"(shared_address(from)), "r"(bytes)
                 : "memory");
}

template <int DIM, bool CAUSAL>
__device__ __forceinline__ void add_parts(const Block<DIM>& at, float* __restrict__ sums, int steps) {
    const bool first_lane = threadIdx.x % WARP == 0;
    for (int part = 0; part < CONSUMERS; ++part) tell(part_empty(part));
    for (unsigned full = 0;; full ^= 1) {
        wait_for(at.keys_full, full);
        const int head = at.next_tile[0], block = at.next_tile[1];
        __syncwarp();
        if (head < 0) return;
        if (first_lane) arrive(at.keys_empty);
        for (int step = CAUSAL ? block * KEYS / STEP<DIM> : 0; step < steps; ++step) {
            float* const to = sums + (static_cast<long long>(head) * steps + step) * CONSUMERS * PART;
#pragma unroll
            for (int part = 0; part < CONSUMERS; ++part) {
                wait_at(part_full(part));
                if (first_lane) add_run(to + part * PART, at.part(part), PART_BYTES);
            }
            if (first_lane) wait_for_reads<1>();
            __syncwarp();
            tell(part_empty(0));
            if (first_lane) wait_for_reads<0>();
            __syncwarp();
            tell(part_empty(1));
        }
    }
}
