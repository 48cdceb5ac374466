// The small operations in one pass, with one exponential for the sigmoid and the tanh.
//
// Formula: with t = exp(-|x|) and x >= 0, sigmoid(x) tanh(x) = 1 / (1 + t) (1 - t^2) / (1 + t^2) = (1 - t) /
//   (1 + t^2); for x < 0 it is that times -t. As t <= 1, nothing overflows. 7n FLOP by the spec's count; 2ns
//   bytes.
// Mapping: thread t of the grid owns pack t (see map_run).
// Idea: cuda_naive's arithmetic takes longer than its bytes. The factor 1 + t of the sigmoid's denominator is in the
//   tanh's numerator too. Two special-function instructions an element remain of the five that a sigmoid and a tanh by
//   exponentials take.
#include "shared/common.cuh"

constexpr int THREADS = 256;  // as in cuda_one_exp.py

extern "C" __global__ void __launch_bounds__(THREADS) small_ops(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long n
) {
    const auto of = [](float x) {
        const float power = fast_exp2(-LOG2_E * fabsf(x));
        const float product = (1.0f - power) * fast_reciprocal(fmaf(power, power, 1.0f));
        return fmaf(product, x < 0.0f ? -power : 1.0f, fmaxf(x, 0.0f));  // NaN is kept by the product
    };
    map_run(thread_of_grid(), of, y, n, x);
}
