// A block of attention on Hopper: its shared memory, and the warp that has TMA copy into it.
#pragma once

#include "shared/wgmma_attention_pieces.cuh"

// As in the launcher. Warpgroups that multiply, 64 queries each: as many as registers allow.
template <int DIM>
constexpr int CONSUMERS = DIM < 128 ? 3 : 2;
// Keys of a step: as many as registers and shared memory allow, or fewer where that is faster.
template <int DIM, bool WINDOWED = false>
constexpr int KEYS_OF = DIM == 64 || DIM == 128   ? 128
                        : DIM == 96 || DIM == 192 ? 96
                        : WINDOWED                ? 64
                                                  : 80;
// Of the ring: as many as fit beside the queries in 227 KiB, up to three.
template <int DIM>
constexpr int STAGES_OF = DIM <= 128 ? 3 : 2;
// Elements of a row in shared memory, in whole bands: TMA writes zeros behind a shorter row.
template <int DIM>
constexpr int WIDTH = (DIM + 63) / 64 * 64;

// A value that a whole warp has, so that the compiler sees it.
__device__ __forceinline__ int the_warps(int value) { return __shfl_sync(WHOLE_WARP, value, 0); }

// ---- Shared memory, as the launcher counts it ----------------------------------------------------

template <int DIM, int KEYS>
struct Ring {
    static constexpr int STAGES = STAGES_OF<DIM>;
    static constexpr int QUERIES = CONSUMERS<DIM> * 64;
    static constexpr int TILE = KEYS * WIDTH<DIM> * 2;  // bytes of a stage's keys, and of its values

    unsigned char* queries;
    unsigned char* keys;
    unsigned char* values;
    Barrier* queries_full;
    Barrier* queries_empty;
    Barrier* keys_full;
    Barrier* values_full;
    Barrier* keys_empty;
    Barrier* values_empty;
    Piece* told;  // of this turn and the next: the first is read until its tile is stored

    __device__ __forceinline__ explicit Ring(unsigned char* shared)
        : queries(shared), keys(queries + QUERIES * WIDTH<DIM> * 2), values(keys + STAGES * TILE),
          queries_full(reinterpret_cast<Barrier*>(values + STAGES * TILE)), queries_empty(queries_full + 1),
          keys_full(queries_empty + 1), values_full(keys_full + STAGES), keys_empty(values_full + STAGES),
          values_empty(keys_empty + STAGES), told(reinterpret_cast<Piece*>(values_empty + STAGES)) {}

    __device__ __forceinline__ void begin() const {
        if (threadIdx.x == 0) {
            init_barrier(queries_full, 1);
            init_barrier(queries_empty, CONSUMERS<DIM> * (WARPGROUP / WARP) * ARRIVALS_OF_WARP);
            for (int stage = 0; stage < STAGES; ++stage) {
                init_barrier(keys_full + stage, 1);
                init_barrier(values_full + stage, 1);
                init_barrier(keys_empty + stage, CONSUMERS<DIM>);
                init_barrier(values_empty + stage, CONSUMERS<DIM>);
            }
            publish_barriers();
        }
        __syncthreads();
    }
};

// Where in the ring a warp is.
template <int STAGES>
struct Stage {
    int number = 0;
    unsigned phase = 0;

    __device__ __forceinline__ void go_on() {
        if (++number == STAGES) number = 0, phase ^= 1;
    }
};

// ---- The warp that has TMA copy -------------------------------------------------------------------

// `sharing` query heads in a row have one head of keys and values.
template <int DIM, int KEYS, class Source>
__device__ __forceinline__ void copy_pieces(
    const Ring<DIM, KEYS>& at, Source source, const CUtensorMap& q, const CUtensorMap& k, const CUtensorMap& v,
    int sharing
) {
    using At = Ring<DIM, KEYS>;
    Stage<At::STAGES> stage;
    for (int turn = 0;; ++turn) {
        const Piece piece = source.take();
        if (Source::THREADS == 1 || threadIdx.x % WARP == 0) {
            wait_for(at.queries_empty, turn % 2 ^ 1);
            at.told[turn % 2] = piece;
            if (piece.head < 0) {
                arrive(at.queries_full);
            } else {
                Source::template copy<WIDTH<DIM>, At::QUERIES>(
                    at.queries, q, piece, piece.first_query, piece.head, at.queries_full
                );
            }
            for (int step = piece.last; piece.head >= 0 && step >= piece.first; --step, stage.go_on()) {
                if (step == piece.first) source.go_on(turn);
                const int number = stage.number, head = piece.head / sharing;
                wait_for(at.keys_empty + number, stage.phase ^ 1);
                Source::template copy<WIDTH<DIM>, KEYS>(
                    at.keys + number * At::TILE, k, piece, step * KEYS, head, at.keys_full + number
                );
                wait_for(at.values_empty + number, stage.phase ^ 1);
                Source::template copy<WIDTH<DIM>, KEYS>(
                    at.values + number * At::TILE, v, piece, step * KEYS, head, at.values_full + number
                );
            }
        }
        if (piece.head < 0) return;
    }
}
