// Gradients of the norms of many rows of some hundred columns that begin anywhere: tiles of neighbouring rows come and
// go as runs of bytes, by way of a ring in shared memory.
//
// Rows that begin anywhere are read and written by single elements, too few bytes under way for so many instructions.
// But RUN_ROWS rows together are a whole number of words of 16 bytes, whatever the columns are: the copy engine
// (cp.async.bulk) brings and takes them, as many tiles ahead as shared memory holds, and only shared memory is accessed
// by elements. A warp has rows of each tile, and makes dx where dy was; the block meets once a tile. One block or two of
// a multiprocessor stay, and leave their sums over rows in `partial`.
#pragma once

#include "shared/hopper.cuh"
#include "shared/norm_ahead.cuh"

constexpr int RUN_ROWS = 16;    // of a tile, as in norm_lanes.py
constexpr int MOST_STAGES = 4;  // of the ring, as in norm_lanes.py

#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000  // elsewhere nobody launches it
// What is left of a run behind its last word of 16 bytes, which only the last tile has, the thread copies itself.
template <typename T>
__device__ __forceinline__ int whole_bytes(int count) {
    return count * static_cast<int>(sizeof(T)) / 16 * 16;
}
template <typename T>
__device__ __forceinline__ void copy_rest(T* to, const T* from, int count) {
    for (int i = whole_bytes<T>(count) / static_cast<int>(sizeof(T)); i < count; ++i) to[i] = from[i];
}
template <typename T>
__device__ __forceinline__ void copy_words(T* to, const T* from, int count, Barrier* barrier) {
    if (const int bytes = whole_bytes<T>(count)) copy_bytes(to, from, bytes, barrier);
}

// A tile in the ring.
struct RunTile {
    SCALAR *dy, *x;
    float *rstd, *mean;
};

template <bool CENTRED>
struct RunRing {
    const SCALAR *dy, *x;
    const float *means, *rstds;
    SCALAR* dx;
    int rows, cols;
    Barrier* full;
    unsigned char* slots;

    __device__ __forceinline__ RunTile tile_at(int slot) const {
        const int elements = RUN_ROWS * cols, floats = 2 * RUN_ROWS;
        const int bytes = 2 * elements * static_cast<int>(sizeof(SCALAR)) + floats * static_cast<int>(sizeof(float));
        SCALAR* const dy = reinterpret_cast<SCALAR*>(slots + slot * bytes);
        float* const rstd = reinterpret_cast<float*>(dy + 2 * elements);
        return {dy, dy + elements, rstd, rstd + RUN_ROWS};
    }
    __device__ __forceinline__ int rows_of(int tile) const { return min(RUN_ROWS, rows - tile * RUN_ROWS); }
    __device__ __forceinline__ long long start_of(int tile) const {
        return static_cast<long long>(tile) * RUN_ROWS * cols;
    }

    // By one thread.
    __device__ __forceinline__ void ask(int tile, int slot) const {
        const RunTile to = tile_at(slot);
        Barrier* const barrier = full + slot;
        const int here = rows_of(tile), count = here * cols, first = tile * RUN_ROWS;
        const long long start = start_of(tile);
        copy_rest(to.dy, dy + start, count);
        copy_rest(to.x, x + start, count);
        copy_rest(to.rstd, rstds + first, here);
        if (CENTRED) copy_rest(to.mean, means + first, here);
        arrive_and_expect(barrier, 2 * whole_bytes<SCALAR>(count) + (CENTRED ? 2 : 1) * whole_bytes<float>(here));
        copy_words(to.dy, dy + start, count, barrier);
        copy_words(to.x, x + start, count, barrier);
        copy_words(to.rstd, rstds + first, here, barrier);
        if (CENTRED) copy_words(to.mean, means + first, here, barrier);
    }

    // By one thread: dx, which lies where dy was.
    __device__ __forceinline__ void store(int tile, int slot) const {
        const SCALAR* const from = tile_at(slot).dy;
        SCALAR* const to = dx + start_of(tile);
        const int count = rows_of(tile) * cols;
        if (const int bytes = whole_bytes<SCALAR>(count)) start_store(to, from, bytes);
        commit_stores();
        copy_rest(to, from, count);
    }
};

template <bool CENTRED, int COUNT, class Lane>
__device__ __forceinline__ void make_gradient(
    const RunTile& tile, int row, const Lane& own, const typename Lane::Row& weight, LaneSums<CENTRED, COUNT>& sums,
    int cols
) {
    typename Lane::Row dy, x;
    own.load(tile.dy + row * cols, true, dy);
    own.load(tile.x + row * cols, true, x);
    const Normal<CENTRED> normal(CENTRED ? tile.mean[row] : 0.0f, tile.rstd[row]);
    float2 total[1] = {sums.add(dy, x, weight, normal)};
    sum_over_lanes<CENTRED, WARP>(total);
    own.store(tile.dy + row * cols, dy, x, weight, normal, RowGradient<CENTRED>(normal.rstd, total[0], 1.0f / cols));
}
#endif

// COUNT columns of a lane.
template <bool CENTRED, int COUNT>
__device__ __forceinline__ void run_gradients(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, const float* means, const float* rstds, SCALAR* dx,
    float* partial, int rows, int cols, int stages
) {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000
    using Lane = AheadLane<WARP, COUNT, 1>;
    extern __shared__ __align__(16) unsigned char run_slots[];
    __shared__ Barrier full[MOST_STAGES];
    start_early();
    const bool leads = threadIdx.x == 0;
    const RunRing<CENTRED> ring = {dy, x, means, rstds, dx, rows, cols, full, run_slots};
    const int tiles = (rows + RUN_ROWS - 1) / RUN_ROWS, step = gridDim.x;
    int tile = blockIdx.x;
    if (leads) {
        for (int slot = 0; slot < stages; ++slot) init_barrier(full + slot, 1);
        publish_barriers();
        for (int slot = 0; slot < stages && tile + slot * step < tiles; ++slot) ring.ask(tile + slot * step, slot);
    }
    const Lane own(cols);
    typename Lane::Row weight;
    own.load(w, true, weight);
    LaneSums<CENTRED, COUNT> sums;
    __syncthreads();
    int before = -1;  // the slot whose dx is being stored
    for (int slot = 0, phase = 0; tile < tiles; tile += step) {
        wait_for(full + slot, phase);
        const RunTile at = ring.tile_at(slot);
        const int here = ring.rows_of(tile);
        for (int row = own.group; row < here; row += Lane::GROUPS) make_gradient(at, row, own, weight, sums, cols);
        publish_writes();
        __syncthreads();
        if (leads) {
            ring.store(tile, slot);
            const int coming = tile + (stages - 1) * step;
            if (before >= 0 && coming < tiles) {
                wait_for_reads<1>();
                ring.ask(coming, before);
            }
        }
        before = slot;
        if (++slot == stages) {
            slot = 0;
            phase ^= 1;
        }
    }
    if (leads) wait_for_reads<0>();
    sums.leave(own, cols, reinterpret_cast<float*>(run_slots), partial);
#endif
}

// Columns of a lane, and blocks of a multiprocessor, as norm_lanes.py has them.
#define RUNS_KERNELS   \
    RUNS_KERNEL(8, 2)  \
    RUNS_KERNEL(12, 2) \
    RUNS_KERNEL(16, 2) \
    RUNS_KERNEL(20, 1) \
    RUNS_KERNEL(24, 1) \
    RUNS_KERNEL(28, 1) \
    RUNS_KERNEL(32, 1)
