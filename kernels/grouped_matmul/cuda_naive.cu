// The products of experts, a thread for each element of C.
//
// Formula: C[t, j] = sum over l of X[t, l] W[e, j, l], e the expert of token t; 2 tokens n k FLOP,
//   (tokens k + experts n k + tokens n) s compulsory bytes.
// Mapping: neighbouring threads compute neighbouring columns of a row. Each finds the expert of its row, and walks along
//   a row of X, which the warp shares, and one of W, its own.
// Lesson: an element of C loads 2 k elements for its k products; caches make up for some of it.
// Idea: the definition.
#include "shared/common.cuh"

extern "C" __global__ void multiply(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, const int* __restrict__ offsets, SCALAR* __restrict__ c,
    long long tokens, long long experts, long long n, long long k
) {
    const long long element = thread_of_grid();
    if (element >= tokens * n) return;
    const long long token = element / n, column = element % n;
    long long expert = 0;
    while (expert < experts && token >= offsets[expert + 1]) ++expert;
    float sum = 0.0f;
    if (expert < experts) {  // behind the last run no expert has a row
        const SCALAR* const of_token = x + token * k;
        const SCALAR* const of_expert = w + (expert * n + column) * k;
        for (long long l = 0; l < k; ++l) sum += to_float(of_token[l]) * to_float(of_expert[l]);
    }
    from_float(sum, c[element]);
}
