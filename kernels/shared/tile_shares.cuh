// Tiles dealt to a persistent grid, and what two blocks do that compute one tile together.
//
// A grid of 132 blocks needs two rounds for 140 tiles, and is idle for most of the second. So each of the last tiles may
// be computed by both blocks of a cluster, each over a half of k: warpgroup 0 of block 1 sends its sums to that of
// block 0, which stores these rows; warpgroup 1 of block 0 to that of block 1. They meet in the cluster's shared memory.
// Four or eight blocks share tiles of which there are that few: no more than 120 of an H200's 132 multiprocessors are in
// clusters of so many. More than half a round of tiles are shared by all clusters, a run of steps each, and the parts of a
// tile meet in memory.
#pragma once

#include "shared/hopper.cuh"

// A warpgroup's sums to the same one of block `block`, those of each thread to the same thread.
template <int COUNT>
__device__ __forceinline__ void send_sums(
    const float (&sum)[COUNT], unsigned block, const unsigned char* received, const Barrier* all_received
) {
    const unsigned to = address_in(block, received) + threadIdx.x % WARPGROUP * 16;
    const unsigned barrier = address_in(block, all_received);
#pragma unroll
    for (int i = 0; i < COUNT; i += 4) send_to(to + i / 4 * WARPGROUP * 16, &sum[i], barrier);
}

template <int COUNT>
__device__ __forceinline__ void add_sums(float (&sum)[COUNT], const unsigned char* received) {
    const unsigned char* const from = received + threadIdx.x % WARPGROUP * 16;
#pragma unroll
    for (int i = 0; i < COUNT; i += 4) {
        const float4 four = *reinterpret_cast<const float4*>(from + i / 4 * WARPGROUP * 16);
        sum[i] += four.x, sum[i + 1] += four.y, sum[i + 2] += four.z, sum[i + 3] += four.w;
    }
}

// A warpgroup's sums in PARTS slices, each to the same warpgroup of one block, which adds up what it gets to its own slice.
template <int PARTS, int COUNT>
__device__ __forceinline__ void exchange_sums(
    const float (&sum)[COUNT], float (&own)[COUNT / PARTS], int part, const unsigned char* received,
    Barrier* all_received
) {
    constexpr int SLICE = COUNT / PARTS, BYTES = SLICE * WARPGROUP * 4;
    static_assert(SLICE % 4 == 0);
#pragma unroll
    for (int to = 0; to < PARTS; ++to) {
        float slice[SLICE];
#pragma unroll
        for (int i = 0; i < SLICE; ++i) slice[i] = sum[to * SLICE + i];
        if (to != part) {
            send_sums(slice, to, received + part * BYTES, all_received);
            continue;
        }
#pragma unroll
        for (int i = 0; i < SLICE; ++i) own[i] = slice[i];
    }
    wait_for(all_received, 0);
    for (int from = 0; from < PARTS; ++from) {
        if (from != part) add_sums(own, received + from * BYTES);
    }
}

// The steps of a block, run by run: those of the first `alone` tiles, which clusters compute one by one, and then those of
// tiles that are shared, if there are any.
//
// PARTS > 1: the blocks of a cluster share one tile, a part each, so that there must be no more than clusters. PARTS =
// EQUAL: each cluster takes an equal share of the steps of all of them, wherever in a tile it begins and ends: stream-K
// (Osama et al. 2023). 32 bits count these steps. Shares go from the last cluster to the first, because a cluster waits for
// parts of those behind its own, which have started before.
constexpr int EQUAL = 0;

template <int CLUSTER, int PARTS>
struct Turns {
    unsigned tile = 0;
    int first = 0, last = 0;  // steps of the tile
    unsigned turn = 0;
    bool shared = false;

private:
    unsigned tiles, alone;
    int steps, part;
    unsigned position = 0;  // of the share, in steps of all shared tiles

public:
    __device__ __forceinline__ Turns(unsigned tiles, int steps, unsigned alone, int part = 0)
        : tiles(tiles), alone(alone), steps(steps), part(part) {
        if constexpr (PARTS == EQUAL) {
            if (alone < tiles) position = begin_of(place());
        }
    }

    static __device__ __forceinline__ unsigned units() { return gridDim.x / CLUSTER; }
    // Of its share among those of all clusters.
    static __device__ __forceinline__ unsigned place() { return units() - 1 - blockIdx.x / CLUSTER; }
    // Where the share at a place begins, and where the steps of this tile end.
    __device__ __forceinline__ unsigned begin_of(unsigned place) const {
        const unsigned all = (tiles - alone) * steps;
        return all / units() * place + min(all % units(), place);
    }
    __device__ __forceinline__ unsigned end_of_tile() const { return (tile - alone + 1) * steps; }

    // Steps of all runs; not where the blocks of a cluster share tiles.
    __device__ __forceinline__ int all_steps() const {
        const unsigned unit = blockIdx.x / CLUSTER;
        int all = unit < alone ? ((alone - 1 - unit) / units() + 1) * steps : 0;
        if constexpr (PARTS == EQUAL) {
            if (alone < tiles) all += static_cast<int>(begin_of(place() + 1) - begin_of(place()));
        }
        return all;
    }

