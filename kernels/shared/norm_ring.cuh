// Gradients of the norms of many rows too long for the registers of a block: a grid that stays, its rows copied ahead into a
// ring in shared memory.
//
// A row group of threads walks along rows, each thread always the same packs of columns, whose sums over rows it keeps
// in registers. The copy engine (cp.async.bulk) brings the rows, as many ahead as shared memory holds: a row under way
// takes no register and no instruction, and the row that is here is read twice, from shared memory. A group meets once
// a row, when all of it has its part of the sums over the row; by then it has left the row before, whose place the next
// copy takes. Where a row is too long for a block, the blocks of a CLUSTER have a piece of it each and exchange
// its sums. Each block leaves its sums over rows in `partial`; sum_of_parts adds these up. Rows begin on 16 bytes.
// norm_ring.py chooses the sizes.
#pragma once

#include "shared/hopper.cuh"
#include "shared/norm_backward.cuh"
#include "shared/norm_terms.cuh"
#include "shared/overlap.cuh"

constexpr int RING_THREADS = 512;  // of a block, as in norm_ring.py
constexpr int RING_PACKS = 4;      // of a thread, as in norm_ring.py
constexpr int MOST_SLOTS = 16;     // of the rings of a block, as in norm_ring.py

// ---- The ring ----------------------------------------------------------------------------------

struct Ring {
    char* slots;  // of this row group: a row's piece of dy, then of x
    Barrier* full;
    int stages, stage_bytes;

    __device__ __forceinline__ char* piece(int slot, int tensor) const {
        return slots + (slot * 2 + tensor) * stage_bytes;
    }
    __device__ __forceinline__ const Bits* words(int slot, int tensor) const {
        return reinterpret_cast<const Bits*>(piece(slot, tensor));
    }

    // Copies the block's piece of a row of dy and of x.
    __device__ __forceinline__ void copy(int slot, const SCALAR* dy, const SCALAR* x, int bytes) const {
        arrive_and_expect(full + slot, 2 * bytes);
        copy_bytes(piece(slot, 0), dy, bytes, full + slot);
        copy_bytes(piece(slot, 1), x, bytes, full + slot);
    }
};

// A thread's packs of the columns that its block has of a row, THREADS apart, numbered from the block's first column.
template <int THREADS>
struct RingShare {
    int thread, length;

    __device__ __forceinline__ int column(int p) const { return (thread + p * THREADS) * PACK; }
    __device__ __forceinline__ bool has(int p) const { return column(p) < length; }

    // Of a row's piece in shared memory, or of the weights. Zeros outside.
    __device__ __forceinline__ Bits take(const Bits* words, int p) const {
        return has(p) ? words[thread + p * THREADS] : Bits{};
    }
    __device__ __forceinline__ void store(SCALAR* piece, int p, const Bits& bits) const {
        if (has(p)) *reinterpret_cast<Bits*>(piece + column(p)) = bits;
    }
};

// ---- Sums over a row ---------------------------------------------------------------------------

// Over the row group. Successive calls alternate between two slots.
template <bool CENTRED>
__device__ __forceinline__ float2 sum_over_row_group(float2 mine, int warps, int turn) {
    __shared__ float2 partial[2][WARP];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, group = warp / warps;
    if (CENTRED) mine.x = warp_sum(mine.x);
    mine.y = warp_sum(mine.y);
    if (warps == 1) {
        __syncwarp();
        return mine;
    }
    if (lane == 0) partial[turn % 2][warp] = mine;
    meet_row_group(group, warps);
    float2 other = {0.0f, 0.0f};
    if (lane < warps) other = partial[turn % 2][group * warps + lane];
    if (CENTRED) other.x = warp_sum(other.x);
    other.y = warp_sum(other.y);
    return other;
}

// Over the blocks of a cluster, in the order of their ranks. A block is never two rows ahead of another one, so that
// two slots are enough. Each store counts on a barrier of the block that it goes to: to meet at the cluster's own
// barrier would take a fence, which waits until all that has been stored of dx is there.
template <int CLUSTER>
struct ClusterSums {
    float2 (*of_block)[CLUSTER];  // two slots of the row group
    Barrier* met;                 // likewise

    __device__ __forceinline__ float2 over_cluster(float2 mine, int turn, int thread) const {
        const int slot = turn % 2;
        if (thread == 0) arrive_and_expect(met + slot, CLUSTER * sizeof(float2));
        if (thread < CLUSTER) {
            send_to(address_in(thread, &of_block[slot][rank_in_cluster()]), mine, address_in(thread, met + slot));
        }
        wait_for(met + slot, turn / 2 % 2);
        float2 total = {0.0f, 0.0f};
#pragma unroll
        for (int block = 0; block < CLUSTER; ++block) {
            const float2 more = of_block[slot][block];
            total = {total.x + more.x, total.y + more.y};
        }
        return total;
    }
};

// ---- The sums over rows that a block leaves ----------------------------------------------------

// Column `col` of sums in shared memory: packs side by side, and a bank more each 32 columns, so that the lanes of a
// warp find their packs in different banks.
__device__ __forceinline__ int padded(int col) { return col + col / WARP; }

