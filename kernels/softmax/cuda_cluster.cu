// Softmax of long rows by clusters of blocks: one read and one write of memory where one block cannot hold a row.
//
// Formula: y[r, c] = exp(x[r, c] - m_r) / sum_c exp(x[r, c] - m_r), m_r the row's maximum, exp(t) = 2^(t log2
//   e). 5 rows cols FLOP, 2 rows cols s bytes.
// Mapping: a cluster of 1 to 16 blocks owns a row, of any length and alignment. Each block copies its part into shared
//   memory by bulk copies, all of it under way at once, and several blocks share a multiprocessor, so that one reads
//   while another computes and writes: shared/row_cluster.cuh. shared/row_parts.py chooses by the shape.
// Idea: cuda_registers reads a row that is too long for one block more than once. The blocks of a cluster have room for
//   it together, and tell each other their statistics through distributed shared memory, as in QuACK (Dao-AILab).
#include "shared/row_cluster.cuh"
#include "softmax/operation.cuh"
#include "softmax/held.cuh"

extern "C" __global__ void __launch_bounds__(MOST_THREADS, 2) softmax_cluster(
    const SCALAR* x, SCALAR* y, long long cols
) {
    rows_by_clusters(Softmax{x, y}, cols);
}

// Few rows, in registers: shared/held_rows.cuh.
#define HELD(PACKS, NAME, ALIGNED)                                                                                     \
    extern "C" __global__ void __launch_bounds__(HELD_THREADS) softmax_cluster_held_##NAME(                            \
        const SCALAR* x, SCALAR* y, long long cols                                                                     \
    ) {                                                                                                                \
        rows_held<PACKS, ALIGNED>(HeldSoftmax(x, y), cols);                                                            \
    }
HELD_KERNELS(HELD)
