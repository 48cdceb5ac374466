// The largest 64 elements of rows in one pass without a branch: largest elements of groups, and then 64 groups once more.
//
// Formula: value[r, i] is the i-th of row r in descending order, equal ones by index. rows cols FLOP by the spec's
//   count, rows (cols s + 64 (s + 8)) bytes, and some 70 groups of each row once more.
// Mapping: a block of 256 threads owns a row, or one of up to 64 parts of it where rows are few. A thread's packs of 16
//   bytes are up to 16 groups, of which group g of all threads lies before group g + 1; it keeps the largest element of
//   each, and the block finds the 64th largest of the threads' best: by value, of equal ones by g. Whatever is among the
//   row's largest 64 lies in a group that is as large, of which there are 64 and a few. They are read again, and what is
//   as large is put down in shared memory as a key (keys.cuh). A key's rank is how many are larger. Where more than
//   CAPACITY keys are put down, as of a constant row, the block selects by their digits (selection.cuh). Parts of a row
//   are joined by a second kernel.
// Idea: cuda_threshold waits for a first piece of the row, and then branches wherever one of 256 elements passes its
//   bound, which is most of the time; and it sorts all that passes. A maximum needs no bound: the pass is that of a
//   row's maximum, and the bound that follows is of the whole row, so that little passes. Delegates of groups: Gaihre et
//   al., "Dr. Top-k: Delegate-Centric Top-k on GPUs", SC 2021.
#include "shared/overlap.cuh"

constexpr int THREADS = 256;     // as in cuda_groups.py
constexpr int CAPACITY = 2048;   // keys
constexpr int MOST_GROUPS = 16;  // of a thread
constexpr int BATCH = 4;         // packs of a thread under way
constexpr int MOST_RANKED = 512;

#include "top_k/selection.cuh"

#if __CUDA_ARCH__ >= 800

// ---- The order of groups: by the largest element, of equal ones the first group above the rest ------

#ifdef SCALAR_IS_FLOAT32

using Largest = float;  // of a group
#define LOWEST NEGATIVE_INFINITY

__device__ __forceinline__ float larger(float one, float other) {
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(one) : "f"(one), "f"(other));
    return one;
}

__device__ __forceinline__ float largest_of(const Bits& pack) {
    return larger(
        larger(__uint_as_float(pack.x), __uint_as_float(pack.y)),
        larger(__uint_as_float(pack.z), __uint_as_float(pack.w))
    );
}

// Equal elements are rare enough: which group they are in does not count.
__device__ __forceinline__ unsigned order_in_groups(float value) { return order_of(value); }
__device__ __forceinline__ unsigned order_of_group(float largest, int) { return order_in_groups(largest); }
constexpr int GROUP_BITS = 0;

#else

using Largest = unsigned;  // of even and of odd elements
#ifdef SCALAR_IS_BFLOAT16
#define LARGER "max.NaN.bf16x2 "
#define LOWEST 0xff80ff80u
#else
#define LARGER "max.NaN.f16x2 "
#define LOWEST 0xfc00fc00u
#endif

__device__ __forceinline__ unsigned larger(unsigned one, unsigned other) {
    asm(LARGER "%0, %1, %2;" : "=r"(one) : "r"(one), "r"(other));
    return one;
}

__device__ __forceinline__ unsigned largest_of(const Bits& pack) {
    return larger(larger(pack.x, pack.y), larger(pack.z, pack.w));
}

// As order_of, in the upper half: the order of 16 bits needs no more.
__device__ __forceinline__ unsigned order_in_groups(SCALAR element) {
    const float value = to_float(element);
    const unsigned bits = value == 0.0f ? 0u : reinterpret_cast<const unsigned short&>(element);
    return value != value ? 0xffff0000u : (bits >> 15 ? ~bits : bits | 0x8000u) << 16;
}

__device__ __forceinline__ unsigned order_of_group(unsigned largest, int group) {
    const SCALAR* const two = reinterpret_cast<const SCALAR*>(&largest);
    return max(order_in_groups(two[0]), order_in_groups(two[1])) | (0xffff - group);
}
constexpr int GROUP_BITS = 16;

#endif

// The K-th largest of the block's orders, one a thread; NONE where fewer threads have any. Bit by bit from the first:
// each barrier counts the threads that a bit more would leave.
__device__ __forceinline__ unsigned kth_largest(unsigned mine) {
    unsigned found = NONE;
    const auto go_on = [&](int from, int to) {
#pragma unroll 1
        for (int bit = from; bit >= to; --bit) {
            const unsigned more = found | 1u << bit;
            if (__syncthreads_count(mine >= more) >= K) found = more;
        }
    };
    go_on(31, GROUP_BITS);
    if (GROUP_BITS && found != NONE) {
        found |= 0xffff & -MOST_GROUPS;  // which all groups have
        go_on(3, 0);
        static_assert(MOST_GROUPS == 1 << 4);
    }
    return found;
}

