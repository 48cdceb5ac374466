// Swish, 16 bytes a thread, some six instructions an element.
//
// Formula: y = x / (1 + exp(-x)), with exp(t) taken as 2^(t log2 e). Where exp(-x) overflows to infinity the
//   reciprocal is 0, as it should be. 4n FLOP, 2ns bytes.
// Mapping: thread t of the grid owns pack t (see map_run).
// Idea: Ramachandran et al., "Searching for Activation Functions", arXiv:1710.05941. An exact division would
//   take more instructions than the rest together.
#include "shared/common.cuh"
#include "shared/overlap.cuh"

constexpr int THREADS = 256;  // as in cuda_packed.py

extern "C" __global__ void __launch_bounds__(THREADS) swish(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long n
) {
    start_early();
    const auto of = [](float x) { return x * fast_reciprocal(1.0f + fast_exp2(-LOG2_E * x)); };
    map_run(thread_of_grid(), of, y, n, x);
}
