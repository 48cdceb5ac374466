// Residual addition and RMS norm of a few rows of any length, of which the whole grid takes parts, in two kernels.
//
// Formula: h = x + residual; y[r, c] = h[r, c] / sqrt(q_r + 1e-6) w[c], q_r the mean of the squares of row r of
//   h. 5 rows cols FLOP, (4 rows cols + cols) s bytes.
// Mapping: a block owns a part of a row, of any length and alignment. The first kernel leaves the statistic of each
//   part and stores h, the second joins those of its row and makes y of h, which it reads from L2 up to its size:
//   shared/row_split.cuh.
// Idea: cuda_cluster has as many clusters as rows, so that few rows leave multiprocessors idle. Here their number does
//   not matter, at the price of a second read: split reductions as in CUB's DeviceReduce, and a second kernel that
//   starts while the first one works ("Programmatic Dependent Launch" in the CUDA C++ Programming Guide).
#include "shared/row_split.cuh"
#include "add_rms_norm/operation.cuh"

extern "C" __global__ void __launch_bounds__(SPLIT_THREADS, 3) add_rms_norm_statistics(
    const SCALAR* x, const SCALAR* residual, const SCALAR* w, SCALAR* y, SCALAR* h, RmsNorm::Statistic* found,
    long long cols, long long parts
) {
    find_statistics(AddRmsNorm(x, residual, {w, cols}, y, h), found, cols, parts);
}

extern "C" __global__ void __launch_bounds__(SPLIT_THREADS, 3) add_rms_norm_outputs(
    const SCALAR* x, const SCALAR* residual, const SCALAR* w, SCALAR* y, SCALAR* h, const AddRmsNorm::Statistic* found,
    long long cols, long long parts
) {
    write_outputs(AddRmsNorm(x, residual, {w, cols}, y, h), found, cols, parts);
}
