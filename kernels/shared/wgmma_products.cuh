// The products of wgmma that the matmul kernels use: of 16-bit elements, or of TF32 or FP8.
//
// They are those of SCALAR unless MULTIPLIES_TF32 or MULTIPLIES_FP8 is defined before this file is included.
#pragma once

#include "shared/hopper.cuh"

// A is m x k. B is n x k, but k x n where elements have 16 bits: wgmma transposes no others. B_OF_16_BITS_ALONG_K, defined
// before this file is included, makes it n x k there too.
#if defined(MULTIPLIES_TF32)
#define PRODUCTS "k8.f32.tf32.tf32"
#define TRANSPOSES
#define TRANSPOSES_ACROSS
constexpr int STEP_K = 32;
constexpr bool B_LIES_ALONG_K = true;
#elif defined(MULTIPLIES_FP8)
#define PRODUCTS "k32.f32.e4m3.e4m3"
#define TRANSPOSES
#define TRANSPOSES_ACROSS
constexpr int STEP_K = 128;
constexpr bool B_LIES_ALONG_K = true;
#else
#ifdef SCALAR_IS_FLOAT16
#define PRODUCTS "k16.f32.f16.f16"
#else
#define PRODUCTS "k16.f32.bf16.bf16"
#endif
constexpr int STEP_K = 64;
#ifdef B_OF_16_BITS_ALONG_K
#define TRANSPOSES ", 0, 0"
#define TRANSPOSES_ACROSS TRANSPOSES
constexpr bool B_LIES_ALONG_K = true;
#else
#define TRANSPOSES ", 0, 1"
#define TRANSPOSES_ACROSS ", 1, 0"
constexpr bool B_LIES_ALONG_K = false;
#endif
#endif

constexpr int ROW = 128;       // bytes of a row in shared memory: what the swizzle spans
constexpr int ATOM = 8 * ROW;  // the swizzle's period
constexpr int BAND = 64;       // columns of B that a box holds where B lies along n

// ---- wgmma: sum (64 x 64, 128, 160, 192, 224 or 256) += a b, spread over the threads as store_tile says ---------

#define SUMS_4(i) "+f"(sum[i]), "+f"(sum[(i) + 1]), "+f"(sum[(i) + 2]), "+f"(sum[(i) + 3])
#define SUMS_8(i) SUMS_4(i), SUMS_4((i) + 4)
#define SUMS_16(i) SUMS_8(i), SUMS_8((i) + 8)
#define SUMS_32(i) SUMS_16(i), SUMS_16((i) + 16)
#define SUMS_64(i) SUMS_32(i), SUMS_32((i) + 32)
#define NAMES_4 "%0, %1, %2, %3"
#define NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define NAMES_12 NAMES_8 ", %8, %9, %10, %11"
#define NAMES_16 NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define NAMES_24 NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define NAMES_28 NAMES_24 ", %24, %25, %26, %27"
#define NAMES_32 NAMES_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_40 NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define NAMES_44 NAMES_40 ", %40, %41, %42, %43"
#define NAMES_48 NAMES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define NAMES_52 NAMES_48 ", %48, %49, %50, %51"
#define NAMES_56 NAMES_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define NAMES_60 NAMES_56 ", %56, %57, %58, %59"
#define NAMES_64 NAMES_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_68 NAMES_64 ", %64, %65, %66, %67"
#define NAMES_72 NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define NAMES_80 NAMES_72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define NAMES_84 NAMES_80 ", %80, %81, %82, %83"
#define NAMES_88 NAMES_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define NAMES_92 NAMES_88 ", %88, %89, %90, %91"
#define NAMES_96 NAMES_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define NAMES_104 NAMES_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define NAMES_108 NAMES_104 ", %104, %105, %106, %107"
#define NAMES_112 NAMES_104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define NAMES_120 NAMES_112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define NAMES_128 NAMES_120 ", %120, %121, %122, %123, %124, %125, %126, %127"
// Each takes the names of the two descriptors behind the sums', and the sums.
#define MULTIPLY_ADD(COLUMNS, NAMES, A, B, FLAGS, ...)                                                            \
    asm volatile("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"                                                   \
                 "wgmma.mma_async.sync.aligned.m64n" #COLUMNS PRODUCTS " {" NAMES "}, " A ", " B                  \
                 ", add, 1, 1" FLAGS ";\n}"                                                                       \
                 : __VA_ARGS__                                                                                    \
                 : "l"(a), "l"(b))

__device__ __forceinline__ void multiply_add(float (&sum)[32], unsigned long long a, unsigned long long b) {
    MULTIPLY_ADD(64, NAMES_32, "%32", "%33", TRANSPOSES, SUMS_32(0));
}
__device__ __forceinline__ void multiply_add(float (&sum)[64], unsigned long long a, unsigned long long b) {
    MULTIPLY_ADD(128, NAMES_64, "%64", "%65", TRANSPOSES, SUMS_64(0));
}
__device__ __forceinline__ void multiply_add(float (&sum)[80], unsigned long long a, unsigned long long b) {
    MULTIPLY_ADD(160, NAMES_80, "%80", "%81", TRANSPOSES, SUMS_64(0), SUMS_16(64));
}
__device__ __forceinline__ void multiply_add(float (&sum)[96], unsigned long long a, unsigned long long b) {
    MULTIPLY_ADD(192, NAMES_96, "%96", "%97", TRANSPOSES, SUMS_64(0), SUMS_32(64));
}
__device__ __forceinline__ void multiply_add(float (&sum)[112], unsigned long long a, unsigned long long b) {
    MULTIPLY_ADD(224, NAMES_112, "%112", "%113", TRANSPOSES, SUMS_64(0), SUMS_32(64), SUMS_16(96));
}
__device__ __forceinline__ void multiply_add(float (&sum)[128], unsigned long long a, unsigned long long b) {
    MULTIPLY_ADD(256, NAMES_128, "%128", "%129", TRANSPOSES, SUMS_64(0), SUMS_64(64));
}