// ---- A part of a row ----------------------------------------------------------------------------

// The order of the largest of a thread's groups; that of each is left in `orders`. A group is `length` packs of a thread,
// THREADS apart: one, or a multiple of BATCH. `x` begins with the thread's first pack, of `packs` packs of its block.
__device__ __forceinline__ unsigned scan(const SCALAR* x, int packs, int length, unsigned* orders) {
    unsigned best = NONE;
    Largest largest = LOWEST;
    int group = 0, in_group = 0;
    const auto end_group = [&](Largest value) {
        const unsigned order = order_of_group(value, group++);
        *orders = order;
        orders += THREADS;
        best = max(best, order);
    };
    int left = packs - static_cast<int>(threadIdx.x);  // before which there are packs of this thread
    for (; left > (BATCH - 1) * THREADS; left -= BATCH * THREADS, x += BATCH * THREADS * PACK) {
        Bits batch[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; ++i) batch[i] = load(x + i * THREADS * PACK);
        if (length == 1) {
#pragma unroll
            for (int i = 0; i < BATCH; ++i) end_group(largest_of(batch[i]));
            continue;
        }
#pragma unroll
        for (int i = 0; i < BATCH; ++i) largest = larger(largest, largest_of(batch[i]));
        in_group += BATCH;
        if (in_group == length) {
            end_group(largest);
            largest = LOWEST;
            in_group = 0;
        }
    }
#pragma unroll 1
    for (; left > 0; left -= THREADS, x += THREADS * PACK, ++in_group) {
        const Largest one = largest_of(load(x));
        if (length == 1) end_group(one);
        else largest = larger(largest, one);
    }
    if (length > 1 && in_group) end_group(largest);
    return best;
}

// What a block needs of its part after the scan, in shared memory: registers are for packs.
struct Kept {
    const SCALAR* x;
    long long start, begin, end, beyond;  // elements: the first pack, the part, and behind the row's packs
    int packs, length;                    // of the part, and of a group
    int head, edges;                      // elements before the row's packs, and beside them
};

__device__ __forceinline__ int length_of_groups(int packs) {
    const int each = (packs + THREADS - 1) / THREADS;
    return each <= MOST_GROUPS ? 1 : (each + MOST_GROUPS * BATCH - 1) / (MOST_GROUPS * BATCH) * BATCH;
}

// Puts down what is as large as `least` of a listed group.
__device__ __forceinline__ void add_again(const Kept& kept, int listed, int in_group, unsigned least, Found& found) {
    const int pack = (listed / THREADS * kept.length + in_group) * THREADS + listed % THREADS;
    if (pack >= kept.packs) return;
    const long long first = kept.start + 1ll * pack * PACK;
    const Pack elements = load_pack(kept.x + first);
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
        const SCALAR element = elements.element[i];
        if (order_in_groups(element) >= least) found.add(to_float(element), first + i);
    }
}

// Puts down the K largest of a part of a row, and some more. What `found` has before is lost.
__device__ __forceinline__ void find(const SCALAR* x, const Part& part, Found& found) {
    __shared__ Kept kept;
    __shared__ unsigned short listed[MOST_GROUPS * THREADS];
    __shared__ int count;
    static_assert(sizeof(found.keys) >= MOST_GROUPS * THREADS * sizeof(unsigned));
    unsigned* const orders = reinterpret_cast<unsigned*>(found.keys);  // until keys are put down
    const int packs = static_cast<int>(part.last - part.first), length = length_of_groups(packs);
    const long long start = part.run.pack_at(part.first);
    if (threadIdx.x == 0) {
        count = found.count = 0;
        const AlignedRun& run = part.run;
        kept = {x, start, part.begin, part.end, run.packs * PACK, packs, length, run.head, run.edges};
    }
    const unsigned best = scan(x + start + threadIdx.x * PACK, packs, length, orders + threadIdx.x);
    const unsigned least = kth_largest(best);
    if (best >= least) {
        for (int group = 0; group * kept.length * THREADS + threadIdx.x < kept.packs; ++group) {
            const int at = group * THREADS + threadIdx.x;
            if (orders[at] >= least) listed[atomicAdd(&count, 1)] = at;
        }
    }
    __syncthreads();

    for (int i = threadIdx.x; i < count * kept.length; i += THREADS) {
        add_again(kept, listed[i / kept.length], i % kept.length, GROUP_BITS ? least & 0xffff0000u : least, found);
    }
    if (threadIdx.x < kept.edges) {
        const long long edge = threadIdx.x < kept.head ? threadIdx.x : threadIdx.x + kept.beyond;
        if (edge >= kept.begin && edge < kept.end) found.add(to_float(kept.x[edge]), edge);
    }
    __syncthreads();

    const bool is_full = found.count > CAPACITY;
    __syncthreads();
    if (is_full) select_by_digits(kept.x, kept.begin, kept.end, found);
}

