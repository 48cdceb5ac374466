// One step of AdamW as the formula is written, one parameter a thread.
//
// Formula: m' = b1 m + (1 - b1) g, v' = b2 v + (1 - b2) g^2, p' = (1 - lr wd) p - lr m' / (1 - b1^t) / (sqrt(v' / (1 -
//   b2^t)) + eps). 14n FLOP, 28n bytes.
// Mapping: thread i of the grid owns parameter i.
// Lesson: one pass takes 28 bytes a parameter where operators take 100 and more. Each thread still raises both betas to
//   the step's power, in double, for a result that is the same for all, and moves 4 bytes an access.
// Idea: Algorithm 2 of Loshchilov and Hutter, "Decoupled Weight Decay Regularization", arXiv:1711.05101.
#include "shared/common.cuh"

extern "C" __global__ void adamw(
    const SCALAR* p, const SCALAR* g, const SCALAR* m, const SCALAR* v, SCALAR* new_p, SCALAR* new_m, SCALAR* new_v,
    double rate, double beta_1, double beta_2, double epsilon, double decay, double step, long long n
) {
    const long long i = thread_of_grid();
    if (i >= n) return;
    const float one_minus_1 = 1.0 - beta_1, one_minus_2 = 1.0 - beta_2;
    const float correction_1 = 1.0 - pow(beta_1, step), correction_2 = 1.0 - pow(beta_2, step);
    const float mean = static_cast<float>(beta_1) * m[i] + one_minus_1 * g[i];
    const float square = static_cast<float>(beta_2) * v[i] + one_minus_2 * g[i] * g[i];
    const float update = mean / correction_1 / (sqrtf(square / correction_2) + static_cast<float>(epsilon));
    new_p[i] = p[i] * static_cast<float>(1.0 - rate * decay) - static_cast<float>(rate) * update;
    new_m[i] = mean;
    new_v[i] = square;
}
