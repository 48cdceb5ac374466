// C = A B^T in TF32 where A has few rows: B streams through shared memory, of which all blocks have equal shares.
//
// Formula: C[i, j] = sum over l of A[i, l] B[j, l]; 2 m n k FLOP, 4 n k bytes of B, beside which all others are few.
// Mapping: a piece is TILE rows of B over STEP of k. Pieces of a tile follow each other, tile after tile, and a block has as
//   many neighbours among them as any other. One warp brings them, and these parts of A, into a ring by a bulk copy a row: the
//   words of 16 bytes that it lies in, as they lie. Rows 8 apart begin alike, so that a lane's elements all lie by one number
//   of places behind where they would be. Eight warps have slices of a piece along k; B's rows are the 16 of mma.sync, A's
//   are the 8. At a tile's end sums of warps meet in shared memory. Of a tile that several blocks share the one with its
//   last piece adds up what the others leave in memory, in order. A block begins with its last tile, for which another waits,
//   and waits for blocks before it, which have started before.
// Idea: the tiles of shared/loose_tf32.cuh are whole rounds of blocks, of which the last is seldom full and each starts again;
//   here copies never stop. cuda_few_rows has 16 bytes of B a lane under way and no more, and no tensor cores.
#pragma once

#include "shared/loose_bytes.cuh"
#include "shared/overlap.cuh"

namespace streamed {

using Flag = unsigned long long;
constexpr int WARPS = 8, THREADS = WARPS * WARP;  // that multiply; another warp copies

__device__ __forceinline__ void meet() { asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory"); }

__device__ __forceinline__ int floats_past(const float* at) {
    return bytes_past(reinterpret_cast<const unsigned char*>(at)) / 4;
}

// ROOM for rows of A.
template <int TILE_, int STEP_, int ROOM_, int STAGES_>
struct Piece {
    static constexpr int TILE = TILE_, STEP = STEP_, ROOM = ROOM_, STAGES = STAGES_;
    using A = BulkRows<ROOM, STEP * 4>;
    using B = BulkRows<TILE, STEP * 4>;
    static constexpr int PITCH = B::PITCH / 4, STAGE = A::BYTES + B::BYTES;
    static constexpr int SLICE = STEP / WARPS;                             // of a warp, along k
    static constexpr int ROWS = TILE / 16, COLUMNS = ROOM / 8;             // of a warp, in products
    static constexpr int PITCH_SUMS = TILE + 4, SUMS = ROOM * PITCH_SUMS;  // of C transposed: no two lanes in a bank
    static constexpr int ALL = TILE * ROOM, EACH = ALL / THREADS;          // sums of a tile, and of a thread
    static_assert(SLICE % 8 == 0 && ROWS * 16 == TILE && EACH * THREADS == ALL);
    using Sums = float[ROWS][COLUMNS][4];

    // A warp's slice of a piece. With LAST those from `left` on are not there.
    template <bool LAST>
    static __device__ __forceinline__ void add(Sums& sum, const float* of_a, const float* of_b, int left) {
        const auto read = [&](const float* from, int at) { return LAST && at >= left ? 0u : __float_as_uint(*from); };
#pragma unroll
        for (int at = 0; at < SLICE; at += 8) {
            unsigned a[COLUMNS][2], b[ROWS][4];
#pragma unroll
            for (int i = 0; i < COLUMNS * 2; ++i) {
                const int at_k = at + i % 2 * 4;
                a[i / 2][i % 2] = read(of_a + i / 2 * 8 * PITCH + at_k, at_k);
            }
#pragma unroll
            for (int i = 0; i < ROWS * 4; ++i) {
                const int at_k = at + i % 4 / 2 * 4;
                b[i / 4][i % 4] = read(of_b + (i / 4 * 16 + i % 2 * 8) * PITCH + at_k, at_k);
            }
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j) multiply_add(sum[i][j], b[i], a[j][0], a[j][1]);
            }
        }
    }

