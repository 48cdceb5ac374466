// 16 bytes at any address, out of the two words of 16 bytes that they lie in.
#pragma once

// Those that begin `past` bytes into `low`, 0 to 15; `high` is the word behind it.
__device__ __forceinline__ void bytes_amid(const uint4& low, const uint4& high, unsigned past, unsigned (&to)[4]) {
    unsigned word[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int i = 0; i < 6; ++i) word[i] = past & 8 ? word[i + 2] : word[i];
#pragma unroll
    for (int i = 0; i < 5; ++i) word[i] = past & 4 ? word[i + 1] : word[i];
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = __funnelshift_r(word[i], word[i + 1], past % 4 * 8);
}
