// C = A B^T in TF32 by wgmma where rows of the larger matrix, X, begin anywhere: without a copy of X.
//
// Formula: C[i, j] = sum over l of A[i, l] B[j, l]; 2 m n k FLOP.
// Mapping: rows of X 4 apart begin alike in words of 16 bytes. So each fourth row belongs to a matrix that TMA copies, from
//   the word on in which the first of them begins: its elements lie up to three places later, and four more come with each
//   step. The rows of a tile lie in shared memory class by class, ROWS / 4 of each. wgmma takes its A from registers, and
//   threads read them where the class has them, which is one for the 16 rows of a warp. The other matrix, Y, is its B and must
//   have rows of whole 16 bytes: a kernel in front makes them, as Y is the smaller one. X is A, or else B, and C is stored
//   transposed. The blocks of a cluster share a tile, each over a part of k. Their sums meet in shared memory, and each
//   block adds up some lines of C.
// Idea: a copy of X is three times its traffic, and with mma.sync from rows as they lie (shared/loose_tf32.cuh) each word of 16
//   bytes is a thread's own copy.
#pragma once

#include "shared/cluster_sums.cuh"
#include "shared/overlap.cuh"
#include "shared/wgmma_products.cuh"

namespace amid {

constexpr int CLASSES = 4;
constexpr int PLACES = STEP_K + CLASSES;  // of a row of X in a stage: 16 bytes more than a step
constexpr int MOST_SHARING = 16;          // blocks, of a tile

// sum (64 x COLUMNS) += a b, with a in registers: element (g, q), (g + 8, q), (g, q + 4), (g + 8, q + 4) of a warp's 16 x 8.
#define MULTIPLY_HELD(COLUMNS, COUNT, A, B, ...)                                                                  \
    __device__ __forceinline__ void multiply_held(                                                                \
        float (&sum)[COUNT], const unsigned (&a)[4], unsigned long long b                                         \
    ) {                                                                                                           \
        asm volatile("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"                                               \
                     "wgmma.mma_async.sync.aligned.m64n" #COLUMNS PRODUCTS " {" NAMES_##COUNT "}, " A ", " B      \
                     ", add, 1, 1;\n}"                                                                            \
                     : __VA_ARGS__                                                                                \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                       \
    }
MULTIPLY_HELD(32, 16, "{%16, %17, %18, %19}", "%20", SUMS_16(0))
MULTIPLY_HELD(64, 32, "{%32, %33, %34, %35}", "%36", SUMS_32(0))
MULTIPLY_HELD(112, 56, "{%56, %57, %58, %59}", "%60", SUMS_32(0), SUMS_16(32), SUMS_8(48))
MULTIPLY_HELD(144, 72, "{%72, %73, %74, %75}", "%76", SUMS_64(0), SUMS_8(64))
MULTIPLY_HELD(192, 96, "{%96, %97, %98, %99}", "%100", SUMS_64(0), SUMS_32(64))

template <int ROWS, int COLUMNS, int STAGES>
struct Tile {
    static constexpr int CONSUMERS = ROWS / 64, WARPS = CONSUMERS * 4 + 1;  // one of them copies
    static constexpr int OF_CLASS = ROWS / CLASSES;                         // rows
    static constexpr int BYTES_OF_CLASS = OF_CLASS * PLACES * 4, BYTES_Y = COLUMNS * ROW;
    static constexpr int STAGE = BYTES_Y + CLASSES * BYTES_OF_CLASS;
    static constexpr int PITCH = COLUMNS + 1;  // of sums: odd, as some threads read columns
    static_assert(STAGE % ATOM == 0 && BYTES_OF_CLASS % 128 == 0 && ROWS * PITCH * 4 <= STAGES * STAGE);

    unsigned char* stages;
    Barrier *full, *empty;
    int row0, column0;  // of the tile, in X and in Y

    __device__ __forceinline__ Tile(unsigned char* stages, unsigned tile, long long n) : stages(stages) {
        full = reinterpret_cast<Barrier*>(stages + STAGES * STAGE), empty = full + STAGES;
        const unsigned across = (static_cast<unsigned>(n) + COLUMNS - 1) / COLUMNS;
        row0 = static_cast<int>(tile / across) * ROWS, column0 = static_cast<int>(tile % across) * COLUMNS;
    }

    __device__ __forceinline__ void init() const {
        for (int stage = 0; stage < STAGES; ++stage) {
            init_barrier(full + stage, 1);
            init_barrier(empty + stage, CONSUMERS);
        }
        publish_barriers();
    }

    // By one thread.
    __device__ __forceinline__ void copy(
        const CUtensorMap* const (&x)[CLASSES], const CUtensorMap& y, int first, int steps
    ) const {
        for (int step = 0; step < steps; ++step) {
            const int stage = step % STAGES, at = first + step * STEP_K;
            wait_for(empty + stage, step / STAGES % 2 ^ 1);
            arrive_and_expect(full + stage, STAGE);
            unsigned char* const to = stages + stage * STAGE;
            copy_box(to, y, at, column0, full + stage);
#pragma unroll
            for (int i = 0; i < CLASSES; ++i)
                copy_box(to + BYTES_Y + i * BYTES_OF_CLASS, *x[i], at, row0 / CLASSES, full + stage);
        }
    }

    // By a warpgroup; `shifts` has a byte for each class: places by which its elements lie later. A thread reads the next
    // step's factors while wgmma takes those of this one.
    __device__ __forceinline__ void multiply(float (&sum)[COLUMNS / 2], unsigned shifts, int steps) const {
        const int lane = threadIdx.x % WARP, first_row = __shfl_sync(WHOLE_WARP, threadIdx.x / WARP, 0) * 16;
        const int shift = shifts >> first_row / OF_CLASS * 8 & 255;
        const int own = (first_row + lane / 4) * PLACES + shift + lane % 4;
        unsigned now[4][4], next[4][4] = {};
        const auto read = [&](unsigned (&to)[4][4], int step) {
            wait_for(full + step % STAGES, step / STAGES % 2);
            const unsigned* const from =
                reinterpret_cast<const unsigned*>(stages + step % STAGES * STAGE + BYTES_Y) + own;
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                to[i][0] = from[i * 8], to[i][1] = from[i * 8 + 8 * PLACES];
                to[i][2] = from[i * 8 + 4], to[i][3] = from[i * 8 + 4 + 8 * PLACES];
            }
        };
        if (steps > 0) read(now, 0);
        for (int step = 0; step < steps; ++step) {
            const unsigned long long tile_y = swizzled_tile(stages + step % STAGES * STAGE, ATOM, 0);
            begin_products();
#pragma unroll
            for (int i = 0; i < 4; ++i) multiply_held(sum, now[i], tile_y + i * 2);
            commit_products();
            if (step + 1 < steps) read(next, step + 1);
            wait_for_products<0>();
            if (threadIdx.x % WARPGROUP == 0) arrive(empty + step % STAGES);
#pragma unroll
            for (int i = 0; i < 16; ++i) now[i / 4][i % 4] = next[i / 4][i % 4];
        }
        settle(sum);
    }

    __device__ __forceinline__ float* sums() const { return reinterpret_cast<float*>(stages); }

    __device__ __forceinline__ void leave(const float (&sum)[COLUMNS / 2]) const {
        const int lane = threadIdx.x % WARP;
        float* const to = sums() + (threadIdx.x / WARP * 16 + lane / 4) * PITCH + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < COLUMNS / 2; i += 4) {
            to[i * 2] = sum[i], to[i * 2 + 1] = sum[i + 1];
            to[i * 2 + 8 * PITCH] = sum[i + 2], to[i * 2 + 8 * PITCH + 1] = sum[i + 3];
        }
    }