    // The thread's EACH sums of a tile out of those of warps.
    static __device__ __forceinline__ void join(float (&total)[EACH], const Sums& sum, float* sums) {
        const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
        float* const own = sums + warp * SUMS + lane % 4 * 2 * PITCH_SUMS + lane / 4;
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) {
#pragma unroll
                for (int l = 0; l < 4; ++l) own[(j * 8 + l % 2) * PITCH_SUMS + i * 16 + l / 2 * 8] = sum[i][j][l];
            }
        }
        meet();
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            const int at = i * THREADS + threadIdx.x;
            total[i] = 0.0f;
#pragma unroll
            for (int of = 0; of < WARPS; ++of) total[i] += sums[of * SUMS + at / TILE * PITCH_SUMS + at % TILE];
        }
        meet();  // all have read
    }
};

// What blocks leave of tiles for others: a flag says that it is there.
template <int EACH>
struct Parts {
    float* sums;
    Flag* flags;
    Flag ticket;

    __device__ __forceinline__ float* of(unsigned block) const {
        return sums + static_cast<long long>(block) * (EACH * THREADS) + threadIdx.x;
    }
    __device__ __forceinline__ void leave(const float (&total)[EACH]) const {
#pragma unroll
        for (int i = 0; i < EACH; ++i) __stcg(of(blockIdx.x) + i * THREADS, total[i]);
        __threadfence();
        meet();
        if (threadIdx.x == 0) atomicExch(flags + blockIdx.x, ticket);
    }
    __device__ __forceinline__ void add(float (&total)[EACH], unsigned block) const {
        if (threadIdx.x == 0) {
            while (atomicAdd(flags + block, 0ull) != ticket) {
            }
            flags[block] = 0;  // for another launch with this ticket, of a graph
        }
        meet();
        __threadfence();
#pragma unroll
        for (int i = 0; i < EACH; ++i) total[i] += __ldcg(of(block) + i * THREADS);
    }
};

// One block's share: pieces from `begin` to `end`, of all the tiles'.
struct Share {
    unsigned pieces, all;  // of a tile, and of all
    unsigned begin, end;

    __device__ __forceinline__ Share(unsigned tiles, unsigned pieces) : pieces(pieces), all(tiles * pieces) {
        begin = begin_of(blockIdx.x), end = begin_of(blockIdx.x + 1);
    }
    __device__ __forceinline__ unsigned begin_of(unsigned block) const {
        return static_cast<unsigned>(static_cast<unsigned long long>(all) * block / gridDim.x);
    }
    // From the last tile on back: `take(tile, first, last)` with its pieces.
    template <class Take>
    __device__ __forceinline__ void each_tile(const Take& take) const {
        for (unsigned after = end; after > begin;) {
            const unsigned tile = (after - 1) / pieces, first = max(tile * pieces, begin);
            take(tile, first - tile * pieces, after - tile * pieces);
            after = first;
        }
    }
};

template <class P>
struct Ring {
    unsigned char* stages;
    Barrier *full, *empty;
    int stage = 0;
    unsigned phase = 0;

    __device__ __forceinline__ explicit Ring(unsigned char* stages) : stages(stages) {
        full = reinterpret_cast<Barrier*>(stages + P::STAGES * P::STAGE), empty = full + P::STAGES;
    }
    __device__ __forceinline__ void init() const {
        if (threadIdx.x == 0) {
            for (int i = 0; i < P::STAGES; ++i) {
                init_barrier(full + i, WARP);
                init_barrier(empty + i, WARPS * ARRIVALS_OF_WARP);
            }
            publish_barriers();
        }
        __syncthreads();
    }
    __device__ __forceinline__ unsigned char* here() const { return stages + stage * P::STAGE; }
    __device__ __forceinline__ float* sums() const { return reinterpret_cast<float*>(empty + P::STAGES); }
    __device__ __forceinline__ void advance() {
        if (++stage == P::STAGES) stage = 0, phase ^= 1;
    }
};

