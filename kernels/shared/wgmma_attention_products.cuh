// Shared by attention and its gradients on Hopper (sm_90a): rows of a head by TMA, and the products of wgmma.
//
// A tile in shared memory lies in bands of 64 elements: rows of 128 bytes one after the other, swizzled, and behind
// them the next 64 elements of all rows. Sums lie as shared/attention.cuh tells, a warp 16 rows of 64.
#pragma once

#include "shared/hopper.cuh"

constexpr int ROW = 128;       // bytes of a row in shared memory: what the swizzle spans, 64 elements
constexpr int ATOM = 8 * ROW;  // the swizzle's period

// Keeps what follows from a value out of registers over a loop.
__device__ __forceinline__ int made_anew(int value) {
    asm volatile("" : "+r"(value));
    return value;
}

// ---- TMA: ROWS rows of one head, in bands of 64 elements -----------------------------------------

template <int DIM, int ROWS>
__device__ __forceinline__ void copy_rows(
    unsigned char* to, const CUtensorMap& map, int row, int head, Barrier* barrier
) {
    arrive_and_expect(barrier, ROWS * DIM * 2);
#pragma unroll
    for (int band = 0; band < DIM / 64; ++band) {
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared_address(to + band * ROWS * ROW)), "l"(&map),
                     "r"(band * 64), "r"(row), "r"(head), "r"(shared_address(barrier))
                     : "memory");
    }
}

// ---- wgmma ---------------------------------------------------------------------------------------

#ifdef SCALAR_IS_FLOAT16
#define PRODUCTS "k16.f32.f16.f16"
#else
#define PRODUCTS "k16.f32.bf16.bf16"
#endif
#define SUMS_4(i) "+f"(sum[i]), "+f"(sum[(i) + 1]), "+f"(sum[(i) + 2]), "+f"(sum[(i) + 3])
#define SUMS_16(i) SUMS_4(i), SUMS_4((i) + 4), SUMS_4((i) + 8), SUMS_4((i) + 12)
#define SUMS_32 SUMS_16(0), SUMS_16(16)
#define SUMS_64 SUMS_32, SUMS_16(32), SUMS_16(48)
#define NEW_4(i) "=f"(sum[i]), "=f"(sum[(i) + 1]), "=f"(sum[(i) + 2]), "=f"(sum[(i) + 3])
#define NEW_16(i) NEW_4(i), NEW_4((i) + 4), NEW_4((i) + 8), NEW_4((i) + 12)
#define NEW_32 NEW_16(0), NEW_16(16)
#define NEW_64 NEW_32, NEW_16(32), NEW_16(48)
#define NAMES_32                                                                                                \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, " \
    "%23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_64                                                                                                \
    NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "     \
    "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

// sum (64 x COLUMNS) = a b, or += where `add`: a and b from shared memory, with rows along what is summed, or where
// A_ACROSS or B_ACROSS across it. The last five strings are the operands' places behind the sums.
#define MULTIPLY_TILES(SUMS, SHAPE, A, B, ADD, OF_A, OF_B)                                                     \
    template <bool A_ACROSS = false, bool B_ACROSS = false>                                                    \
    __device__ __forceinline__ void multiply(                                                                  \
        float (&sum)[SUMS], unsigned long long a, unsigned long long b, bool add                               \
    ) {                                                                                                        \
        asm volatile("{\n.reg .pred add;\nsetp.ne.u32 add, " ADD ", 0;\n"                                      \
                     "wgmma.mma_async.sync.aligned." SHAPE PRODUCTS " {" NAMES_##SUMS "}, " A ", " B           \
                     ", add, 1, 1, " OF_A ", " OF_B ";\n}"                                                     \
                     : SUMS_##SUMS                                                                             \
                     : "l"(a), "l"(b), "r"(static_cast<unsigned>(add)), "n"(static_cast<int>(A_ACROSS)),       \
                       "n"(static_cast<int>(B_ACROSS)));                                                       \
    }
MULTIPLY_TILES(32, "m64n64", "%32", "%33", "%34", "%35", "%36")
MULTIPLY_TILES(64, "m64n128", "%64", "%65", "%66", "%67", "%68")

