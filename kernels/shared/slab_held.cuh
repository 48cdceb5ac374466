// Rows of a slab in the registers of the thread that has each: for softmax. row_parts.cuh says what an Operation is.
//
// Each element is read from shared memory and converted once, where a walk along the row does so for each pass.
#pragma once

#include "shared/row_parts.cuh"
#include "shared/slab_rows.cuh"

// Rows of up to EACH elements, or one more where accesses leave a single one.
template <int EACH, int WIDTH, typename Operation>
__device__ __forceinline__ void rows_of_slab(const Operation& operation, long long rows, long long cols) {
    extern __shared__ __align__(16) Bits slab_packs[];
    using Row = SlabRow<WIDTH>;
    const Slab slab(slab_packs, rows, cols);
    if (threadIdx.x < WARP) operation.expect(min(static_cast<int>(threadIdx.x) * PACK, slab.cols - 1));
    slab.load(operation.x);
    if (static_cast<int>(threadIdx.x) < slab.rows) {
        const Row row(slab.row(threadIdx.x), slab.cols);
        float values[Row::SINGLES + EACH];
        if constexpr (Row::HAS_SINGLE) values[0] = to_float(row.row[row.single()]);
#pragma unroll
        for (int a = 0; a < EACH / Row::EACH; ++a) {
            Access<Row::EACH> access;
            if (a < row.accesses) access = row.access(a);
#pragma unroll
            for (int i = 0; i < Row::EACH; ++i) {
                values[Row::SINGLES + a * Row::EACH + i] =
                    a < row.accesses ? to_float(access.element[i]) : Operation::outside();
            }
        }
        const auto scale = operation.scale_of(Operation::of_elements(values, slab.cols), cols);
        if constexpr (Row::HAS_SINGLE) {
            from_float(operation.map_edge(values[0], operation.edge(row.single()), scale), row.row[row.single()]);
        }
#pragma unroll
        for (int a = 0; a < EACH / Row::EACH; ++a) {
            if (a >= row.accesses) break;
            Access<Row::EACH> access;
#pragma unroll
            for (int i = 0; i < Row::EACH; ++i) {
                const float value = values[Row::SINGLES + a * Row::EACH + i];
                from_float(operation.map_edge(value, operation.edge(row.column(a) + i), scale), access.element[i]);
            }
            row.access(a) = access;
        }
    }
    slab.store(operation.y);
}
