// Layer norm of long rows by clusters of blocks: one read and one write of memory where one block cannot hold a row.
//
// Formula: y[r, c] = (x[r, c] - m_r) / sqrt(v_r + 1e-5) w[c] + b[c], m_r and v_r the row's mean and variance. 8
//   rows cols FLOP, (2 rows cols + 2 cols) s bytes.
// Mapping: a cluster of 1 to 16 blocks owns a row, of any length and alignment. Each block copies its part into shared
//   memory by bulk copies, all of it under way at once, and several blocks share a multiprocessor, so that one reads
//   while another computes and writes: shared/row_cluster.cuh. shared/row_parts.py chooses by the shape.
// Idea: cuda_registers reads a row that is too long for one block more than once. The blocks of a cluster have room for
//   it together, and tell each other their statistics through distributed shared memory, as in QuACK (Dao-AILab).
#include "shared/row_cluster.cuh"
#include "layer_norm/operation.cuh"
#include "layer_norm/held.cuh"

constexpr int CLUSTER_BLOCKS = __CUDA_ARCH__ >= 1000 ? 1 : 2;  // of a multiprocessor: there two would spill

extern "C" __global__ void __launch_bounds__(MOST_THREADS, CLUSTER_BLOCKS) layer_norm_cluster(
    const SCALAR* x, const SCALAR* w, const SCALAR* b, SCALAR* y, long long cols
) {
    rows_by_clusters(LayerNorm{x, {w, cols}, {b, cols}, y}, cols);
}

// Few rows, in registers: shared/held_rows.cuh.
#define HELD(PACKS, NAME, ALIGNED)                                                                                     \
    extern "C" __global__ void __launch_bounds__(HELD_THREADS) layer_norm_cluster_held_##NAME(                         \
        const SCALAR* x, const SCALAR* w, const SCALAR* b, SCALAR* y, long long cols                                   \
    ) {                                                                                                                \
        rows_held<PACKS, ALIGNED>(HeldLayerNorm(x, {w, cols}, {b, cols}, y), cols);                                    \
    }
HELD_KERNELS(HELD)

// The same, with what columns have in shared memory.
constexpr int COPIED_BLOCKS[] = {0, 0, 6, 0, 2, 0, 0, 0, 2};  // of a multiprocessor, by packs: no spilling
#define COPIED(PACKS, NAME, ALIGNED)                                                                                   \
    extern "C" __global__ void __launch_bounds__(HELD_THREADS, COPIED_BLOCKS[PACKS])                                   \
    layer_norm_cluster_copied_##NAME(                                                                                  \
        const SCALAR* x, const SCALAR* w, const SCALAR* b, SCALAR* y, long long cols                                   \
    ) {                                                                                                                \
        rows_held<PACKS, ALIGNED, CopiedColumns>(                                                                      \
            HeldLayerNorm(x, {w, cols}, {b, cols}, y), cols                                                            \
        );                                                                                                             \
    }
COPIED_KERNELS(COPIED)

// Both, of rows that begin on 8 bytes.
#define HELD_BY_8(PACKS)                                                                                               \
    extern "C" __global__ void __launch_bounds__(HELD_THREADS) layer_norm_cluster_held_##PACKS##_by_8(                 \
        const SCALAR* x, const SCALAR* w, const SCALAR* b, SCALAR* y, long long cols                                   \
    ) {                                                                                                                \
        rows_held<PACKS, true, HeldColumns, 8>(HeldLayerNorm(x, {w, cols}, {b, cols}, y), cols);                       \
    }
#define COPIED_BY_8(PACKS)                                                                                             \
    extern "C" __global__ void __launch_bounds__(HELD_THREADS, COPIED_BLOCKS[PACKS])                                   \
    layer_norm_cluster_copied_##PACKS##_by_8(const SCALAR* x, const SCALAR* w, const SCALAR* b, SCALAR* y, long long cols) {\
        rows_held<PACKS, true, CopiedColumns, 8>(HeldLayerNorm(x, {w, cols}, {b, cols}, y), cols);                     \
    }
KERNELS_BY_8(HELD_BY_8, COPIED_BY_8)
