// Lists of K keys in descending order, which warps join two at a time. THREADS of a block are defined before this file is
// included.
#pragma once

#include "top_k/keys.cuh"

// A list of K keys in descending order, two a lane: its first half, and its second.
struct List {
    Key low, high;
};
static_assert(K == 2 * WARP);

__device__ __forceinline__ List list_at(const Key* keys) {
    return {keys[threadIdx.x % WARP], keys[threadIdx.x % WARP + WARP]};
}

// Puts each half of a warp's 64 keys, of which all of the first are as large as any of the second, in descending order: a
// half rises and then falls, or is a turn of such.
template <typename Two>
__device__ __forceinline__ void merge_halves(Two& keys) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int apart = WARP / 2; apart; apart /= 2) {
        const auto low = __shfl_xor_sync(WHOLE_WARP, keys.low, apart),
                   high = __shfl_xor_sync(WHOLE_WARP, keys.high, apart);
        keys.low = lane & apart ? min(keys.low, low) : max(keys.low, low);
        keys.high = lane & apart ? min(keys.high, high) : max(keys.high, high);
    }
}

// The K largest of two lists: the larger of each pair of one from the front and one from the back, in order by a bitonic
// merge.
__device__ __forceinline__ List joined(const List& one, const Key* other) {
    const int lane = threadIdx.x % WARP;
    const Key from_end = max(one.low, other[K - 1 - lane]), from_middle = max(one.high, other[WARP - 1 - lane]);
    List list = {max(from_end, from_middle), min(from_end, from_middle)};
    merge_halves(list);
    return list;
}

constexpr int WARPS = THREADS / WARP;

// A block's warps join their lists, by way of `lists`; `store(rank, key)` takes what is left.
template <typename Store>
__device__ __forceinline__ void join_warps(List mine, Key (&lists)[WARPS][K], const Store& store) {
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
#pragma unroll
    for (int apart = WARPS / 2; apart; apart /= 2) {
        if (warp >= apart && warp < 2 * apart) {
            lists[warp][lane] = mine.low;
            lists[warp][lane + WARP] = mine.high;
        }
        __syncthreads();
        if (warp < apart) mine = joined(mine, lists[warp + apart]);
    }
    if (warp) return;
    store(lane, mine.low);
    store(lane + WARP, mine.high);
}
