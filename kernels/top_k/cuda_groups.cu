// The largest 64 elements of rows in one pass without a branch: largest elements of groups, and then 64 groups once more.
//
// Formula: value[r, i] is the i-th of row r in descending order, equal ones by index. rows cols FLOP by the spec's
//   count, rows (cols s + 64 (s + 8)) bytes, and some 70 groups of each row once more.
// Mapping: a block of 256 threads owns a row, or one of up to 64 parts of it where rows are few. A thread's packs of 16
//   bytes are up to 16 groups, of which group g of all threads lies before group g + 1; it keeps the largest element of
//   each, and the block finds the 64th largest of the threads' best: by value, of equal ones by g. Whatever is among the
//   row's largest 64 lies in a group that is as large, of which there are 64 and a few. They are read again, and what is
//   as large is put down in shared memory as a key (keys.cuh). A key's rank is how many are larger. Where more than
//   CAPACITY keys are put down, as of a constant row, the block selects by their digits (selection.cuh). The first block
//   of a cluster joins the lists of up to 8 parts of a row, a second kernel those of more: a warp joins two at a time. Many
//   rows of up to 1 KB are a warp's each, which sorts them (warps.cuh).
// Idea: cuda_threshold waits for a first piece of the row, and then branches wherever one of 256 elements passes its
//   bound, which is most of the time; and it sorts all that passes. A maximum needs no bound: the pass is that of a
//   row's maximum, and the bound that follows is of the whole row, so that little passes. Delegates of groups: Gaihre et
//   al., "Dr. Top-k: Delegate-Centric Top-k on GPUs", SC 2021.
#include "shared/cluster_exchange.cuh"
#include "shared/overlap.cuh"

constexpr int THREADS = 256;     // as in cuda_groups.py
constexpr int CAPACITY = 2048;   // keys
constexpr int MOST_GROUPS = 16;  // of a thread
constexpr int MOST_RANKED = 512;

#include "top_k/groups.cuh"
#include "top_k/lists.cuh"
#include "top_k/warps.cuh"

#if __CUDA_ARCH__ >= 800

// ---- A part of a row ----------------------------------------------------------------------------

// What a block needs of its part after the scan, in shared memory: registers are for packs.
struct Kept {
    const SCALAR* x;
    long long start, begin, end, beyond;  // elements: the first pack, the part, and behind the row's packs
    int packs, length_bits;               // of the part, and of a group: 1 << length_bits
    int head, edges;                      // elements before the row's packs, and beside them
};

// A power of two.
template <int BATCH>
__device__ __forceinline__ int length_of_groups(int packs) {
    const int each = (packs + THREADS - 1) / THREADS;
    int length = 1;
    while (length * MOST_GROUPS < each) length *= length == 1 ? BATCH : 2;
    return length;
}

// Puts down what is as large as `least` of pack number `i` of those in listed groups.
__device__ __forceinline__ void add_again(
    const Kept& kept, const unsigned short* listed, int i, unsigned least, Found& found
) {
    const int at = listed[i >> kept.length_bits], in_group = i & ((1 << kept.length_bits) - 1);
    const int pack = ((at / THREADS << kept.length_bits) + in_group) * THREADS + at % THREADS;
    if (pack >= kept.packs) return;
    const long long first = kept.start + 1ll * pack * PACK;
    const Bits bits = load(kept.x + first);
    for_each_as_large(bits, least, [&](int element) {
        found.add(to_float(reinterpret_cast<const Pack&>(bits).element[element]), first + element);
    });
}

// Lists a thread's groups that are as large as `least`.
__device__ __forceinline__ void list_groups(
    const Kept& kept, const unsigned* orders, unsigned least, unsigned short* listed, int& count
) {
    constexpr int AT_ONCE = 2;
    const int packs = kept.packs - static_cast<int>(threadIdx.x), length = THREADS << kept.length_bits;
    for (int first = 0; first * length < packs; first += AT_ONCE) {
        unsigned some[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) some[i] = orders[(first + i) * THREADS + threadIdx.x];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            if (some[i] < least || (first + i) * length >= packs) continue;
            listed[atomicAdd(&count, 1)] = (first + i) * THREADS + threadIdx.x;
        }
    }
}

// Loads a thread's first packs of a part of a row.
template <int BATCH>
__device__ __forceinline__ void begin(const SCALAR* x, const Part& part, Batch<BATCH>& batch) {
    const int left = static_cast<int>(part.last - part.first) - static_cast<int>(threadIdx.x);
    batch.load_from(x + part.run.pack_at(part.first) + threadIdx.x * PACK, left);
}

