// The tensor cores since Ampere (sm_80): asynchronous copies, ldmatrix, mma.sync. For 16-bit elements, unless
// MULTIPLIES_TF32 or MULTIPLIES_FP8 (sm_89) is defined before this file is included.
//
// cp.async brings chunks of 16 bytes into shared memory, ldmatrix takes 8 x 8 matrices from there into the registers of
// a warp, and mma.sync multiplies them there. Hopper's own units are in hopper.cuh.
#pragma once

#include "shared/common.cuh"

constexpr int CHUNK = 8;  // elements of 16 bits in a chunk
constexpr int CHUNK_BYTES = 16;

// ---- Asynchronous copies -----------------------------------------------------------------------

// Starts to copy a chunk, or zeros where it is not inside. It is there after wait_for_copies.
__device__ __forceinline__ void copy_chunk(unsigned char* to, const void* from, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(inside ? CHUNK_BYTES : 0));
}

__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;"); }

// Waits for all but the newest PENDING commits of this thread.
template <int PENDING>
__device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// ---- Products ----------------------------------------------------------------------------------

// Of 32 bytes along k each.
#if defined(MULTIPLIES_TF32)
#define PRODUCT "m16n8k8.row.col.f32.tf32.tf32"
#elif defined(MULTIPLIES_FP8)
#define PRODUCT "m16n8k32.row.col.f32.e4m3.e4m3"
#elif defined(SCALAR_IS_FLOAT16)
#define PRODUCT "m16n8k16.row.col.f32.f16.f16"
#else
#define PRODUCT "m16n8k16.row.col.f32.bf16.bf16"
#endif

// Four 8 x 8 matrices, their rows at the addresses that lanes 0-7, 8-15, 16-23 and 24-31 give.
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], const unsigned char* from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(from))
                 : "memory");
}

// The same matrices, each transposed.
__device__ __forceinline__ void load_transposed(unsigned (&to)[4], const unsigned char* from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(from))
                 : "memory");
}

// An 8 x 8 matrix of 16 bits that a warp holds, transposed: a lane has two neighbours of a row before, of a column after.
__device__ __forceinline__ unsigned transposed(unsigned word) {
    unsigned result;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(word));
    return result;
}

// sum (16 x 8) += a b over 32 bytes along k: four words of sum and of a.
__device__ __forceinline__ void multiply_add(float* sum, const unsigned* a, unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned." PRODUCT ".f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Word j of lane i of each four lanes becomes word i of lane j: a lane that held pairs of several products then holds
// 8 neighbours of one.
__device__ __forceinline__ void transpose_quad(unsigned (&words)[4], int lane) {
#pragma unroll
    for (int distance = 1; distance <= 2; distance *= 2) {
        const bool upper = lane & distance;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (i & distance) continue;
            const unsigned sent = upper ? words[i] : words[i + distance];
            const unsigned received = __shfl_xor_sync(WHOLE_WARP, sent, distance);
            (upper ? words[i] : words[i + distance]) = received;
        }
    }
}
