// Softmax's gradient of many short rows that begin on no 16 bytes, a thread or two lanes each, by way of shared memory.
#pragma once

#include "shared/slab_rows.cuh"

template <int WIDTH, int LANES>
__device__ __forceinline__ void backward_of_slab(
    const SCALAR* dy, const SCALAR* y, SCALAR* dx, long long rows, long long cols
) {
    extern __shared__ __align__(16) Bits slab_packs[];
    const Slab gradients(slab_packs, rows, cols, LANES);
    const Slab powers(behind_slabs(slab_packs, gradients.cols, 1, LANES), rows, cols, LANES);
    gradients.begin_load(dy);
    powers.begin_load(y);
    wait_for_copies();
    const SlabRow<WIDTH, LANES> row(gradients), other(powers);
    float sum = 0.0f;
    for_elements<WRITES_NONE>(row, other, [&](int, const SCALAR& gradient, const SCALAR& power) {
        sum = fmaf(to_float(gradient), to_float(power), sum);
    });
    sum = lanes_sum<LANES>(sum);
    for_elements<WRITES_FIRST>(row, other, [&](int, SCALAR& gradient, const SCALAR& power) {
        from_float(to_float(power) * (to_float(gradient) - sum), gradient);
    });
    gradients.store(dx);
}
