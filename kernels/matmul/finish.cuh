// The sums as they are, as the versions of matmul store them.
#pragma once

struct Finish {
    __device__ __forceinline__ float2 operator()(float2 sums, int) const { return sums; }
};
