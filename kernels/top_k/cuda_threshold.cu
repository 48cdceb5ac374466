// The largest 64 elements of rows in one pass: a first piece of the row gives a threshold, the rest is filtered by it.
//
// Formula: value[r, i] is the i-th of row r in descending order, equal ones by index. rows cols FLOP by the spec's
//   count, rows (cols s + 64 (s + 8)) bytes.
// Mapping: a block of 512 threads owns a row, or one of up to 64 parts of it where rows are few; a thread has PACKS
//   packs of 16 bytes under way. The 64th largest of what are the largest elements of each thread in the first 32 KB is
//   a lower bound of the 64th largest of the row. What lies above it, one element in 240 or fewer, is put down in
//   shared memory as a key (keys.cuh), and the block sorts these. There is no barrier while it reads on. Where more
//   than CAPACITY elements lie above, as in rows that ascend, the block selects by the digits of the keys instead and
//   reads the row nine more times. Parts of a row are joined by a second kernel.
// Idea: cuda_naive goes through the row for each of 64 elements, to find those above the others. With a bound on the
//   last of them one pass is enough, and few elements are kept: a threshold from a sample, as selection by sampling has
//   it (Floyd and Rivest, "Expected Time Bounds for Selection", 1975); the search for it by one bit a barrier that
//   counts, and digits as in radix selection (Alabi et al., "Fast k-Selection Algorithms for Graphics Processing
//   Units", 2012).
#include "top_k/keys.cuh"
#include "shared/overlap.cuh"

constexpr int THREADS = 512;            // as in cuda_threshold.py
constexpr int PACKS = 4;                // a thread's in a piece, as in cuda_threshold.py
constexpr int CAPACITY = 4096;          // keys, as in cuda_threshold.py
constexpr int PIECE = THREADS * PACKS;  // packs

// The last bits of an order, which a 16-bit element leaves 0 where it is positive, and 1 where it is negative.
#if defined(SCALAR_IS_BFLOAT16)
constexpr int SAME_BITS = 16;
#elif defined(SCALAR_IS_FLOAT16)
constexpr int SAME_BITS = 13;
#else
constexpr int SAME_BITS = 0;
#endif

// What a block has put down.
struct Found {
    Key keys[CAPACITY];
    int count;

    __device__ __forceinline__ void add(float value, long long index) {
        const int at = atomicAdd(&count, 1);
        if (at < CAPACITY) keys[at] = key_of(order_of(value), index);
    }
};

// The K-th largest of the block's orders, one a thread; NONE where fewer threads have any. Bit by bit from the first:
// each barrier counts the threads that a bit more would leave.
__device__ __forceinline__ unsigned kth_largest(unsigned mine) {
    unsigned found = NONE;
#pragma unroll 1
    for (int bit = 31; bit >= SAME_BITS; --bit) {
        const unsigned more = found | 1u << bit;
        if (__syncthreads_count(mine >= more) >= K) found = more;
    }
    const bool is_negative = found != NONE && !(found >> 31);
    return is_negative ? found | ((1u << SAME_BITS) - 1) : found;
}

// Sorts `count` keys in descending order, a power of two of them.
__device__ __forceinline__ void sort(Key* keys, int count) {
    for (int size = 2; size <= count; size *= 2) {
        for (int apart = size / 2; apart; apart /= 2) {
            __syncthreads();
            for (int i = threadIdx.x; i < count / 2; i += THREADS) {
                const int low = i / apart * (2 * apart) + i % apart, high = low + apart;
                const Key a = keys[low], b = keys[high];
                if ((a < b) == ((low & size) == 0)) {
                    keys[low] = b;
                    keys[high] = a;
                }
            }
        }
    }
    __syncthreads();
}

// Exactly K keys of elements [begin, end) of a row, by a digit of 8 bits a pass; all of them are different.
__device__ __noinline__ void select_by_digits(const SCALAR* x, long long begin, long long end, Found& found) {
    __shared__ int counts[256];
    __shared__ Key prefix;
    __shared__ int wanted;
    if (threadIdx.x == 0) {
        prefix = 0;
        wanted = K;
        found.count = 0;
    }
    for (int shift = 56; shift >= 0; shift -= 8) {
        if (threadIdx.x < 256) counts[threadIdx.x] = 0;
        __syncthreads();
        const Key upper = shift < 56 ? ~0ull << (shift + 8) : 0;
        for (long long i = begin + threadIdx.x; i < end; i += THREADS) {
            const Key key = key_of(order_of(to_float(x[i])), i);
            if ((key & upper) == prefix) atomicAdd(&counts[key >> shift & 255], 1);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int digit = 255;
            for (; counts[digit] < wanted; --digit) wanted -= counts[digit];
            prefix |= static_cast<Key>(digit) << shift;
        }
        __syncthreads();
    }
    for (long long i = begin + threadIdx.x; i < end; i += THREADS) {
        const float value = to_float(x[i]);
        if (key_of(order_of(value), i) >= prefix) found.add(value, i);
    }
    __syncthreads();
}

// A pack as it is kept, in whole words: a Pack would be taken apart into a register an element.
using Bits = uint4;

__device__ __forceinline__ Bits load(const SCALAR* x) { return __ldg(reinterpret_cast<const Bits*>(x)); }

