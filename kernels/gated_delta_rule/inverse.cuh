// T = (I + A)^-1 diag(beta) of a chunk, by a warpgroup: each warp makes 16 rows of it.
//
// The blocks on the diagonal by substitution in float32, a thread a column. Those before them by float16 products:
// T_ij = -T_ii (sum over l of A_il T_lj), of which T_ii A_il needs no other warp. So a row of blocks follows the other with
// one product a block between.
#pragma once

#include "shared/wgmma_attention_products.cuh"

constexpr int CHUNK = 64;               // tokens, as in cuda_fused.py
constexpr int BAND = CHUNK * ROW;       // bytes of 64 elements of each token of a chunk, or of a 64 x 64 matrix
constexpr int FACTORS = 3 * CHUNK + 4;  // of a chunk
constexpr float EPSILON = 1e-6f;        // beside the square of a length
constexpr int BLOCK = 16, BLOCKS = CHUNK / BLOCK;
constexpr int STRIDE = BLOCK + 4;  // floats between columns of a diagonal block of A

__device__ __forceinline__ unsigned packed(float low, float high) {
    unsigned pair;
    from_floats(low, high, reinterpret_cast<SCALAR*>(&pair));
    return pair;
}

__device__ __forceinline__ float2 unpacked(unsigned pair) {
    const SCALAR* const elements = reinterpret_cast<const SCALAR*>(&pair);
    return make_float2(to_float(elements[0]), to_float(elements[1]));
}

// What the preparing warpgroup keeps for itself; matrices of 64 x 64 float16 in rows of 128 bytes, swizzled.
struct Scratch {
    unsigned char below[BAND], inverse[BAND];  // A, and T
    __half diagonal[BLOCKS][BLOCK * BLOCK];    // T's blocks before diag(beta)
    float columns[BLOCKS][BLOCK * STRIDE];     // A's, column by column
    float gates[CHUNK], parts[CHUNK], units[2][CHUNK];
};

// The lane, read again: what follows from it is not kept in registers from chunk to chunk, where there are too few.
__device__ __forceinline__ int lane_again() {
    int lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

__device__ __forceinline__ void meet_preparers() { asm volatile("bar.sync 8, 128;" ::: "memory"); }

__device__ __forceinline__ unsigned char* at_row(unsigned char* matrix, int row, int column) {
    return matrix + row * ROW + ((column / 8) ^ row % 8) * 16 + column % 8 * 2;
}

__device__ __forceinline__ unsigned packed_half(float low, float high) {
    const __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&pair);
}

template <bool ACROSS>
__device__ __forceinline__ void load_four(const void* from, unsigned (&to)[4]) {
    if constexpr (ACROSS) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(shared_address(from))
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(shared_address(from))
                     : "memory");
    }
}

// sum (16 x 16) += a b in float16: b a block of 16 x 16 in shared memory, its rows across what is summed.
__device__ __forceinline__ void multiply_blocks(
    float (&sum)[8], const unsigned (&a)[4], unsigned char* matrix, int row, int column, int lane
) {
    unsigned b[4];
    load_four<true>(at_row(matrix, row + lane % 16, column + lane / 16 * 8), b);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(sum[4 * i]), "+f"(sum[4 * i + 1]), "+f"(sum[4 * i + 2]), "+f"(sum[4 * i + 3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[2 * i]), "r"(b[2 * i + 1]));
    }
}

// By a warp: T's block on the diagonal from `columns`, to `diagonal` and, times beta, to both matrices.
__device__ __forceinline__ void invert_block(Scratch& scratch, unsigned char* solved, int warp, int lane) {
    if (lane < BLOCK) {
        const float* const a = scratch.columns[warp];
        float column[BLOCK];
#pragma unroll
        for (int i = 0; i < BLOCK; ++i) column[i] = i == lane ? 1.0f : 0.0f;
#pragma unroll
        for (int l = 0; l < BLOCK - 1; ++l) {
#pragma unroll
            for (int i = (l + 1) / 4 * 4; i < BLOCK; i += 4) {
                const float4 four = *reinterpret_cast<const float4*>(a + l * STRIDE + i);
                if (i > l) column[i] -= four.x * column[l];
                if (i + 1 > l) column[i + 1] -= four.y * column[l];
                if (i + 2 > l) column[i + 2] -= four.z * column[l];
                if (i + 3 > l) column[i + 3] -= four.w * column[l];
            }
        }
        const int first = warp * BLOCK;
        const float written = scratch.parts[first + lane];
#pragma unroll
        for (int i = 0; i < BLOCK; ++i) {
            scratch.diagonal[warp][i * BLOCK + lane] = __float2half_rn(column[i]);
            *reinterpret_cast<__half*>(at_row(scratch.inverse, first + i, first + lane)) =
                __float2half_rn(column[i] * written);
            from_float(column[i] * written, *reinterpret_cast<SCALAR*>(at_row(solved, first + i, first + lane)));
        }
    }
    __syncwarp();
}

// By the warpgroup: T of a chunk from `below` and `columns`, of which each warp made its rows.
__device__ __forceinline__ void invert(Scratch& scratch, unsigned char* solved, int warp, int lane) {
    const int row = warp * BLOCK;
    __syncwarp();
    invert_block(scratch, solved, warp, lane);
    // -T_ii A_il for all l before i.
    unsigned before[BLOCKS - 1][4], mine[4];
    load_four<false>(scratch.diagonal[warp] + lane % 16 * BLOCK + lane / 16 * 8, mine);
#pragma unroll
    for (int l = 0; l < BLOCKS - 1; ++l) {
        if (l >= warp) continue;
        float sum[8] = {};
        multiply_blocks(sum, mine, scratch.below, row, l * BLOCK, lane);
#pragma unroll
        for (int i = 0; i < 4; ++i) before[l][i] = packed_half(-sum[2 * i], -sum[2 * i + 1]);
    }
#pragma unroll
    for (int turn = 1; turn < BLOCKS; ++turn) {
        meet_preparers();  // the rows before are there
        if (warp != turn) continue;
#pragma unroll
        for (int j = 0; j < turn; ++j) {
            float sum[8] = {};
#pragma unroll
            for (int l = j; l < turn; ++l) multiply_blocks(sum, before[l], scratch.inverse, l * BLOCK, j * BLOCK, lane);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int to = row + i % 2 * 8 + lane / 4, column = j * BLOCK + i / 2 * 8 + lane % 4 * 2;
                *reinterpret_cast<unsigned*>(at_row(scratch.inverse, to, column)) =
                    packed_half(sum[2 * i], sum[2 * i + 1]);
                *reinterpret_cast<unsigned*>(at_row(solved, to, column)) = packed(sum[2 * i], sum[2 * i + 1]);
            }
        }
    }
}