// Puts down the K largest of a part of a row, and some more. What `found` has before is lost. The part's first packs are
// loaded when `start_loads()` ends; `go_on()` may load those of another part.
template <int BATCH, typename Start, typename GoOn>
__device__ __forceinline__ void find(
    const SCALAR* x, const Part& part, Found& found, Batch<BATCH>& batch, const Start& start_loads, const GoOn& go_on
) {
    __shared__ Kept kept;
    __shared__ unsigned short listed[MOST_GROUPS * THREADS];
    __shared__ int count;
    static_assert(sizeof(found.keys) >= MOST_GROUPS * THREADS * sizeof(unsigned));
    unsigned* const orders = reinterpret_cast<unsigned*>(found.keys);  // until keys are put down
    const int packs = static_cast<int>(part.last - part.first), length = length_of_groups<BATCH>(packs);
    const long long start = part.run.pack_at(part.first);
    if (threadIdx.x == 0) {
        count = found.count = 0;
        const AlignedRun& run = part.run;
        kept = {x, start, part.begin, part.end, run.packs * PACK, packs, 31 - __clz(length), run.head, run.edges};
    }
    start_loads();
    const unsigned best = scan(x + start + threadIdx.x * PACK, packs, length, orders + threadIdx.x, batch);
    go_on();
    const unsigned least = kth_largest(best);
    if (best >= least) list_groups(kept, orders, least, listed, count);
    __syncthreads();

    for (int i = threadIdx.x; i < count << kept.length_bits; i += THREADS) add_again(kept, listed, i, least, found);
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

// Puts down the K largest of one part, and some more.
__device__ __forceinline__ void find(const SCALAR* x, const Part& part, Found& found) {
    Batch<4> batch;
    find(x, part, found, batch, [&] { begin(x, part, batch); }, [] {});
}

// Of a multiprocessor. Elsewhere the compiler finds no room for eight in registers.
constexpr int BLOCKS = __CUDA_ARCH__ == 900 ? 8 : 6;

// A block a row, of as many as run at once: a short row is no more than what a block has to do besides.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) top_k_short_rows(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ value, long long* __restrict__ index, long long cols
) {
    constexpr int AT_ONCE = 4;
    __shared__ Found found;
    Batch<AT_ONCE> batch;
    const long long row = blockIdx.x;
    const SCALAR* const of_row = x + row * cols;
    const Part part(of_row, cols, 0, 1, 0);
    const auto start_loads = [&] {
        begin(of_row, part, batch);
#ifdef HAS_CLUSTERS
        const long long rest = part.last - AT_ONCE * THREADS;  // which L2 has by the time that it is loaded
        if (threadIdx.x == 0 && rest > 0) ask_l2(of_row + part.run.pack_at(AT_ONCE * THREADS), rest * sizeof(Bits));
#endif
    };
    find(of_row, part, found, batch, start_loads, [] {});
    rank(found.keys, found.count, Store(x, value, index, row, cols));
}

// A warp a row.
extern "C" __global__ void __launch_bounds__(THREADS) top_k_warp_rows(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ value, long long* __restrict__ index, long long rows,
    long long cols
) {
    const long long row = thread_of_grid() / WARP;
    if (row < rows) select_by_warp(x + row * cols, value + row * K, index + row * K, static_cast<int>(cols));
}

// A block takes every gridDim.x-th row. While it selects from one, the first packs of the next are under way.
extern "C" __global__ void __launch_bounds__(THREADS, 4) top_k_long_rows(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ value, long long* __restrict__ index, long long rows,
    long long cols
) {
    __shared__ Found found;
    Batch<8> batch;
    const auto part_of = [=](long long row) { return Part(x + row * cols, cols, 0, 1, 0); };
    begin(x + blockIdx.x * cols, part_of(blockIdx.x), batch);
#pragma unroll 1
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const long long next = row + gridDim.x;
        const auto go_on = [&] {
            if (next < rows) begin(x + next * cols, part_of(next), batch);
        };
        find(x + row * cols, part_of(row), found, batch, [] {}, go_on);
        rank(found.keys, found.count, Store(x, value, index, row, cols));
        __syncthreads();
    }
}

// Of each part of a row the K largest keys in order; 0 where it has fewer elements.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) top_k_parts(
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

// ---- Parts of a row -----------------------------------------------------------------------------

// A block a row: its warps join every WARPS-th part's list each, and then each other's.
extern "C" __global__ void __launch_bounds__(THREADS) top_k_join(
    const SCALAR* __restrict__ x, const Key* __restrict__ of_parts, SCALAR* __restrict__ value,
    long long* __restrict__ index, long long cols, long long parts
) {
    __shared__ Key lists[WARPS][K];
    const long long row = blockIdx.x;
    const int warp = threadIdx.x / WARP;
    wait_for_previous();
    of_parts += row * parts * K;
    List mine = {0, 0};
    if (warp < parts) mine = list_at(of_parts + warp * K);
#pragma unroll 4
    for (int part = warp + WARPS; part < parts; part += WARPS) mine = joined(mine, of_parts + part * K);
    join_warps(mine, lists, Store(x, value, index, row, cols));
}

#ifdef HAS_CLUSTERS

// A cluster a row, of no more blocks than a block has warps: each sends its part's list to the first one, which joins them.
extern "C" __global__ void __launch_bounds__(THREADS, 5) top_k_cluster(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ value, long long* __restrict__ index, long long cols,
    long long parts, long long length
) {
    __shared__ Found found;
    __shared__ Key lists[WARPS][K];
    const int part = static_cast<int>(rank_in_cluster()), warp = threadIdx.x / WARP;
    const long long row = blockIdx.x / parts;
    arrive_at_cluster();
    find(x + row * cols, Part(x + row * cols, cols, part, static_cast<int>(parts), length), found);
    const int count = found.count;
    wait_for_cluster();
    if (threadIdx.x >= count && threadIdx.x < K) store_at_rank(&lists[part][threadIdx.x], 0, Key{0});
    rank(found.keys, count, [&](int rank, Key key) { store_at_rank(&lists[part][rank], 0, key); });
    __syncwarp();  // a warp arrives as one
    arrive_with_writes();
    if (part) return;
    wait_for_cluster();
    const List mine = warp < parts ? list_at(lists[warp]) : List{0, 0};
    join_warps(mine, lists, Store(x, value, index, row, cols));
}

#endif

#endif
