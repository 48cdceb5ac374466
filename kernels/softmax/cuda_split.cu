// Softmax of a few rows of any length, of which the whole grid takes parts, in two kernels.
//
// Formula: y[r, c] = exp(x[r, c] - m_r) / sum_c exp(x[r, c] - m_r), m_r the row's maximum, exp(t) = 2^(t log2
//   e). 5 rows cols FLOP, 2 rows cols s bytes.
// Mapping: a block owns a part of a row, of any length and alignment. The first kernel leaves the statistic of each
//   part, the second joins those of its row and makes the outputs: shared/row_split.cuh; x is read twice, the
//   second time from L2 up to its size.
// Idea: cuda_cluster has as many clusters as rows, so that few rows leave multiprocessors idle. Here their number does
//   not matter, at the price of a second read: split reductions as in CUB's DeviceReduce, and a second kernel that
//   starts while the first one works ("Programmatic Dependent Launch" in the CUDA C++ Programming Guide).
#include "shared/row_split.cuh"
#include "softmax/operation.cuh"

extern "C" __global__ void __launch_bounds__(SPLIT_THREADS, 3) softmax_statistics(
    const SCALAR* x, SCALAR* y, Softmax::Statistic* found, long long cols, long long parts
) {
    find_statistics(Softmax{x, y}, found, cols, parts);
}

extern "C" __global__ void __launch_bounds__(SPLIT_THREADS, 3) softmax_outputs(
    const SCALAR* x, SCALAR* y, const Softmax::Statistic* found, long long cols, long long parts
) {
    write_outputs(Softmax{x, y}, found, cols, parts);
}
