// What cuda_rings.cu has of a sequence in parts: which keys each takes, and how their results are joined, those of a cluster
// by its blocks, others by a second kernel.
#pragma once

#include "paged_decode/pages.cuh"
#include "shared/ampere.cuh"
#include "shared/cluster_exchange.cuh"
#include "shared/overlap.cuh"

constexpr int WARPS = 4;  // as in the launcher
constexpr int THREADS = WARPS * WARP;
constexpr int KEYS = 16;                  // of a tile
constexpr int BLOCK_KEYS = WARPS * KEYS;  // as in the launcher
constexpr int RING_BYTES = 24 * 1024;     // of a warp, as in the launcher
constexpr int JOINING = 256;              // threads that join a query head at most, as in the launcher

// The keys from `begin` to `end` that a part of a sequence has; parts differ by at most a tile of the block.
struct Part {
    int begin, end;

    __device__ __forceinline__ Part(int length, int part, int parts) {
        const int tiles = (length + BLOCK_KEYS - 1) / BLOCK_KEYS;
        const int share = (tiles + parts - 1) / parts * BLOCK_KEYS;
        begin = min(part * share, length);
        end = min(begin + share, length);
    }
};

#ifdef HAS_CLUSTERS
__device__ __forceinline__ float2 load_two(unsigned address) {
    float2 two;
    asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];" : "=f"(two.x), "=f"(two.y) : "r"(address));
    return two;
}

// Joins the parts of a sequence that the blocks of a cluster have, each in its own `of_part`: every block a share of heads
// and elements.
template <int DIM>
__device__ __forceinline__ void join_cluster(const float* of_part, int heads, int parts, SCALAR* o) {
    arrive_with_writes();
    wait_for_cluster();
    for (int pair = rank_in_cluster() * THREADS + threadIdx.x; pair < heads * (DIM / 2); pair += parts * THREADS) {
        const int head = pair / (DIM / 2), element = pair % (DIM / 2) * 2;
        const float* const from = of_part + head * (DIM + 4);
        float top = NEGATIVE_INFINITY, total = 0.0f;
        float2 mean = {};
        for (int part = 0; part < parts; ++part) {
            const float logarithm = load_two(address_in(part, from + DIM)).x;
            const float2 one = load_two(address_in(part, from + element));
            const float raised = fmaxf(top, logarithm);
            const float before = relative_power(top, raised), weight = relative_power(logarithm, raised);
            top = raised;
            total = total * before + weight;
            mean.x = mean.x * before + one.x * weight;
            mean.y = mean.y * before + one.y * weight;
        }
        const float factor = total == 0.0f ? 0.0f : 1.0f / total;
        from_floats(mean.x * factor, mean.y * factor, o + head * DIM + element);
    }
    arrive_with_writes();  // nobody ends while others read
    wait_for_cluster();
}
#endif

// Joins the parts of a query head: so many threads a row have four elements each of one part in turn, and all read ahead.
// The maximum is looked for first: no sum waits for another.
template <int DIM>
__device__ __forceinline__ void join(
    const float* __restrict__ means, const float* __restrict__ logarithms, const int* __restrict__ lengths,
    SCALAR* __restrict__ o, int heads, int capacity, int splits
) {
    constexpr int LANES = DIM / 4, GROUPS = JOINING / LANES, AHEAD = 4;  // parts of a group that are under way at once
    __shared__ float4 sums[GROUPS][LANES];
    __shared__ float totals[GROUPS];
    const int row = blockIdx.x;
    const int lane = threadIdx.x % LANES, group = threadIdx.x / LANES, groups = blockDim.x / LANES;
    let_next_start();
    const int length = min(max(lengths[row / heads], 0), capacity);
    const int share = Part(length, 0, splits).end;
    const int parts = share ? (length + share - 1) / share : 0;
    logarithms += static_cast<long long>(row) * splits;
    const float4* const from =
        reinterpret_cast<const float4*>(means + static_cast<long long>(row) * splits * DIM) + lane;
    wait_for_previous();  // all before this overlaps the end of the kernel that decodes, which has waited for `lengths`
    float top = NEGATIVE_INFINITY;
    for (int part = threadIdx.x % WARP; part < parts; part += WARP) top = fmaxf(top, logarithms[part]);
    top = warp_max(top);
    float4 sum = {};
    float total = 0.0f;
    for (int first = group; first < parts; first += groups * AHEAD) {
        float4 ones[AHEAD];
        float weights[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) {
            const int part = first + i * groups;
            if (part >= parts) continue;
            ones[i] = from[part * LANES];
            weights[i] = logarithms[part];
        }
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) {
            if (first + i * groups >= parts) continue;
            const float weight = relative_power(weights[i], top);
            total += weight;
            sum.x += weight * ones[i].x, sum.y += weight * ones[i].y;
            sum.z += weight * ones[i].z, sum.w += weight * ones[i].w;
        }
    }
    sums[group][lane] = sum;
    if (lane == 0) totals[group] = total;
    __syncthreads();
    if (group > 0) return;
#pragma unroll
    for (int other = 1; other < GROUPS; ++other) {
        if (other >= groups) break;
        const float4 one = sums[other][lane];
        sum.x += one.x, sum.y += one.y, sum.z += one.z, sum.w += one.w;
        total += totals[other];
    }
    const float factor = total == 0.0f ? 0.0f : 1.0f / total;
    o += static_cast<long long>(row) * DIM + lane * 4;
    from_floats(sum.x * factor, sum.y * factor, o);
    from_floats(sum.z * factor, sum.w * factor, o + 2);
}
