// Many short rows that begin on no 16 bytes, a thread each, by way of shared memory; scales of columns are floats there.
#pragma once

#include "rms_norm_quantize_fp8/row.cuh"
#include "shared/slab_rows.cuh"

template <int WIDTH>
__device__ __forceinline__ void quantise_slab(
    const SCALAR* x, const SCALAR* w, unsigned char* q, float* scale, long long rows, long long cols
) {
    extern __shared__ __align__(16) Bits slab_packs[];
    const Slab slab(slab_packs, rows, cols);
    unsigned char* const bytes = reinterpret_cast<unsigned char*>(behind_slabs(slab_packs, slab.cols, 1));
    float* const scales = reinterpret_cast<float*>(bytes + blockDim.x * slab.cols);
    slab.begin_load(x);
    for (int col = threadIdx.x; col < slab.cols; col += blockDim.x) scales[col] = to_float(w[col]);
    wait_for_copies();
    if (static_cast<int>(threadIdx.x) < slab.rows) {
        const SlabRow<WIDTH> row(slab.row(threadIdx.x), slab.cols);
        Statistics mine;
        for_elements<WRITES_NONE>(row, [&](int column, const SCALAR& element) {
            const float value = to_float(element);
            mine.squares = fmaf(value, value, mine.squares);
            mine.largest = max(mine.largest, __float_as_uint(value * scales[column]) & 0x7fffffffu);
        });
        const Row how(mine, one_of(cols));
        unsigned char* const codes = bytes + threadIdx.x * slab.cols;
        for_elements<WRITES_NONE>(row, [&](int column, const SCALAR& element) {
            const float value[] = {to_float(element), 0.0f}, weight[] = {scales[column], 0.0f};
            codes[column] = static_cast<unsigned char>(how.two(value, weight));
        });
        scale[slab.first + threadIdx.x] = how.scale;
    }
    store_bytes(slab, bytes, q);
}
