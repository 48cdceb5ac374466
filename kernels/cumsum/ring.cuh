// Running sums of few long rows by a grid that stays: tiles come through a ring in shared memory, from Hopper on.
//
// Blocks that have one tile each wait for the sums before it with that tile in shared memory, and nothing is under way
// for them meanwhile. Here the copy engine (cp.async.bulk) brings the next tiles of a block while earlier ones wait. Tiles
// are drawn from a counter in their order, so that a block never waits for one that has not started. A warp brings
// tiles, one makes their totals known, one looks back, the others add. A block sums up all groups of tiles before its
// own for itself: each group in the same way, and one after the other, so that the order of addition is always the same.
#pragma once

#include "cumsum/tile.cuh"
#include "shared/hopper.cuh"
#include "shared/overlap.cuh"

// The first three are as in cuda_lookback.py.
constexpr int RING_STAGES = 6;
constexpr int RING_WARPS = 16;  // that add
constexpr int RING_PACKS = 4;   // of a thread
constexpr int RING_THREADS = (RING_WARPS + 3) * WARP;
constexpr int RING_TILE = RING_WARPS * WARP * RING_PACKS;  // packs
constexpr int RING_GROUP = 4 * WARP;                       // tiles
constexpr int HELD = 3;  // tiles of a block that wait for the sums before them; of fewer the last one is not yet known

#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000  // elsewhere nobody launches it
struct Ring {
    Bits* tiles;
    Barrier *full, *summed, *based, *empty;
    long long* numbers;           // of tiles; -1 behind the last one
    float (*before)[RING_WARPS];  // each warp's sum, then that of the warps before it
    float* bases;                 // sum before a tile

    __device__ __forceinline__ Bits* tile(int slot) const { return tiles + slot * RING_TILE; }
};

// The tiles of a block one after the other, and where they are in the ring.
struct Turn {
    int slot = 0;
    unsigned phase = 0;

    __device__ __forceinline__ void next() {
        if (++slot < RING_STAGES) return;
        slot = 0;
        phase ^= 1;
    }
};

__device__ __forceinline__ void bring_tiles(
    const Ring& ring, const SCALAR* x, unsigned long long* counter, long long rows, long long cols, long long tiles
) {
    using Address = unsigned long long;
    const Address begin = reinterpret_cast<Address>(x), end = reinterpret_cast<Address>(x + rows * cols);
    for (Turn turn;; turn.next()) {
        wait_for(ring.empty + turn.slot, turn.phase ^ 1);
        const long long number = static_cast<long long>(atomicAdd(counter, 1ull));
        const bool ended = number >= rows * tiles;
        ring.numbers[turn.slot] = ended ? -1 : number;
        if (ended) {
            arrive(ring.full + turn.slot);
            return;
        }
        const long long row = number / tiles, t = number % tiles;
        const Grid grid(x, row, rows, cols);
        const long long first = t * RING_TILE, packs = min(grid.packs() - first, static_cast<long long>(RING_TILE));
        const Address line = reinterpret_cast<Address>(x + row * cols + grid.at(first));
        Address from = line, to = line + packs * sizeof(Bits);
        if (from < begin) from += sizeof(Bits);
        if (to > end) to -= sizeof(Bits);
        const int bytes = to > from ? static_cast<int>(to - from) : 0;
        arrive_and_expect(ring.full + turn.slot, bytes);
        if (!bytes) continue;
        char* const place = reinterpret_cast<char*>(ring.tile(turn.slot)) + (from - line);
        copy_bytes_evict_last(place, reinterpret_cast<const void*>(from), bytes, ring.full + turn.slot);
    }
}

__device__ __forceinline__ void publish_totals(const Ring& ring, unsigned long long* sums) {
    const int lane = threadIdx.x % WARP;
    for (Turn turn;; turn.next()) {
        wait_for(ring.full + turn.slot, turn.phase);
        const long long number = ring.numbers[turn.slot];
        if (number < 0) return;
        wait_for(ring.summed + turn.slot, turn.phase);
        const float up_to = warp_running_sum(lane < RING_WARPS ? ring.before[turn.slot][lane] : 0.0f);
        if (lane == RING_WARPS - 1) make_known(sums + number, up_to);
        const float before = __shfl_up_sync(WHOLE_WARP, up_to, 1);
        if (lane < RING_WARPS) ring.before[turn.slot][lane] = lane ? before : 0.0f;
        __syncwarp();
        if (arrives_for_warp(lane)) arrive(ring.based + turn.slot);
    }
}

// Sums of GROUPS groups from `sums` on, as far as `count` tiles, each lane neighbouring ones; each lane gets all.
template <int GROUPS>
__device__ __forceinline__ void sums_of_groups(
    const unsigned long long* sums, long long count, float (&totals)[GROUPS]
) {
    const int lane = threadIdx.x % WARP;
    unsigned long long words[GROUPS][4];
    bool known;
    do {
        known = true;
#pragma unroll
        for (int g = 0; g < GROUPS; ++g) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int at = g * RING_GROUP + lane * 4 + i;
                words[g][i] =
                    at < count ? *reinterpret_cast<const volatile unsigned long long*>(sums + at) : 1ull << 32;
            }
        }
#pragma unroll
        for (int g = 0; g < GROUPS; ++g) {
#pragma unroll
            for (int i = 0; i < 4; ++i) known = known && words[g][i] >> 32;
        }
    } while (!__all_sync(WHOLE_WARP, known));
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) {
        float of[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) of[i] = __uint_as_float(static_cast<unsigned>(words[g][i]));
        totals[g] = warp_sum(of[0] + of[1] + (of[2] + of[3]));
    }
}

// The sum of whole groups, and what rounding has lost of it.
struct Carried {
    float sum = 0.0f, lost = 0.0f;

