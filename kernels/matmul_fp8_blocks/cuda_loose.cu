// A product of scaled blocks in FP8 (E4M3) by mma.sync from rows that begin anywhere: one launch, no copy, cut along k where C
// is small.
//
// Formula: C[i, j] = sum over blocks t of scale_a[t, i] scale_b[j / 128, t] (sum over l in t of A[i, l] B[j, l]);
//   2 m n k FLOP. Products are exact, sums float32.
// Mapping: that of shared/loose_fp8.cuh; of short sums that of shared/short_fp8.cuh, or of shared/short_fp8_words.cuh.
// Idea: see shared/loose_fp8.cuh.

#if !defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 900

#include "shared/loose_fp8.cuh"
#include "shared/short_fp8_words.cuh"

constexpr bool LOOSE_SCALED = true;

struct LooseFinish {
    __device__ __forceinline__ LooseFinish(const float*, const float*) {}
    __device__ __forceinline__ float operator()(float sum) const { return sum; }
};

LOOSE_KERNELS
SHORT_FP8_KERNELS
SHORT_FP8_WORDS_KERNEL

#endif
