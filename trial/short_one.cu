#if !defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 900
#include "shared/loose_fp8.cuh"
#include "shared/short_fp8.cuh"
constexpr bool LOOSE_SCALED = false;
struct LooseFinish {
    float scale;
    __device__ __forceinline__ LooseFinish(const float* scale_a, const float* scale_b) : scale(*scale_a * *scale_b) {}
    __device__ __forceinline__ float operator()(float sum) const { return sum * scale; }
};
SHORT_FP8_KERNELS
SHORT_FP8_KERNEL(short_64x64_tall, 64, 64, 2, 2, 6)
SHORT_FP8_KERNEL(short_64x128_many, 64, 128, 2, 4, 4)
#endif
