// The largest 64 elements of rows, one pass over the row for each.
//
// Formula: value[r, i] is the i-th of row r in descending order, equal ones by index. rows cols FLOP by the spec's count,
//   rows (cols s + 64 (s + 8)) compulsory bytes; this version reads x 64 times.
// Mapping: a block of 256 threads owns a row; in each pass a thread finds the largest of its elements below the last
//   one found, and the block the largest of these.
// Lesson: 64 passes take their bytes from L2 where rows fit there, and still take tens of times as long as one.
// Idea: selection sort that stops after 64 steps.
#include "top_k/keys.cuh"

constexpr int THREADS = 256;  // as in cuda_naive.py

extern "C" __global__ void top_k(const SCALAR* x, SCALAR* value, long long* index, long long cols) {
    __shared__ Key largest;
    x += blockIdx.x * cols;
    Key below = ~0ull;
    for (int i = 0; i < K; ++i) {
        if (threadIdx.x == 0) largest = 0;
        __syncthreads();
        Key mine = 0;
        for (long long col = threadIdx.x; col < cols; col += THREADS) {
            const Key key = key_of(order_of(to_float(x[col])), col);
            if (key < below && key > mine) mine = key;
        }
        atomicMax(&largest, mine);
        __syncthreads();
        below = largest;
        if (threadIdx.x == 0) {
            value[blockIdx.x * static_cast<long long>(K) + i] = x[index_of(below)];
            index[blockIdx.x * static_cast<long long>(K) + i] = index_of(below);
        }
        __syncthreads();
    }
}