__device__ __forceinline__ void unpack(const Bits& bits, float (&values)[PACK]) {
    unpack(reinterpret_cast<const Pack&>(bits), values);
}

// Some packs of a row and the elements beside them, [begin, end).
struct Part {
    AlignedRun run;
    long long first, last;  // packs
    long long begin, end;   // elements

    __device__ __forceinline__ Part(const SCALAR* x, long long cols, int part, int parts, long long length)
        : run(x, cols), first(part * length), last(part + 1 < parts ? first + length : run.packs) {
        begin = part ? run.pack_at(first) : 0;
        end = part + 1 < parts ? run.pack_at(last) : cols;
    }
};

// Puts down the K largest of a part of a row, and more.
__device__ __forceinline__ void find(const SCALAR* x, const Part& part, Found& found) {
    const AlignedRun& run = part.run;
    const long long first = part.first, last = part.last;
    if (threadIdx.x == 0) found.count = 0;
    Bits packs[PACKS];
    unsigned mine = NONE;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const long long pack = first + threadIdx.x + p * THREADS;
        if (pack < last) packs[p] = load(x + run.pack_at(pack));
    }
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (first + threadIdx.x + p * THREADS >= last) continue;
        float values[PACK];
        unpack(packs[p], values);
#pragma unroll
        for (int i = 0; i < PACK; ++i) mine = max(mine, order_of(values[i]));
    }
    const unsigned least = kth_largest(mine);
    if (mine >= least) {
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            const long long pack = first + threadIdx.x + p * THREADS;
            if (pack >= last) continue;
            float values[PACK];
            unpack(packs[p], values);
#pragma unroll
            for (int i = 0; i < PACK; ++i) {
                if (order_of(values[i]) >= least) found.add(values[i], run.pack_at(pack) + i);
            }
        }
    }
    if (threadIdx.x < run.edges) {
        const long long edge = run.edge_at(threadIdx.x);
        if (edge >= part.begin && edge < part.end) found.add(to_float(x[edge]), edge);
    }

    // Elements that equal the threshold come after K that are as large. Not "greater": NaN passes.
    const float threshold = element_of(least);
    for (long long start = first + PIECE; start < last; start += PIECE) {
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            const long long pack = start + threadIdx.x + p * THREADS;
            if (pack < last) packs[p] = load(x + run.pack_at(pack));
        }
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            const long long pack = start + threadIdx.x + p * THREADS;
            float values[PACK];
            unpack(packs[p], values);
            bool passes = false;
#pragma unroll
            for (int i = 0; i < PACK; ++i) passes |= !(values[i] <= threshold);
            if (!passes || pack >= last) continue;
#pragma unroll
            for (int i = 0; i < PACK; ++i) {
                if (!(values[i] <= threshold)) found.add(values[i], run.pack_at(pack) + i);
            }
        }
    }
    __syncthreads();

    const bool is_full = found.count > CAPACITY;
    __syncthreads();
    if (is_full) select_by_digits(x, part.begin, part.end, found);
}

// Sorts what was put down, `count` keys.
__device__ __forceinline__ void sort_found(Key* keys, int count) {
    int padded = K;
    while (padded < count) padded *= 2;
    for (int i = count + threadIdx.x; i < padded; i += THREADS) keys[i] = 0;
    sort(keys, padded);
}

__device__ __forceinline__ void store(const SCALAR* x, const Key* keys, SCALAR* value, long long* index) {
    if (threadIdx.x >= K) return;
    const long long at = index_of(keys[threadIdx.x]);
    value[threadIdx.x] = x[at];
    index[threadIdx.x] = at;
}

extern "C" __global__ void __launch_bounds__(THREADS, 3) top_k_rows(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ value, long long* __restrict__ index, long long cols
) {
    __shared__ Found found;
    const long long row = blockIdx.x;
    x += row * cols;
    find(x, Part(x, cols, 0, 1, 0), found);
    sort_found(found.keys, found.count);
    store(x, found.keys, value + row * K, index + row * K);
}

// Of each part of a row the K largest keys; 0 where it has fewer elements.
extern "C" __global__ void __launch_bounds__(THREADS, 3) top_k_parts(
    const SCALAR* __restrict__ x, Key* __restrict__ keys, long long cols, long long parts, long long length
) {
    __shared__ Found found;
    const long long row = blockIdx.x / parts;
    const int part = static_cast<int>(blockIdx.x % parts);
    x += row * cols;
    let_next_start();
    find(x, Part(x, cols, part, static_cast<int>(parts), length), found);
    sort_found(found.keys, found.count);
    if (threadIdx.x < K) keys[blockIdx.x * static_cast<long long>(K) + threadIdx.x] = found.keys[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(THREADS) top_k_join(
    const SCALAR* __restrict__ x, const Key* __restrict__ of_parts, SCALAR* __restrict__ value,
    long long* __restrict__ index, long long cols, long long parts
) {
    __shared__ Key keys[CAPACITY];
    const long long row = blockIdx.x;
    const int count = static_cast<int>(parts) * K;
    wait_for_previous();
    for (int i = threadIdx.x; i < count; i += THREADS) keys[i] = of_parts[row * count + i];
    sort_found(keys, count);
    store(x + row * cols, keys, value + row * K, index + row * K);
}
