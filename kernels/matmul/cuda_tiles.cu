// C = A B in tiles of 32 x 32 that a block brings into shared memory.
//
// Formula: C[i, j] = sum over l of A[i, l] B[l, j]; 2 m n k FLOP, m n k (1/32 + 1/32) element reads in all against the
//   compulsory m k + k n.
// Mapping: block p of the grid computes tile p of C, row by row, and thread (r, c) of the block element (r, c) of it.
//   In steps of 32 along k each thread brings an element of A and one of B, zeros beyond the edges, and the block
//   waits; then a thread walks along row r of the one tile and down column c of the other, and the block waits again.
// Lesson: memory is read a sixteenth as often as by cuda_naive. But each FMA still takes two loads, now from shared
//   memory, and nothing is under way while the block waits.
// Idea: the textbook's second version, as in "Shared Memory" of the CUDA C++ Programming Guide.
#include "shared/common.cuh"

constexpr int TILE = 32;  // as in cuda_tiles.py
constexpr int THREADS = TILE * TILE;

extern "C" __global__ void __launch_bounds__(THREADS) matmul_tiles(
    const SCALAR* __restrict__ a, const SCALAR* __restrict__ b, SCALAR* __restrict__ c, long long m, long long n,
    long long k
) {
    __shared__ float of_a[TILE][TILE], of_b[TILE][TILE];
    const long long tiles = (n + TILE - 1) / TILE;  // in a row of C
    const int r = threadIdx.x / TILE, col = threadIdx.x % TILE;
    const long long i = blockIdx.x / tiles * TILE + r, j = blockIdx.x % tiles * TILE + col;

    float sum = 0.0f;
    for (long long first = 0; first < k; first += TILE) {
        of_a[r][col] = i < m && first + col < k ? to_float(a[i * k + first + col]) : 0.0f;
        of_b[r][col] = first + r < k && j < n ? to_float(b[(first + r) * n + j]) : 0.0f;
        __syncthreads();
#pragma unroll
        for (int l = 0; l < TILE; ++l) sum = fmaf(of_a[r][l], of_b[l][col], sum);
        __syncthreads();
    }
    if (i < m && j < n) from_float(sum, c[i * n + j]);
}
