// Rows times 4-bit weights on the tensor cores, fed by asynchronous copies (sm_80 and later).
//
// Formula: y[i, j] = sum over l of x[i, l] (q[j, l] - 8) scale[j, l / group]; 2 m n k FLOP,
//   n k / 2 + n k s / group + (m k + m n) s bytes.
// Mapping: y is computed transposed, the weights being the 16 x 16 operand of mma.m16n8k16 and eight rows of x the
//   16 x 8 one. A block owns 16 to 48 rows of weights and up to 32 rows of x; its warps share out k and add up at the
//   end, and so do the blocks of a cluster where there are few tiles. In a step a lane takes 16 packed bytes of two
//   rows, 32 weights each, and makes the operands of 8 products of them; DEPTH steps are under way in shared memory, x
//   as well as the weights. Each lane copies what it will read itself, and the rows of x that there are serve all lines
//   of an operand: a warp waits for no other warp. Where k is short and n large, a block owns 128 or 256 rows of
//   weights; its warps share these out, and all of them read the rows of x that all have copied.
// Idea: cuda_naive is bound by its arithmetic, which the tensor cores take over, so that weights need only be made
//   operands cheaply. A sum does not care for the order of its terms, so k is permuted to what a lane has loaded, for x
//   as for the weights, and no weight changes its lane (the idea of Marlin, arXiv:2408.11743, with no repacking). A
//   code under the exponent of 1024 (float16) or 128 (bfloat16) is that plus code + 8: of two weights, one PRMT and one
//   subtraction (after Kim et al., arXiv:2211.10017). At one row of x seven eighths of every product are thrown away,
//   and a weight still takes little more than two issue slots, of four at the rate of an H200's memory. The ring for
//   each warp is that of CUTLASS's multistage kernels: registers in its place, and x loaded when its step begins, would
//   keep fewer bytes under way.
#if __CUDA_ARCH__ >= 800
#include "matmul_w4a16/every_size.cuh"
#endif