// The same across: sum (64 columns of B x 8 to 256 or 288 rows of A) += (A's rows times B's columns) transposed, so that the
// columns are what a warpgroup has 64 of, and the rows what may be any multiple of 8.
#define MULTIPLY_ACROSS(ROWS, COUNT, A, B, ...)                                                                   \
    __device__ __forceinline__ void multiply_across(                                                              \
        float (&sum)[COUNT], unsigned long long a, unsigned long long b                                           \
    ) {                                                                                                           \
        MULTIPLY_ADD(ROWS, NAMES_##COUNT, A, B, TRANSPOSES_ACROSS, __VA_ARGS__);                                           \
    }
MULTIPLY_ACROSS(8, 4, "%4", "%5", SUMS_4(0))
MULTIPLY_ACROSS(16, 8, "%8", "%9", SUMS_8(0))
MULTIPLY_ACROSS(24, 12, "%12", "%13", SUMS_8(0), SUMS_4(8))
MULTIPLY_ACROSS(32, 16, "%16", "%17", SUMS_16(0))
MULTIPLY_ACROSS(48, 24, "%24", "%25", SUMS_16(0), SUMS_8(16))
MULTIPLY_ACROSS(56, 28, "%28", "%29", SUMS_16(0), SUMS_8(16), SUMS_4(24))
MULTIPLY_ACROSS(64, 32, "%32", "%33", SUMS_32(0))
MULTIPLY_ACROSS(80, 40, "%40", "%41", SUMS_32(0), SUMS_8(32))
MULTIPLY_ACROSS(88, 44, "%44", "%45", SUMS_32(0), SUMS_8(32), SUMS_4(40))
MULTIPLY_ACROSS(96, 48, "%48", "%49", SUMS_32(0), SUMS_16(32))
MULTIPLY_ACROSS(104, 52, "%52", "%53", SUMS_32(0), SUMS_16(32), SUMS_4(48))
MULTIPLY_ACROSS(112, 56, "%56", "%57", SUMS_32(0), SUMS_16(32), SUMS_8(48))
MULTIPLY_ACROSS(120, 60, "%60", "%61", SUMS_32(0), SUMS_16(32), SUMS_8(48), SUMS_4(56))
MULTIPLY_ACROSS(128, 64, "%64", "%65", SUMS_64(0))
MULTIPLY_ACROSS(136, 68, "%68", "%69", SUMS_64(0), SUMS_4(64))
MULTIPLY_ACROSS(144, 72, "%72", "%73", SUMS_64(0), SUMS_8(64))
MULTIPLY_ACROSS(160, 80, "%80", "%81", SUMS_64(0), SUMS_16(64))
MULTIPLY_ACROSS(168, 84, "%84", "%85", SUMS_64(0), SUMS_16(64), SUMS_4(80))
MULTIPLY_ACROSS(176, 88, "%88", "%89", SUMS_64(0), SUMS_16(64), SUMS_8(80))
MULTIPLY_ACROSS(184, 92, "%92", "%93", SUMS_64(0), SUMS_16(64), SUMS_8(80), SUMS_4(88))
MULTIPLY_ACROSS(192, 96, "%96", "%97", SUMS_64(0), SUMS_32(64))
MULTIPLY_ACROSS(208, 104, "%104", "%105", SUMS_64(0), SUMS_32(64), SUMS_8(96))
MULTIPLY_ACROSS(216, 108, "%108", "%109", SUMS_64(0), SUMS_32(64), SUMS_8(96), SUMS_4(104))
MULTIPLY_ACROSS(224, 112, "%112", "%113", SUMS_64(0), SUMS_32(64), SUMS_16(96))
MULTIPLY_ACROSS(256, 128, "%128", "%129", SUMS_64(0), SUMS_64(64))
// More rows than an instruction takes, as twice the half.
__device__ __forceinline__ void multiply_across(float (&sum)[144], unsigned long long a, unsigned long long b) {
    MULTIPLY_ADD(144, NAMES_72, "%72", "%73", TRANSPOSES_ACROSS, SUMS_64(0), SUMS_8(64));
    b += 144 * ROW / 16;
    MULTIPLY_ADD(144, NAMES_72, "%72", "%73", TRANSPOSES_ACROSS, SUMS_64(72), SUMS_8(136));
}

// Sums of band `band` of BANDS that a thread has.
template <int BANDS, int COUNT>
__device__ __forceinline__ auto band_of(float (&sum)[COUNT], int band) -> float (&)[COUNT / BANDS] {
    return *reinterpret_cast<float (*)[COUNT / BANDS]>(&sum[band * (COUNT / BANDS)]);
}

// The products of BANDS bands, each DISTANCE bands of `a` behind the one before.
template <int BANDS, int DISTANCE, int COUNT>
__device__ __forceinline__ void multiply_bands(float (&sum)[COUNT], unsigned long long a, unsigned long long b) {
#pragma unroll
    for (int i = 0; i < BANDS; ++i) multiply_across(band_of<BANDS>(sum, i), a + i * (DISTANCE * BAND * ROW / 16), b);
}