// ---- The kernels --------------------------------------------------------------------------------

// Gives `take(rank, key)` the K largest of keys that are all different, or all there are.
template <typename Take>
__device__ __forceinline__ void rank(Key* keys, int count, const Take& take) {
    if (count > MOST_RANKED) {
        sort_found(keys, count);
        if (threadIdx.x < K) take(threadIdx.x, keys[threadIdx.x]);
        return;
    }
    for (int i = threadIdx.x; i < count; i += THREADS) {
        const Key mine = keys[i];
        int larger = 0;
#pragma unroll 8
        for (int j = 0; j < count; ++j) larger += keys[j] > mine;
        if (larger < K) take(larger, mine);
    }
}

struct Store {
    const SCALAR* x;
    SCALAR* value;
    long long* index;

    __device__ __forceinline__ Store(const SCALAR* x, SCALAR* value, long long* index, long long row, long long cols)
        : x(x + row * cols), value(value + row * K), index(index + row * K) {}
    __device__ __forceinline__ void operator()(int rank, Key key) const {
        const long long at = index_of(key);
        const unsigned order = static_cast<unsigned>(key >> 32);
        // Orders tell neither zeros nor NaNs apart.
        if (order == LARGEST || order == 0x80000000u) value[rank] = x[at];
        else from_float(element_of(order), value[rank]);
        index[rank] = at;
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 8) top_k_rows(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ value, long long* __restrict__ index, long long cols
) {
    __shared__ Found found;
    const long long row = blockIdx.x;
    find(x + row * cols, Part(x + row * cols, cols, 0, 1, 0), found);
    rank(found.keys, found.count, Store(x, value, index, row, cols));
}

// Of each part of a row the K largest keys in order; 0 where it has fewer elements.
extern "C" __global__ void __launch_bounds__(THREADS, 8) top_k_parts(
    const SCALAR* __restrict__ x, Key* __restrict__ keys, long long cols, long long parts, long long length
) {
    __shared__ Found found;
    x += blockIdx.x / parts * cols;
    keys += blockIdx.x * static_cast<long long>(K);
    let_next_start();
    find(x, Part(x, cols, static_cast<int>(blockIdx.x % parts), static_cast<int>(parts), length), found);
    const int count = found.count;
    if (threadIdx.x >= count && threadIdx.x < K) keys[threadIdx.x] = 0;
    rank(found.keys, count, [=](int rank, Key key) { keys[rank] = key; });
}

// ---- Joining lists ------------------------------------------------------------------------------

// A list of K keys in descending order, two a lane: its first half, and its second.
struct List {
    Key low, high;
};
static_assert(K == 2 * WARP);

__device__ __forceinline__ List list_at(const Key* keys) {
    return {keys[threadIdx.x % WARP], keys[threadIdx.x % WARP + WARP]};
}

// The K largest of two lists: the larger of each pair of one from the front and one from the back, in order by a bitonic
// merge.
__device__ __forceinline__ List joined(const List& one, const Key* other) {
    const int lane = threadIdx.x % WARP;
    const Key from_end = max(one.low, other[K - 1 - lane]), from_middle = max(one.high, other[WARP - 1 - lane]);
    List list = {max(from_end, from_middle), min(from_end, from_middle)};
#pragma unroll
    for (int apart = WARP / 2; apart; apart /= 2) {
        const Key low = __shfl_xor_sync(WHOLE_WARP, list.low, apart),
                  high = __shfl_xor_sync(WHOLE_WARP, list.high, apart);
        list.low = lane & apart ? min(list.low, low) : max(list.low, low);
        list.high = lane & apart ? min(list.high, high) : max(list.high, high);
    }
    return list;
}

// A block a row: its warps join every WARPS-th part's list each, and then each other's.
extern "C" __global__ void __launch_bounds__(THREADS) top_k_join(
    const SCALAR* __restrict__ x, const Key* __restrict__ of_parts, SCALAR* __restrict__ value,
    long long* __restrict__ index, long long cols, long long parts
) {
    constexpr int WARPS = THREADS / WARP;
    __shared__ Key lists[WARPS][K];
    const long long row = blockIdx.x;
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    wait_for_previous();
    of_parts += row * parts * K;
    List mine = {0, 0};
    if (warp < parts) mine = list_at(of_parts + warp * K);
#pragma unroll 4
    for (int part = warp + WARPS; part < parts; part += WARPS) mine = joined(mine, of_parts + part * K);
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
    const Store store(x, value, index, row, cols);
    store(lane, mine.low);
    store(lane + WARP, mine.high);
}

#endif