// B is n x k, A is m x k.
template <class P>
__device__ __forceinline__ void multiply(
    const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, const Parts<P::EACH>& parts, int m,
    long long n, int k
) {
    extern __shared__ __align__(16) unsigned char stages[];
    Ring<P> ring(stages);
    const int warp = __shfl_sync(WHOLE_WARP, threadIdx.x / WARP, 0), lane = threadIdx.x % WARP;
    const Share share(static_cast<unsigned>((n + P::TILE - 1) / P::TILE), (k + P::STEP - 1) / P::STEP);
    ring.init();
    wait_for_previous();
    let_next_start();
    if (warp == WARPS) {
        const typename P::A rows_a(reinterpret_cast<const unsigned char*>(a), m, k * 4ll, 0, 0);
        share.each_tile([&](unsigned tile, unsigned first, unsigned last) {
            const typename P::B rows_b(
                reinterpret_cast<const unsigned char*>(b), n, k * 4ll, static_cast<long long>(tile) * P::TILE, 0
            );
            for (unsigned piece = first; piece < last; ++piece) {
                wait_for(ring.empty + ring.stage, ring.phase ^ 1);
                Barrier* const full = ring.full + ring.stage;
                const int done = piece * P::STEP, left = (k - done) * 4;
                int bytes = rows_a.fill(ring.here(), lane, done * 4, left, full);
#pragma unroll
                for (int i = 0; i < P::TILE; i += WARP)
                    bytes += rows_b.fill(ring.here() + P::A::BYTES, i + lane, done * 4, left, full);
                arrive_and_expect(full, bytes);
                ring.advance();
            }
        });
        return;
    }
    const int along_k = warp * P::SLICE + lane % 4;
    const int of_a = lane / 4 * P::PITCH + floats_past(a + lane / 4 * static_cast<long long>(k)) + along_k;
    const int of_b =
        P::A::BYTES / 4 + lane / 4 * P::PITCH + floats_past(b + lane / 4 * static_cast<long long>(k)) + along_k;
    share.each_tile([&](unsigned tile, unsigned first, unsigned last) {
        typename P::Sums sum = {};
        for (unsigned piece = first; piece < last; ++piece) {
            wait_for(ring.full + ring.stage, ring.phase);
            const float* const from = reinterpret_cast<const float*>(ring.here());
            const int left = k - static_cast<int>(piece) * P::STEP;
            if (left >= P::STEP) P::template add<false>(sum, from + of_a, from + of_b, 0);
            else P::template add<true>(sum, from + of_a, from + of_b, left - along_k);
            __syncwarp();
            if (arrives_for_warp(lane)) arrive(ring.empty + ring.stage);
            ring.advance();
        }
        float total[P::EACH];
        P::join(total, sum, ring.sums());
        if (last < share.pieces) return parts.leave(total);
        if (first > 0) {
            for (unsigned other = blockIdx.x; share.begin_of(other) > tile * share.pieces;) parts.add(total, --other);
        }
#pragma unroll
        for (int i = 0; i < P::EACH; ++i) {
            const int at = i * THREADS + threadIdx.x, of_c = at / P::TILE;
            const long long column = static_cast<long long>(tile) * P::TILE + at % P::TILE;
            if (of_c < m && column < n) c[of_c * n + column] = total[i];
        }
    });
}

}  // namespace streamed

#define STREAMED_KERNEL(TILE, STEP, ROOM, STAGES)                                                                 \
    extern "C" __global__ void __launch_bounds__(streamed::THREADS + WARP, 1) streamed_##ROOM(                    \
        const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, float* sums,             \
        streamed::Flag* flags, streamed::Flag ticket, long long m, long long n, long long k                       \
    ) {                                                                                                           \
        using Piece = streamed::Piece<TILE, STEP, ROOM, STAGES>;                                                  \
        const streamed::Parts<Piece::EACH> parts{sums, flags, ticket};                                            \
        streamed::multiply<Piece>(a, b, c, parts, static_cast<int>(m), n, static_cast<int>(k));                   \
    }
// As streamed.py has them.
#define STREAMED_KERNELS STREAMED_KERNEL(32, 512, 8, 2)