    // The lines of C that this block adds up, a warp each: rows of X, or where C is transposed of Y.
    __device__ __forceinline__ void store(float* c, int m, int n, bool is_transposed, int rank, int blocks) const {
        const int rows = min(ROWS, m - row0), columns = min(COLUMNS, n - column0);
        const int lines = is_transposed ? columns : rows, length = is_transposed ? rows : columns;
        const int each = (lines + blocks - 1) / blocks, end = min((rank + 1) * each, lines);
        for (int line = rank * each + static_cast<int>(threadIdx.x) / WARP; line < end; line += WARPS) {
            float* const to = is_transposed ? c + static_cast<long long>(column0 + line) * m + row0
                                            : c + static_cast<long long>(row0 + line) * n + column0;
            for (int i = threadIdx.x % WARP; i < length; i += WARP) {
                const int row = is_transposed ? i : line, column = is_transposed ? line : i;
                const float* const at = sums() + (row % CLASSES * OF_CLASS + row / CLASSES) * PITCH + column;
                to[i] = blocks > 1 ? sum_over_cluster<MOST_SHARING>(at, blocks) : *at;
            }
        }
    }
};

// X is m x k, Y is n x k; a block takes `slice` of k.
template <int ROWS, int COLUMNS, int STAGES>
__device__ __forceinline__ void multiply(
    const CUtensorMap* const (&x)[CLASSES], const CUtensorMap& y, float* __restrict__ c, long long m, long long n,
    long long k, unsigned shifts, int slice, bool is_transposed
) {
    using Shape = Tile<ROWS, COLUMNS, STAGES>;
    extern __shared__ __align__(1024) unsigned char stages[];
    const int blocks = blocks_of_cluster(), rank = static_cast<int>(rank_in_cluster());
    const Shape tile(stages, blockIdx.x / blocks, n);
    const int all = static_cast<int>(k), first = static_cast<int>(min(static_cast<long long>(rank) * slice, k));
    const int steps = (min(slice, all - first) + STEP_K - 1) / STEP_K;
    const int warp = __shfl_sync(WHOLE_WARP, threadIdx.x / WARP, 0);
    if (threadIdx.x == 0) tile.init();
    if (threadIdx.x == (Shape::WARPS - 1) * WARP) {
        prefetch_map(y);
#pragma unroll
        for (int i = 0; i < CLASSES; ++i) prefetch_map(*x[i]);
    }
    __syncthreads();
    wait_for_previous();
    let_next_start();
    float sum[COLUMNS / 2] = {};
    if (warp < Shape::WARPS - 1) tile.multiply(sum, shifts, steps);
    else if (threadIdx.x % WARP == 0) tile.copy(x, y, first, steps);
    __syncthreads();  // all that was copied was read: stages hold sums from here on
    if (warp < Shape::WARPS - 1) tile.leave(sum);
    if (blocks > 1) {
        arrive_with_writes();
        wait_for_cluster();
    } else {
        __syncthreads();
    }
    tile.store(c, static_cast<int>(m), static_cast<int>(n), is_transposed, rank, blocks);
    if (blocks > 1) meet_cluster();  // nobody leaves before all have read
}

}  // namespace amid

