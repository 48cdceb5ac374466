// A block of attention's gradients on Hopper (sm_90a): its shared memory, and what blocks tell each other.
//
// Where tiles come in pairs, two blocks are a cluster and have neighbouring tiles of a head: each copies a half of every
// step of queries into both, so that the step is read from L2 once.
#pragma once

#include "shared/attention_backward_ends.cuh"
#include "shared/wgmma_attention_products.cuh"

constexpr int KEYS = 128;  // of a tile
constexpr int CONSUMERS = 2;
constexpr int SLOTS = 4;  // for tiles that the first block of a pair has taken and the second one has not begun
constexpr int ADDER = CONSUMERS * WARPGROUP / WARP + 1;  // the warp that has the parts of dq added

template <bool PAIRS>
constexpr int BLOCKS = PAIRS ? 2 : 1;  // that copy together
// Steps in shared memory. A pair has one more: its blocks are never at quite the same place.
template <bool PAIRS>
constexpr int STAGES_OF = PAIRS ? 3 : 2;

// Shared memory, as the launcher counts it.
template <int DIM, bool PAIRS>
struct Block {
    static constexpr int STAGES = STAGES_OF<PAIRS>;
    static constexpr int OWN = KEYS * DIM * 2;  // bytes of the keys, and of the values
    static constexpr int TILE = STEP<DIM> * DIM * 2;
    static constexpr int SCORES = STEP<DIM> * KEYS * 2;
    static constexpr int NUMBERS = 2 * STEP<DIM> * 4;

    static constexpr int VALUES_AT = OWN;
    static constexpr int QUERIES_AT = VALUES_AT + OWN;
    static constexpr int GRADS_AT = QUERIES_AT + STAGES * TILE;
    static constexpr int SCORES_AT = GRADS_AT + STAGES * TILE;
    static constexpr int PART_AT = SCORES_AT + 2 * SCORES;
    static constexpr int NUMBERS_AT = PART_AT + PART * 4;
    static constexpr int BARRIERS_AT = NUMBERS_AT + STAGES * NUMBERS;
    static_assert(BARRIERS_AT + 8 * (9 + 4 * STAGES + (PAIRS ? 2 * SLOTS : 0)) <= 232448);

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
    Barrier* taken_full;
    volatile unsigned* taken;  // of the second block of a pair: the tiles that the first one has taken, in turn

    __device__ __forceinline__ explicit Block(unsigned char* shared)
        : keys(shared), keys_full(reinterpret_cast<Barrier*>(shared + BARRIERS_AT)), keys_empty(keys_full + 1),
          values_full(keys_empty + 1), values_empty(values_full + 1), queries_full(values_empty + 1),
          queries_empty(queries_full + STAGES), grads_full(queries_empty + STAGES), grads_empty(grads_full + STAGES),
          next_tile(reinterpret_cast<volatile int*>(grads_empty + STAGES)), chunk(next_tile + 6),
          counts(reinterpret_cast<int* volatile*>(grads_empty + STAGES + 4)), taken_full(grads_empty + STAGES + 5),
          taken(reinterpret_cast<volatile unsigned*>(taken_full + SLOTS)) {}

    __device__ __forceinline__ void begin(int* in_memory) const {
        if (threadIdx.x == 0) {
            *counts = in_memory;
            init_barrier(keys_full, 1);
            init_barrier(values_full, 1);
            init_barrier(keys_empty, CONSUMERS * WARPGROUP + WARP);  // the adder too has read next_tile
            init_barrier(values_empty, CONSUMERS);
            for (int stage = 0; stage < STAGES; ++stage) {
                init_barrier(queries_full + stage, 1);
                init_barrier(queries_empty + stage, CONSUMERS * (WARPGROUP + BLOCKS<PAIRS> - 1));
                init_barrier(grads_full + stage, 1);
                init_barrier(grads_empty + stage, CONSUMERS * BLOCKS<PAIRS>);
            }
            for (int slot = 0; PAIRS && slot < SLOTS; ++slot) init_barrier(taken_full + slot, 1);
            publish_barriers();
        }
        wait_for_previous();
        __syncthreads();
        if (PAIRS) meet_cluster();  // neither arrives at barriers that the other one has not made
    }
    __device__ __forceinline__ unsigned char* queries(int turn) const {
        return keys + QUERIES_AT + turn % STAGES * TILE;
    }
    __device__ __forceinline__ unsigned char* grads(int turn) const { return keys + GRADS_AT + turn % STAGES * TILE; }
    __device__ __forceinline__ unsigned char* scores(int turn) const { return keys + SCORES_AT + turn % 2 * SCORES; }
    __device__ __forceinline__ unsigned char* part() const { return keys + PART_AT; }
    __device__ __forceinline__ unsigned char* numbers(int turn) const {
        return keys + NUMBERS_AT + turn % STAGES * NUMBERS;
    }
};

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
