// Gradients of the norms of many short rows that begin anywhere: a thread a row, by way of shared memory.
//
// Lanes that share a row mask what their packs have of other rows and store single elements at its ends. Here rows come
// and go as one run. Blocks stay and go from slab to slab. A thread adds up a column of some rows of each slab, and keeps
// its sums; then it has a row, and makes dx where dy was. Each block leaves its sums over rows in `partial`.
#pragma once

#include "shared/norm_terms.cuh"
#include "shared/slab_rows.cuh"

// cols <= blockDim.x. WIDTH elements, on which all rows begin.
template <bool CENTRED, int WIDTH>
__device__ __forceinline__ void slab_gradients(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, const float* means, const float* rstds, SCALAR* dx,
    float* partial, long long rows, int cols
) {
    extern __shared__ __align__(16) Bits slab_packs[];
    start_early();
    const int thread = threadIdx.x, threads = blockDim.x;
    float* const weights = reinterpret_cast<float*>(behind_slabs(slab_packs, cols, 2));
    float2* const normals = reinterpret_cast<float2*>(weights + threads);  // mean and 1 / deviation of each row
    if (thread < cols) weights[thread] = to_float(w[thread]);
    const int groups = threads / cols, group = thread / cols, col = thread - group * cols;
    const float one_of_cols = 1.0f / cols;
    float of_dw = 0.0f, of_db = 0.0f;
    for (long long number = blockIdx.x; number * threads < rows; number += gridDim.x) {
        const Slab gradients(slab_packs, rows, cols, number, blockDim.x);
        const Slab values(behind_slabs(slab_packs, cols, 1), rows, cols, number, blockDim.x);
        __syncthreads();  // the slab before has been stored
        gradients.begin_load(dy);
        values.begin_load(x);
        if (thread < gradients.rows) {
            const long long row = gradients.first + thread;
            normals[thread] = {CENTRED ? means[row] : 0.0f, rstds[row]};
        }
        wait_for_copies();
        if (group < groups) {
#pragma unroll 4
            for (int row = group; row < gradients.rows; row += groups) {
                const Normal<CENTRED> normal(normals[row].x, normals[row].y);
                const float gradient = to_float(gradients.row(row)[col]);
                of_dw = fmaf(gradient, normal(to_float(values.row(row)[col])), of_dw);
                if (CENTRED) of_db += gradient;
            }
        }
        __syncthreads();
        if (thread < gradients.rows) {
            const SlabRow<WIDTH> row(gradients.row(thread), cols), other(values.row(thread), cols);
            const Normal<CENTRED> normal(normals[thread].x, normals[thread].y);
            float2 total = {0.0f, 0.0f};
            for_elements<WRITES_NONE>(row, other, [&](int column, const SCALAR& gradient, const SCALAR& value) {
                const float g = to_float(gradient) * weights[column];
                if (CENTRED) total.x += g;
                total.y = fmaf(g, normal(to_float(value)), total.y);
            });
            const RowGradient<CENTRED> how(normal.rstd, total, one_of_cols);
            for_elements<WRITES_FIRST>(row, other, [&](int column, SCALAR& gradient, const SCALAR& value) {
                const float g = to_float(gradient) * weights[column];
                from_float(how.of(normal(to_float(value)), g), gradient);
            });
        }
        gradients.store(dx);
    }
    __syncthreads();
    float2* const sums = reinterpret_cast<float2*>(slab_packs);  // of each thread, where the slabs were
    sums[thread] = {of_dw, of_db};
    __syncthreads();
    if (thread >= cols) return;
    for (int other = 1; other < groups; ++other) {
        of_dw += sums[other * cols + thread].x;
        if (CENTRED) of_db += sums[other * cols + thread].y;
    }
    float* const to_dw = partial + static_cast<long long>(blockIdx.x) * cols;
    to_dw[thread] = of_dw;
    if (CENTRED) to_dw[static_cast<long long>(gridDim.x) * cols + thread] = of_db;
}
