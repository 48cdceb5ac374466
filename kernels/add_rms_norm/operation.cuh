// Residual addition and RMS norm of a row that several blocks share: row_parts.cuh says what the names mean.
#pragma once

#include "shared/rms_norm_parts.cuh"

struct AddRmsNorm : RmsNorm {
    static constexpr int INPUTS = 2;

    const SCALAR* residual;
    SCALAR* h;

    __device__ __forceinline__
    AddRmsNorm(const SCALAR* x, const SCALAR* residual, const ColumnVector& w, SCALAR* y, SCALAR* h)
        : RmsNorm{x, w, y}, residual(residual), h(h) {}

    // h of one pack, rounded to its type: y is the norm of the h that is returned. Who asks for it stores it.
    __device__ __forceinline__ Bits join(const Bits& x, const Bits& residual) const {
        float left[PACK], right[PACK];
        unpack_words(x, left);
        unpack_words(residual, right);
#pragma unroll
        for (int i = 0; i < PACK; ++i) left[i] += right[i];
        return pack_bits(left);
    }
    __device__ __forceinline__ float join_edge(long long at) const { return join_edge(at, x[at], residual[at]); }
    __device__ __forceinline__ float join_edge(long long at, const SCALAR& x, const SCALAR& residual) const {
        SCALAR sum;
        from_float(to_float(x) + to_float(residual), sum);
        h[at] = sum;
        return to_float(sum);
    }
};
