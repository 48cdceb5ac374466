// Layer norm of a few rows of any length, of which the whole grid takes parts, in two kernels.
//
// Formula: y[r, c] = (x[r, c] - m_r) / sqrt(v_r + 1e-5) w[c] + b[c], m_r and v_r the row's mean and variance. 8
//   rows cols FLOP, (2 rows cols + 2 cols) s bytes.
// Mapping: a block owns a part of a row, of any length and alignment. The first kernel leaves the statistic of each
//   part, the second joins those of its row and makes the outputs: shared/row_split.cuh; x is read twice, the
//   second time from L2 up to its size.
// Idea: cuda_cluster has as many clusters as rows, so that few rows leave multiprocessors idle. Here their number does
//   not matter, at the price of a second read: split reductions as in CUB's DeviceReduce, and a second kernel that
//   starts while the first one works ("Programmatic Dependent Launch" in the CUDA C++ Programming Guide).
#include "shared/row_split.cuh"
#include "layer_norm/operation.cuh"

extern "C" __global__ void __launch_bounds__(SPLIT_THREADS, 3) layer_norm_statistics(
    const SCALAR* x, const SCALAR* w, const SCALAR* b, SCALAR* y, LayerNorm::Statistic* found, long long cols,
    long long parts
) {
    find_statistics(LayerNorm{x, {w, cols}, {b, cols}, y}, found, cols, parts);
}

constexpr int OUTPUT_BLOCKS = __CUDA_ARCH__ >= 1000 ? 2 : 3;  // of a multiprocessor: there three would spill

extern "C" __global__ void __launch_bounds__(SPLIT_THREADS, OUTPUT_BLOCKS) layer_norm_outputs(
    const SCALAR* x, const SCALAR* w, const SCALAR* b, SCALAR* y, const LayerNorm::Statistic* found, long long cols,
    long long parts
) {
    write_outputs(LayerNorm{x, {w, cols}, {b, cols}, y}, found, cols, parts);
}
