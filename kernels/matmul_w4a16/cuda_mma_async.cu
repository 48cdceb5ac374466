// Rows times 4-bit weights on the tensor cores, fed by asynchronous copies (sm_80 and later).
//
// Formula: y[i, j] = sum over l of x[i, l] (q[j, l] - 8) scale[j, l / group]; 2 m n k FLOP,
//   n k / 2 + n k s / group + (m k + m n) s bytes.
// Mapping: y is computed transposed, the weights being the 16 x 16 operand of mma.m16n8k16 and eight rows of x the
//   16 x 8 one. A block owns 16 to 48 rows of weights and up to 32 rows of x; its warps share out k and add up at the
//   end. In a step a lane takes 16 packed bytes of two rows, 32 weights each, and makes the operands of 8 products of
//   them; DEPTH steps are under way in shared memory, x as well as the weights. Each lane copies what it will read
//   itself, and the rows of x that there are serve all lines of an operand: a warp waits for no other warp.
// Idea: a sum does not care for the order of its terms, so k is permuted to what a lane has loaded, for x as for the
//   weights, and no weight changes its lane (the idea of Marlin, arXiv:2408.11743, with no repacking). A code under
//   the exponent of 1024 (float16) or 128 (bfloat16) is that plus code + 8: of two weights, one PRMT and one
//   subtraction (after Kim et al., arXiv:2211.10017). At one row of x seven eighths of every product are thrown
//   away, and a weight still takes little more than two issue slots, of four at the rate of an H200's memory.
//   The ring for each warp is that of CUTLASS's multistage kernels: with registers in its place, and x loaded when its
//   step begins, 117 MB of weights take 48 us instead of 40.
#include "matmul_w4a16/plain.cuh"
#include "matmul_w4a16/stages.cuh"

#if __CUDA_ARCH__ >= 800

// As in stages.py.
KERNELS(16, 8, 8, 3, 3)
KERNELS(32, 16, 8, 2, 2)
KERNELS(48, 32, 4, 2, 2)

// Groups that are no power of two from 32 on, and tensors that are not aligned.
extern "C" __global__ void __launch_bounds__(256) multiply_any(
    const SCALAR* __restrict__ x, const unsigned char* __restrict__ packed, const SCALAR* __restrict__ scales,
    SCALAR* __restrict__ y, long long m, long long n, long long groups, long long half
) {
    multiply_plainly(x, packed, scales, y, m, n, groups, half);
}

#endif
