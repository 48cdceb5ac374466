// Candidates beside those of the library.
#include "row_sum/cuda_pieces.cu"

// Some lanes of a warp a row, up to PACKS words of 16 bytes each, all of them under way at once.
template <int LANES, int PACKS>
__device__ __forceinline__ void packs_of_row(const SCALAR* x, float* y, long long rows, long long cols) {
    const long long row = thread_of_grid() / LANES;
    const int lane = threadIdx.x % LANES;
    const ShortRow here(x, row < rows ? row : 0, rows, cols);
    const int packs = row < rows ? here.packs() : 0;
    Bits bits[PACKS] = {};
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (lane + p * LANES < packs) bits[p] = here.load(lane + p * LANES, 0.0f);
    }
    float sum = 0.0f;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) sum += sum_of(reinterpret_cast<const Pack&>(bits[p]));
    sum = lanes_sum<LANES>(sum);
    if (row < rows && lane == 0) y[row] = sum;
}

#define PACKS_KERNEL(LANES, PACKS)                                                             \
    extern "C" __global__ void __launch_bounds__(128) row_sum_lanes_##LANES##_##PACKS(         \
        const SCALAR* __restrict__ x, float* __restrict__ y, long long rows, long long cols) { \
        start_early();                                                                         \
        packs_of_row<LANES, PACKS>(x, y, rows, cols);                                             \
    }

PACKS_KERNEL(4, 1)
PACKS_KERNEL(8, 1)
PACKS_KERNEL(16, 1)
PACKS_KERNEL(32, 1)
PACKS_KERNEL(4, 2)
PACKS_KERNEL(8, 2)
PACKS_KERNEL(16, 2)
PACKS_KERNEL(32, 2)
PACKS_KERNEL(4, 4)
PACKS_KERNEL(8, 4)
PACKS_KERNEL(16, 4)
PACKS_KERNEL(32, 4)
PACKS_KERNEL(32, 8)

