// C = scale A B^T in FP8 (E4M3) by mma.sync from rows that begin anywhere: one launch, no copy, cut along k where C is small.
//
// Formula: C[i, j] = scale (sum over l of A[i, l] B[j, l]), scale that of A times that of B; 2 m n k FLOP. Products are
//   exact, sums float32.
// Mapping: that of shared/loose_fp8.cuh; of short sums that of shared/short_fp8.cuh, or of shared/short_fp8_words.cuh.
// Idea: see shared/loose_fp8.cuh.

#if !defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 900

#include "shared/loose_fp8.cuh"
#include "shared/short_fp8_words.cuh"

constexpr bool LOOSE_SCALED = false;

struct LooseFinish {
    float scale;

    __device__ __forceinline__ LooseFinish(const float* scale_a, const float* scale_b) : scale(*scale_a * *scale_b) {}
    __device__ __forceinline__ float operator()(float sum) const { return sum * scale; }
};

LOOSE_KERNELS
SHORT_FP8_KERNELS
SHORT_FP8_WORDS_KERNEL

#endif