    __device__ __forceinline__ void add(float value) {
        const float next = sum + value, had = next - value;
        lost += (sum - had) + (value - (next - had));
        sum = next;
    }
};

__device__ __forceinline__ void look_back(const Ring& ring, const unsigned long long* sums, long long tiles) {
    const int lane = threadIdx.x % WARP;
    long long row = -1, done = 0;  // groups that are carried
    Carried carried;
    for (Turn turn;; turn.next()) {
        wait_for(ring.full + turn.slot, turn.phase);
        const long long number = ring.numbers[turn.slot];
        if (number < 0) return;
        const long long t = number % tiles, group = t / RING_GROUP;
        if (number / tiles != row) {
            row = number / tiles;
            done = 0;
            carried = {};
        }
        const unsigned long long* const of_row = sums + row * tiles;
        float one[1], two[2];
        for (; done + 1 < group; ++done) {
            sums_of_groups(of_row + done * RING_GROUP, RING_GROUP, one);
            carried.add(one[0]);
        }
        if (done < group) {
            sums_of_groups(of_row + done * RING_GROUP, t - done * RING_GROUP, two);
            carried.add(two[0]);
            one[0] = two[1];
            ++done;
        } else {
            sums_of_groups(of_row + group * RING_GROUP, t - group * RING_GROUP, one);
        }
        if (lane == 0) ring.bases[turn.slot] = carried.sum + (one[0] + carried.lost);
        __syncwarp();
        if (arrives_for_warp(lane)) arrive(ring.based + turn.slot);
    }
}

// The packs of a tile that lie only partly in the row, or not at all, are written again where the others came.
__device__ __forceinline__ float sum_of_tile(const SCALAR* x, const Grid& grid, long long first, Bits* kept) {
    float mine = 0.0f;
#pragma unroll
    for (int p = 0; p < RING_PACKS; ++p) {
        const long long at = first + p * (WARP * PACK);
        Bits* const here = kept + p * WARP;
        if (!grid.is_inside(at)) {
            *here = grid.load(x, at);
            publish_writes();
        }
        mine += sum_of(*here);
    }
    return mine;
}

__device__ __forceinline__ void add_tiles(
    const Ring& ring, const SCALAR* x, SCALAR* y, long long rows, long long cols, long long tiles
) {
    using Tiles = Tile<RING_PACKS, RING_WARPS * WARP>;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int own = warp * (WARP * RING_PACKS) + lane;  // the first pack
    Turn coming, going;
    int waiting = 0;
    bool ended = false;
    while (true) {
        if (!ended) {
            wait_for(ring.full + coming.slot, coming.phase);
            const long long number = ring.numbers[coming.slot];
            ended = number < 0;
            if (!ended) {
                const long long row = number / tiles;
                const Grid grid(x, row, rows, cols);
                const long long first = Tiles::first_at(grid, number % tiles);
                const float total = warp_sum(sum_of_tile(x + row * cols, grid, first, ring.tile(coming.slot) + own));
                if (lane == 0) ring.before[coming.slot][warp] = total;
                __syncwarp();
                if (arrives_for_warp(lane)) arrive(ring.summed + coming.slot);
                coming.next();
                ++waiting;
            }
        }
        if (waiting <= (ended ? 0 : HELD)) {
            if (ended) return;
            continue;
        }
        wait_for(ring.based + going.slot, going.phase);
        const long long number = ring.numbers[going.slot], row = number / tiles;
        const Grid grid(x, row, rows, cols);
        const long long first = Tiles::first_at(grid, number % tiles);
        float before = ring.bases[going.slot] + ring.before[going.slot][warp];
        const Bits* const kept = ring.tile(going.slot) + own;
#pragma unroll
        for (int p = 0; p < RING_PACKS; ++p) {
            Tiles::store(y + row * cols, grid, first + p * Tiles::STEP, kept[p * WARP], before);
        }
        __syncwarp();
        if (arrives_for_warp(lane)) arrive(ring.empty + going.slot);
        going.next();
        --waiting;
    }
}

__device__ __forceinline__ void cumsum_by_ring(
    const SCALAR* x, SCALAR* y, unsigned long long* words, long long rows, long long cols, long long tiles
) {
    extern __shared__ __align__(128) Bits ring_tiles[];
    __shared__ Barrier full[RING_STAGES], summed[RING_STAGES], based[RING_STAGES], empty[RING_STAGES];
    __shared__ long long numbers[RING_STAGES];
    __shared__ float before[RING_STAGES][RING_WARPS], bases[RING_STAGES];
    const Ring ring = {ring_tiles, full, summed, based, empty, numbers, before, bases};
    if (threadIdx.x == 0) {
        for (int slot = 0; slot < RING_STAGES; ++slot) {
            init_barrier(full + slot, 1);
            init_barrier(summed + slot, RING_WARPS * ARRIVALS_OF_WARP);
            init_barrier(based + slot, 2 * ARRIVALS_OF_WARP);
            init_barrier(empty + slot, RING_WARPS * ARRIVALS_OF_WARP);
        }
        publish_barriers();
    }
    __syncthreads();
    start_early();
    switch (threadIdx.x / WARP) {
        case RING_WARPS:
            if (threadIdx.x % WARP == 0) bring_tiles(ring, x, words, rows, cols, tiles);
            break;
        case RING_WARPS + 1:
            publish_totals(ring, words + 1);
            break;
        case RING_WARPS + 2:
            look_back(ring, words + 1, tiles);
            break;
        default:
            add_tiles(ring, x, y, rows, cols, tiles);
    }
}
#else
__device__ __forceinline__ void cumsum_by_ring(
    const SCALAR*, SCALAR*, unsigned long long*, long long, long long, long long
) {}
#endif