// The row groups add theirs one after the other; the whole block stores them.
template <bool CENTRED, int THREADS>
__device__ __forceinline__ void store_sums(
    const ColumnSums<CENTRED> (&own)[RING_PACKS], const RingShare<THREADS>& share, float* shared, float* to_dw,
    float* to_db
) {
    const int group = threadIdx.x / THREADS, groups = blockDim.x / THREADS;
    float* const of_db = shared + padded(share.length);
    for (int turn = 0; turn < groups; ++turn) {
        __syncthreads();
        if (group != turn) continue;
#pragma unroll
        for (int p = 0; p < RING_PACKS; ++p) {
            if (!share.has(p)) continue;
#pragma unroll
            for (int i = 0; i < PACK; ++i) {
                const int at = padded(share.column(p) + i);
                shared[at] = turn ? shared[at] + own[p].dw[i] : own[p].dw[i];
                if (CENTRED) of_db[at] = turn ? of_db[at] + own[p].db[i] : own[p].db[i];
            }
        }
    }
    __syncthreads();
    for (int col = threadIdx.x; col < share.length; col += blockDim.x) {
        to_dw[col] = shared[padded(col)];
        if (CENTRED) to_db[col] = of_db[padded(col)];
    }
}

// ---- The kernel --------------------------------------------------------------------------------

// A block has `length` columns of its rows, of the last block of a cluster less are there.
template <bool CENTRED, int THREADS, int CLUSTER>
__device__ __forceinline__ void ring_gradients(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, const float* means, const float* rstds, SCALAR* dx,
    float* partial, int rows, long long cols, int length, int stages, int stage_bytes
) {
    start_early();
    constexpr int GROUPS = RING_THREADS / THREADS;
    extern __shared__ float4 shared[];
    __shared__ Barrier full[MOST_SLOTS], met[GROUPS][2];
    __shared__ float2 of_block[GROUPS][2][CLUSTER];
    const int group = threadIdx.x / THREADS, thread = threadIdx.x % THREADS;
    const Ring ring = {reinterpret_cast<char*>(shared) + group * stages * 2 * stage_bytes, full + group * stages,
                       stages, stage_bytes};
    const ClusterSums<CLUSTER> cluster = {of_block[group], met[group]};
    const int start = CLUSTER > 1 ? static_cast<int>(rank_in_cluster()) * length : 0;
    const RingShare<THREADS> share = {thread, min(static_cast<int>(cols) - start, length)};

    const int step = gridDim.x / CLUSTER * GROUPS;
    int row = blockIdx.x / CLUSTER * GROUPS + group;
    const auto copy = [&](int slot, int row) {
        const long long at = row * cols + start;
        if (row < rows) ring.copy(slot, dy + at, x + at, share.length * sizeof(SCALAR));
    };
    if (threadIdx.x < GROUPS * stages) init_barrier(full + threadIdx.x, 1);
    if (threadIdx.x < GROUPS * 2) init_barrier(met[0] + threadIdx.x, 1);
    publish_barriers();
    __syncthreads();
    if (CLUSTER > 1) meet_cluster();  // none writes into a block that has not started
    if (thread == 0) {
        for (int slot = 0; slot < stages; ++slot) copy(slot, row + slot * step);
    }

    Bits weights[RING_PACKS];
#pragma unroll
    for (int p = 0; p < RING_PACKS; ++p) weights[p] = share.take(reinterpret_cast<const Bits*>(w + start), p);
    const float one_of_cols = 1.0f / cols;
    ColumnSums<CENTRED> sums[RING_PACKS];
    float next_mean = 0.0f, next_rstd = 0.0f;
    const auto load_next = [&](int row) {
        if (row >= rows) return;
        next_rstd = rstds[row];
        if (CENTRED) next_mean = means[row];
    };
    load_next(row);
    int slot = 0;
    unsigned phase = 0;
    for (int turn = 0; row < rows; row += step, ++turn) {
        const Normal<CENTRED> normal(next_mean, next_rstd);
        load_next(row + step);
        wait_for(ring.full + slot, phase);
        const Bits *const words_of_dy = ring.words(slot, 0), *const words_of_x = ring.words(slot, 1);
        float2 total = {0.0f, 0.0f};
#pragma unroll
        for (int p = 0; p < RING_PACKS; ++p) {
            add_terms(total, sums[p], normal, share.take(words_of_dy, p), share.take(words_of_x, p), weights[p]);
        }
        total = sum_over_row_group<CENTRED>(total, THREADS / WARP, turn);
        if (thread == 0 && turn > 0) copy(slot == 0 ? stages - 1 : slot - 1, row + (stages - 1) * step);
        if (CLUSTER > 1) total = cluster.over_cluster(total, turn, thread);

        const RowGradient<CENTRED> gradient(normal.rstd, total, one_of_cols);
#pragma unroll
        for (int p = 0; p < RING_PACKS; ++p) {
            float of_dy[PACK], of_x[PACK];
            unpack_words(share.take(words_of_dy, p), of_dy);
            unpack_words(share.take(words_of_x, p), of_x);
            keep_packed(weights[p]);
            share.store(dx + (row * cols + start), p, gradient.of(normal, of_dy, of_x, weights[p]));
        }
        if (++slot == stages) {
            slot = 0;
            phase ^= 1;
        }
    }
    meet_as_often(row - group < rows, group, THREADS / WARP);

    const long long block = blockIdx.x / CLUSTER, blocks = gridDim.x / CLUSTER;
    float* const to_dw = partial + block * cols + start;
    store_sums(sums, share, reinterpret_cast<float*>(shared), to_dw, to_dw + blocks * cols);
}
