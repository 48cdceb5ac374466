// Many short rows that begin on no 16 bytes, a thread or some lanes each, by way of shared memory; scales of columns are floats there.
#pragma once

#include "rms_norm_quantize_fp8/row.cuh"
#include "shared/slab_rows.cuh"

template <int WIDTH, int LANES>
__device__ __forceinline__ void quantise_slab(
    const SCALAR* x, const SCALAR* w, unsigned char* q, float* scale, long long rows, long long cols
) {
    extern __shared__ __align__(16) Bits slab_packs[];
    const Slab slab(slab_packs, rows, cols, LANES);
    unsigned char* const bytes = reinterpret_cast<unsigned char*>(behind_slabs(slab_packs, slab.cols, 1, LANES));
    float* const scales = reinterpret_cast<float*>(bytes + blockDim.x / LANES * slab.cols);
    slab.begin_load(x);
    for (int col = threadIdx.x; col < slab.cols; col += blockDim.x) scales[col] = to_float(w[col]);
    wait_for_copies();
    const SlabRow<WIDTH, LANES> row(slab);
    Statistics mine;
    for_elements<WRITES_NONE>(row, [&](int column, const SCALAR& element) {
        const float value = to_float(element);
        mine.squares = fmaf(value, value, mine.squares);
        mine.largest = max(mine.largest, __float_as_uint(value * scales[column]) & 0x7fffffffu);
    });
    mine.squares = lanes_sum<LANES>(mine.squares);
    mine.largest = largest_over<LANES>(mine.largest);
    const Row how(mine, one_of(cols));
    const int number = threadIdx.x / LANES;
    unsigned char* const codes = bytes + number * slab.cols;
    for_elements<WRITES_NONE>(row, [&](int column, const SCALAR& element) {
        const float value[] = {to_float(element), 0.0f}, weight[] = {scales[column], 0.0f};
        codes[column] = static_cast<unsigned char>(how.two(value, weight));
    });
    if (row.lane() == 0 && number < slab.rows) scale[slab.first + number] = how.scale;
    store_bytes(slab, bytes, q);
}
