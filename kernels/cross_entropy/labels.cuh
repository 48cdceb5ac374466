// The element that a row's label names. Labels are data, and data has -100 for what is to be ignored, or is wrong.
#pragma once

#include "shared/common.cuh"

constexpr long long IGNORED = -100;  // torch's ignore_index: the row's loss is 0

// A row's element at its label, NaN for a label that is no column: nothing beside the row is read.
__device__ __forceinline__ float load_at(const SCALAR* row, long long label, long long cols) {
    const bool inside = static_cast<unsigned long long>(label) < static_cast<unsigned long long>(cols);
    return inside ? to_float(row[label]) : __int_as_float(0x7fffffff);
}