    // Whether next() would find a run; not for halves.
    __device__ __forceinline__ bool goes_on() const {
        return blockIdx.x / CLUSTER + turn * units() < alone || (PARTS == EQUAL && position < begin_of(place() + 1));
    }

    __device__ __forceinline__ bool next() {
        tile = blockIdx.x / CLUSTER + turn++ * units();
        first = 0, last = steps;
        if (tile < alone) return true;
        if constexpr (PARTS > 1) {
            if (shared) return false;
            shared = true;
            tile = alone + blockIdx.x / PARTS;
            // Each part has steps / PARTS, and the first ones of the rest one more.
            const int each = steps / PARTS, rest = steps % PARTS;
            first = part * each + min(part, rest), last = first + each + (part < rest);
            return tile < tiles;
        } else if constexpr (PARTS == EQUAL) {
            const unsigned left = begin_of(place() + 1) - position;
            tile = alone + position / steps;
            first = position % steps;
            last = min(static_cast<unsigned>(steps), first + left);
            position += last - first;
            return left > 0;
        }
        return false;
    }
};

// ---- Whole tiles that two warpgroups of a block take in turn -------------------------------------

// Of PARTS: nothing is shared, and one warpgroup stores its tile while the other multiplies.
constexpr int IN_TURN = -1;

// By the warpgroup that has the next tile, and by the other one for it.
__device__ __forceinline__ void wait_for_turn(int warpgroup) {
    asm volatile("bar.sync %0, %1;" ::"r"(warpgroup + 4), "n"(2 * WARPGROUP) : "memory");
}
__device__ __forceinline__ void give_turn(int warpgroup) {
    asm volatile("bar.arrive %0, %1;" ::"r"(warpgroup + 4), "n"(2 * WARPGROUP) : "memory");
}

// ---- Parts of a tile in memory, for the block that has its first step ---------------------------
//
// A flag that holds the launch's ticket says that a part is there. Who has read the part clears it: so flags need no zeros
// to begin with, which would be a launch of its own, and a graph may be launched again with the same ticket.

using Flag = unsigned long long;

__device__ __forceinline__ void wait_for_flag(const Flag* flag, Flag ticket) {
    Flag value;
    do {
        asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
    } while (value != ticket);
}

// By one thread, when those whose writes it tells of have met.
__device__ __forceinline__ void raise_flag(Flag* flag, Flag ticket) {
    asm volatile("st.release.gpu.u64 [%0], %1;" ::"l"(flag), "l"(ticket) : "memory");
}

struct TileParts {
    float* sums;
    Flag* flags;
    Flag ticket;

    template <int COUNT>
    __device__ __forceinline__ float4* of_thread(unsigned index) const {
        return reinterpret_cast<float4*>(sums) + static_cast<long long>(index) * (COUNT / 4 * WARPGROUP) +
               threadIdx.x % WARPGROUP;
    }

    // A warpgroup's sums, as part `index`.
    template <int COUNT>
    __device__ __forceinline__ void leave(const float (&sum)[COUNT], unsigned index, int warpgroup) const {
        float4* const part = of_thread<COUNT>(index);
#pragma unroll
        for (int i = 0; i < COUNT; i += 4) {
            __stcg(part + i / 4 * WARPGROUP, make_float4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]));
        }
        meet_warpgroup(warpgroup);
        if (threadIdx.x % WARPGROUP == 0) raise_flag(flags + index, ticket);
    }

    // The parts `index_of(0)` to `index_of(count - 1)`: all flags are waited for at once.
    template <int COUNT, class IndexOf>
    __device__ __forceinline__ void add_all(
        float (&sum)[COUNT], unsigned count, const IndexOf& index_of, int warpgroup
    ) const {
        const unsigned thread = threadIdx.x % WARPGROUP;
        for (unsigned i = thread; i < count; i += WARPGROUP) wait_for_flag(flags + index_of(i), ticket);
        meet_warpgroup(warpgroup);
        for (unsigned other = 0; other < count; ++other) {
            const float4* const part = of_thread<COUNT>(index_of(other));
#pragma unroll
            for (int i = 0; i < COUNT; i += 4) {
                const float4 four = __ldcg(part + i / 4 * WARPGROUP);
                sum[i] += four.x, sum[i + 1] += four.y, sum[i + 2] += four.z, sum[i + 3] += four.w;
            }
        }
        meet_warpgroup(warpgroup);
        for (unsigned i = thread; i < count; i += WARPGROUP) flags[index_of(i)] = 0;
    }

    template <int COUNT>
    __device__ __forceinline__ void add(float (&sum)[COUNT], unsigned index, int warpgroup) const {
        const float4* const part = of_thread<COUNT>(index);
        wait_for_flag(flags + index, ticket);
#pragma unroll
        for (int i = 0; i < COUNT; i += 4) {
            const float4 four = __ldcg(part + i / 4 * WARPGROUP);
            sum[i] += four.x, sum[i + 1] += four.y, sum[i + 2] += four.z, sum[i + 3] += four.w;
        }
        meet_warpgroup(warpgroup);
        if (threadIdx.x % WARPGROUP == 0) flags[index] = 0;
    }
};