// sum = a b whatever it was: until here its registers are free, which `multiply` with a false `add` would read.
#define FIRST_PRODUCT(SUMS, SHAPE, A, B, OF_A, OF_B)                                                           \
    template <bool A_ACROSS = false, bool B_ACROSS = false>                                                    \
    __device__ __forceinline__ void begin_multiply(float (&sum)[SUMS], unsigned long long a, unsigned long long b) { \
        asm volatile("{\n.reg .pred add;\nsetp.ne.u32 add, 0, 0;\n"                                            \
                     "wgmma.mma_async.sync.aligned." SHAPE PRODUCTS " {" NAMES_##SUMS "}, " A ", " B           \
                     ", add, 1, 1, " OF_A ", " OF_B ";\n}"                                                     \
                     : NEW_##SUMS                                                                              \
                     : "l"(a), "l"(b), "n"(static_cast<int>(A_ACROSS)), "n"(static_cast<int>(B_ACROSS)));      \
    }
FIRST_PRODUCT(32, "m64n64", "%32", "%33", "%34", "%35")
FIRST_PRODUCT(64, "m64n128", "%64", "%65", "%66", "%67")

// sum (64 x COLUMNS) += a b: a from registers; b from shared memory, rows across what is summed.
#define MULTIPLY_REGISTERS(SUMS, SHAPE, A, B)                                                                  \
    __device__ __forceinline__ void multiply(float (&sum)[SUMS], const unsigned* a, unsigned long long b) {    \
        asm volatile("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"                                            \
                     "wgmma.mma_async.sync.aligned." SHAPE PRODUCTS " {" NAMES_##SUMS "}, {" A "}, " B         \
                     ", add, 1, 1, 1;\n}"                                                                      \
                     : SUMS_##SUMS                                                                             \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                    \
    }
MULTIPLY_REGISTERS(32, "m64n64", "%32, %33, %34, %35", "%36")
MULTIPLY_REGISTERS(64, "m64n128", "%64, %65, %66, %67", "%68")

// sum (64 x COLUMNS) = a b, or += where `add`: a held in registers; b from shared memory, rows along what is summed.
#define MULTIPLY_HELD(SUMS, SHAPE, A, B, ADD)                                                                  \
    __device__ __forceinline__ void multiply_held(                                                             \
        float (&sum)[SUMS], const unsigned* a, unsigned long long b, bool add                                  \
    ) {                                                                                                        \
        asm volatile("{\n.reg .pred add;\nsetp.ne.u32 add, " ADD ", 0;\n"                                      \
                     "wgmma.mma_async.sync.aligned." SHAPE PRODUCTS " {" NAMES_##SUMS "}, {" A "}, " B         \
                     ", add, 1, 1, 0;\n}"                                                                      \
                     : SUMS_##SUMS                                                                             \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<unsigned>(add)));   \
    }
MULTIPLY_HELD(32, "m64n64", "%32, %33, %34, %35", "%36", "%37")
MULTIPLY_HELD(64, "m64n128", "%64, %65, %66, %67", "%68", "%69")

// Loads what `multiply_held` takes of this warpgroup's 64 rows of a tile of ROWS rows: 16 elements of each row a part, from
// part FIRST on. They are here when a product that takes them is waited for, no earlier.
template <int ROWS, int FIRST, int COUNT>
__device__ __forceinline__ void hold_rows(unsigned (&held)[COUNT], const unsigned char* tile) {
    const int matrix = threadIdx.x % WARP / 8, of_warp = matrix % 2 * 8 + threadIdx.x % 8;
    const unsigned char* const from = tile + (threadIdx.x / WARP * 16 + of_warp) * ROW;
#pragma unroll
    for (int i = 0; i < COUNT / 4; ++i) {
        const int part = FIRST + i, chunk = (part % 4 * 2 + matrix / 2) ^ of_warp % 8;
        unsigned* const to = held + i * 4;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(shared_address(from + part / 4 * ROWS * ROW + chunk * 16))
                     : "memory");
    }
}

// Keeps the compiler from moving uses of the registers that wgmma writes or reads across this point.
template <int COUNT>
__device__ __forceinline__ void pin(float (&values)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(values[i])::"memory");
}
template <int COUNT>
__device__ __forceinline__ void pin(unsigned (&values)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+r"(values[i])::"memory");
}
