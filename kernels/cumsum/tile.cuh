// Tiles of rows in packs, how a warp adds one up, and sums that blocks wait for.
#pragma once

#include "shared/shifted.cuh"

// A row cut into packs of 16 aligned bytes. The first and the last one may lie only partly in it.
struct Grid {
    const SCALAR *from, *end;  // of all rows
    long long length;
    int skew;  // elements of the first pack that lie before the row

    __device__ __forceinline__ Grid(const SCALAR* all, long long row, long long rows, long long cols)
        : from(all), end(all + rows * cols), length(cols) {
        skew = static_cast<int>(bytes_past(all + row * cols) / sizeof(SCALAR));
    }
    __device__ __forceinline__ long long packs() const { return (length + skew + PACK - 1) / PACK; }
    __device__ __forceinline__ long long at(long long pack) const { return pack * PACK - skew; }
    __device__ __forceinline__ bool has(long long at) const { return at >= 0 && at < length; }
    __device__ __forceinline__ bool is_inside(long long at) const { return at >= 0 && at + PACK <= length; }

    // Zeros where the row is not.
    __device__ __forceinline__ Bits load(const SCALAR* x, long long at) const {
        if (is_inside(at)) return __ldg(reinterpret_cast<const Bits*>(x + at));
        Bits bits = {};
        if (at + PACK <= 0 || at >= length) return bits;
        bits = load_near(x + at, from, end);
        Pack& pack = reinterpret_cast<Pack&>(bits);
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            if (!has(at + i)) from_float(0.0f, pack.element[i]);
        }
        return bits;
    }

    __device__ __forceinline__ void store(SCALAR* y, long long at, const Pack& pack) const {
        if (is_inside(at) && is_aligned(y + at)) {
            store_pack(y + at, pack);
        } else {
#pragma unroll
            for (int i = 0; i < PACK; ++i) {
                if (has(at + i)) y[at + i] = pack.element[i];
            }
        }
    }
};

// Sum of the lanes up to this one, of LANES neighbours.
template <int LANES = WARP>
__device__ __forceinline__ float warp_running_sum(float value) {
    const int lane = threadIdx.x % LANES;
#pragma unroll
    for (int offset = 1; offset < LANES; offset *= 2) {
        const float before = __shfl_up_sync(WHOLE_WARP, value, offset, LANES);
        if (lane >= offset) value += before;
    }
    return value;
}

__device__ __forceinline__ float sum_of(const Bits& bits) {
    float values[PACK];
    unpack(bits, values);
    float sum = values[0];
#pragma unroll
    for (int i = 1; i < PACK; ++i) sum += values[i];
    return sum;
}

// A tile of TILE_THREADS threads, a warp or a block, PACKS packs each: those of a warp lie one behind the other.
template <int PACKS, int TILE_THREADS>
struct Tile {
    static constexpr int STEP = WARP * PACK;  // elements from one pack of a thread to its next

    static __device__ __forceinline__ long long count(const Grid& grid) {
        return (grid.packs() + TILE_THREADS * PACKS - 1) / (TILE_THREADS * PACKS);
    }

    // The position of this thread's first pack.
    static __device__ __forceinline__ long long first_at(const Grid& grid, long long tile) {
        const int warp = TILE_THREADS > WARP ? threadIdx.x / WARP : 0;
        return grid.at(tile * (TILE_THREADS * PACKS) + warp * (WARP * PACKS) + threadIdx.x % WARP);
    }

    static __device__ __forceinline__ void load(
        Bits (&packs)[PACKS], const SCALAR* x, const Grid& grid, long long first
    ) {
#pragma unroll
        for (int p = 0; p < PACKS; ++p) packs[p] = grid.load(x, first + p * STEP);
    }

    // Sum of the warp's packs.
    static __device__ __forceinline__ float sum(const Bits (&packs)[PACKS]) {
        float total = 0.0f;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) total += sum_of(packs[p]);
        return warp_sum(total);
    }

    // Writes one pack of each thread of a warp, after which `before`, what comes before them, includes them.
    static __device__ __forceinline__ void store(
        SCALAR* y, const Grid& grid, long long at, const Bits& pack, float& before
    ) {
        float values[PACK];
        unpack(pack, values);
#pragma unroll
        for (int i = 1; i < PACK; ++i) values[i] += values[i - 1];
        const float up_to = warp_running_sum(values[PACK - 1]);
        const float neighbours = __shfl_up_sync(WHOLE_WARP, up_to, 1);
        const float base = threadIdx.x % WARP ? before + neighbours : before;
#pragma unroll
        for (int i = 0; i < PACK; ++i) values[i] += base;
        grid.store(y, at, to_pack(values));
        before += __shfl_sync(WHOLE_WARP, up_to, WARP - 1);
    }
};

// A sum and whether it is known yet, in the one word that is written and read at once. Zero: not known.
__device__ __forceinline__ void make_known(unsigned long long* word, float sum) {
    *reinterpret_cast<volatile unsigned long long*>(word) = 1ull << 32 | __float_as_uint(sum);
}

__device__ __forceinline__ float wait_for(const unsigned long long* word) {
    unsigned long long bits;
    do bits = *reinterpret_cast<const volatile unsigned long long*>(word);
    while (!(bits >> 32));
    return __uint_as_float(static_cast<unsigned>(bits));
}

struct Sums {
    float before;  // of the warps before this one
    float total;   // of all
};

// `slot` alternates from call to call, which spares a barrier. By a block of WARPS warps.
template <int WARPS>
__device__ __forceinline__ Sums over_warps(float warp_total, int slot) {
    __shared__ float totals[2][WARPS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    if (lane == 0) totals[slot][warp] = warp_total;
    __syncthreads();
    const float up_to = warp_running_sum(lane < WARPS ? totals[slot][lane] : 0.0f);
    const float before = __shfl_sync(WHOLE_WARP, up_to, warp ? warp - 1 : 0);
    return {warp ? before : 0.0f, __shfl_sync(WHOLE_WARP, up_to, WARPS - 1)};
}