#define AMID_KERNEL(ROWS, COLUMNS, STAGES)                                                                        \
    extern "C" __global__ void __launch_bounds__(ROWS / 64 * WARPGROUP + WARP, 1) amid_##ROWS##x##COLUMNS(        \
        const __grid_constant__ CUtensorMap x0, const __grid_constant__ CUtensorMap x1,                           \
        const __grid_constant__ CUtensorMap x2, const __grid_constant__ CUtensorMap x3,                           \
        const __grid_constant__ CUtensorMap y, float* c, long long m, long long n, long long k, long long shifts, \
        long long slice, long long is_transposed                                                                  \
    ) {                                                                                                           \
        amid::multiply<ROWS, COLUMNS, STAGES>(                                                                    \
            {&x0, &x1, &x2, &x3}, y, c, m, n, k, static_cast<unsigned>(shifts), static_cast<int>(slice),          \
            is_transposed != 0                                                                                    \
        );                                                                                                        \
    }
// As amid.py has them.
#define AMID_KERNELS         \
    AMID_KERNEL(64, 32, 10)  \
    AMID_KERNEL(64, 64, 10)  \
    AMID_KERNEL(128, 112, 6) \
    AMID_KERNEL(128, 144, 6) \
    AMID_KERNEL(128, 192, 5)
