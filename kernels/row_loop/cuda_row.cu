// The loop over rows in CUDA C++: a block a row, all rows at once.
//
// Formula: y[r, c] = (x[r, c] - m_r) / sqrt(v_r + 1e-5). Both sums in one pass, of x less the row's first element f:
//   m = f + mean(x - f), v = mean((x - f)^2) - mean(x - f)^2. f is within a few deviations of m, so that the
//   difference loses no more than a few bits. 5 rows cols FLOP; 2 rows cols s compulsory bytes, and the second pass
//   finds the row in L2.
// Mapping: a block owns a row; its threads go along the row's packs of 16 bytes, twice.
// Idea: the shifted sums of Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983.
#include "shared/common.cuh"

constexpr int MOST_THREADS = 1024;  // as in cuda_row.py
constexpr float EPSILON = 1e-5f;

extern "C" __global__ void __launch_bounds__(MOST_THREADS) row(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long cols
) {
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    const AlignedRun run(x, cols);
    const bool has_edge = threadIdx.x < run.edges;
    const float edge = has_edge ? to_float(x[run.edge_at(threadIdx.x)]) : 0.0f;
    const float shift = to_float(x[0]);

    float sum = has_edge ? edge - shift : 0.0f;
    float squares = sum * sum;
#pragma unroll 4
    for (long long pack = threadIdx.x; pack < run.packs; pack += blockDim.x) {
        float values[PACK];
        unpack(load_pack(x + run.pack_at(pack)), values);
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            const float value = values[i] - shift;
            sum += value;
            squares += value * value;
        }
    }
    const float mean = block_sum(sum) / cols;
    __syncthreads();  // block_sum's memory is used again
    const float variance = block_sum(squares) / cols - mean * mean;
    // Rounding may take the variance of equal elements below zero, but not NaN: fmaxf would turn it into zero.
    const float scale = rsqrtf((variance < 0.0f ? 0.0f : variance) + EPSILON);
    const float centre = shift + mean;

    const bool aligned = is_aligned(y + run.head);
    if (has_edge) from_float((edge - centre) * scale, y[run.edge_at(threadIdx.x)]);
#pragma unroll 4
    for (long long pack = threadIdx.x; pack < run.packs; pack += blockDim.x) {
        float values[PACK];
        unpack(load_pack(x + run.pack_at(pack)), values);
#pragma unroll
        for (int i = 0; i < PACK; ++i) values[i] = (values[i] - centre) * scale;
        const Pack result = to_pack(values);
        if (aligned) {
            store_pack(y + run.pack_at(pack), result);
        } else {
            for (int i = 0; i < PACK; ++i) y[run.pack_at(pack) + i] = result.element[i];
        }
    }
}
