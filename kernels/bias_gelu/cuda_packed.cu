// Bias and GELU in one pass, 16 bytes a thread.
//
// Formula: z = x + b, y = z / (1 + exp(-2u)) with u = sqrt(2/pi) (z + 0.044715 z^3) (see gelu/cuda_sigmoid).
//   10 rows cols FLOP by the spec's count; (2 rows cols + cols)s bytes: b stays in L1.
// Mapping: thread t of the grid owns pack t of the matrix as one run, wherever its rows begin, so that x and
//   y move by 16 bytes at any number of columns. One remainder a thread finds the column; 32 bits do where
//   rows are whole packs.
// Idea: fusion of pointwise operations. A 16-bit element has some 31 issue slots at the bandwidth of an H200,
//   and eight elements share the cost of finding their column.
#include "shared/common.cuh"
#include "shared/division.cuh"
#include "shared/overlap.cuh"

constexpr int THREADS = 256;  // as in cuda_packed.py

// The biases of PACK elements from column `col` on, in as many rows as it takes.
__device__ __forceinline__ Pack biases(const SCALAR* b, long long col, long long cols) {
    if (col + PACK <= cols) return load_part(b + col, PACK);
    Pack pack;
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
        pack.element[i] = b[col];
        if (++col == cols) col = 0;
    }
    return pack;
}

__device__ __forceinline__ float gelu_of_sum(float x, float b) {
    // exp(-2u) = 2^(z (LINEAR + CUBIC z^2)): -2 sqrt(2/pi) log2(e), and that times 0.044715.
    constexpr float LINEAR = -2.302208198144325f;
    constexpr float CUBIC = -0.10294323958002349f;
    const float z = x + b;
    return z * fast_reciprocal(1.0f + fast_exp2(z * fmaf(CUBIC, z * z, LINEAR)));
}

extern "C" __global__ void __launch_bounds__(THREADS) bias_gelu(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ b, SCALAR* __restrict__ y, long long n, long long cols
) {
    start_early();
    const auto of = [](float x, float b) { return gelu_of_sum(x, b); };
    const long long pack = thread_of_grid(), first = pack * PACK, left = n - first;
    if (left >= PACK && cols % PACK == 0 && are_aligned(y, x, b)) {
        const Pack values = load_pack_evict_last(x + first);
        const long long col = static_cast<unsigned>(pack) % static_cast<unsigned>(cols / PACK) * PACK;
        store_whole_pack(y + first, map_packs(of, values, load_pack_evict_last(b + col)));
    } else if (left > 0) {
        const Pack values = load_part(x + first, left);
        store_part(y + first, map_packs(of, values, biases(b, first % cols, cols)), left);
    }
}

// Rows of no whole packs, of fewer than 2^31 elements together: one remainder of few instructions.
extern "C" __global__ void __launch_bounds__(THREADS) bias_gelu_run(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ b, SCALAR* __restrict__ y, long long n, long long cols,
    long long multiplier, long long shift
) {
    start_early();
    const unsigned first = static_cast<unsigned>(thread_of_grid()) * PACK;
    if (first >= n) return;
    const Pack values = load_part(x + first, n - first);
    const Division by_cols(cols, multiplier, shift);
    const unsigned col = by_cols.remainder(first, by_cols.quotient(first));
    const auto of = [](float x, float b) { return gelu_of_sum(x, b); };
    store_part(y + first, map_packs(of, values, biases(b, col, cols)), n - first);
}

// An element a thread: of a small matrix more threads have something to do, and each has less.
extern "C" __global__ void __launch_bounds__(THREADS) bias_gelu_elements(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ b, SCALAR* __restrict__ y, long long n, long long cols,
    long long multiplier, long long shift
) {
    start_early();
    const unsigned at = blockIdx.x * THREADS + threadIdx.x;
    if (at >= n) return;
    const Division by_cols(cols, multiplier, shift);
    from_float(gelu_of_sum(to_float(x[at]), to_float(b[by_cols.remainder(at, by_cols.quotient(at))])), y[at]);
}
