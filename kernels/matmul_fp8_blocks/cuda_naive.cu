// A product of scaled blocks in FP8 (E4M3), a thread for each element of C.
//
// Formula: C[i, j] = sum over blocks t of scale_a[t, i] scale_b[j / 128, t] (sum over l in t of A[i, l] B[j, l]);
//   2 m n k FLOP, m k + n k + 2 m n bytes and those of the scales.
// Mapping: a block computes 32 rows and 8 columns of C, a warp 4 rows of them. Each thread walks along a row of A and one
//   of B, 16 elements a load where rows allow: 12 rows for a warp, where a warp of one row of C would read 33, a line of
//   memory each.
// Lesson: an element of 8 bits has to be made a float before it is multiplied, which takes longer than the product.
// Idea: the definition.
#include <cuda_fp8.h>

#include "shared/common.cuh"

constexpr int BLOCK = 128;
constexpr int ROWS = 32, COLUMNS = 8;  // of C for the threads of a block; as in cuda_naive.py

__device__ __forceinline__ float wide(const __nv_fp8_storage_t element) {
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(element, __NV_E4M3)));
}

__device__ __forceinline__ float2 wide_pair(const __nv_fp8x2_storage_t pair) {
    return __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(pair, __NV_E4M3)));
}

constexpr int PAIRS = 8, LOADED = 2 * PAIRS;  // elements at once
struct __align__(LOADED) Pairs {
    __nv_fp8x2_storage_t pair[PAIRS];
};

// Adds the products of one block, one element after the other.
__device__ __forceinline__ float sum_of(
    const __nv_fp8_storage_t* of_a, const __nv_fp8_storage_t* of_b, const long long elements, const bool in_pairs
) {
    float sum = 0.0f;
    long long l = 0;
    for (; in_pairs && l + LOADED <= elements; l += LOADED) {
        const Pairs x = *reinterpret_cast<const Pairs*>(of_a + l), y = *reinterpret_cast<const Pairs*>(of_b + l);
#pragma unroll
        for (int p = 0; p < PAIRS; ++p) {
            const float2 two_x = wide_pair(x.pair[p]), two_y = wide_pair(y.pair[p]);
            sum += two_x.x * two_y.x;
            sum += two_x.y * two_y.y;
        }
    }
    for (; l < elements; ++l) sum += wide(of_a[l]) * wide(of_b[l]);
    return sum;
}

extern "C" __global__ void multiply(
    const __nv_fp8_storage_t* __restrict__ a, const __nv_fp8_storage_t* __restrict__ b,
    const float* __restrict__ scale_a, const float* __restrict__ scale_b, SCALAR* __restrict__ c, long long m,
    long long n, long long k
) {
    const long long beside = (n + COLUMNS - 1) / COLUMNS, blocks = (k + BLOCK - 1) / BLOCK;
    const long long row = blockIdx.x / beside * ROWS + threadIdx.x / COLUMNS;
    const long long column = blockIdx.x % beside * COLUMNS + threadIdx.x % COLUMNS;
    if (row >= m || column >= n) return;
    const __nv_fp8_storage_t *const of_a = a + row * k, *const of_b = b + column * k;
    const auto at_a = reinterpret_cast<unsigned long long>(a), at_b = reinterpret_cast<unsigned long long>(b);
    const bool in_pairs = (at_a | at_b | k) % LOADED == 0;
    float total = 0.0f;
    for (long long block = 0; block < blocks; ++block) {
        const long long begin = block * BLOCK;
        const float sum = sum_of(of_a + begin, of_b + begin, min(k - begin, BLOCK * 1ll), in_pairs);
        total += sum * (scale_a[block * m + row] * scale_b[column / BLOCK * blocks + block]);
    }
    from_float(total, c[row * n + column]);
}
