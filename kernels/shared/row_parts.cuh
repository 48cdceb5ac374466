// Rows of any length at any alignment, of which several blocks take a part each: for softmax and the norms.
//
// Packs lie where x is aligned, so that every access of x and y moves 16 bytes whatever the row's length is; the up to
// 22 elements beside the packs are the first part's, one a thread. What is done with a row is an Operation:
//
//   INPUTS                                          1, x, or 2 that are joined first
//   Statistic, nothing(), together(a, b)            what is found of a row or of a part of it
//   over_lanes<LANES>(mine)                         what neighbouring lanes have found, together
//   add(mine, packs), add_element(mine, value)      makes packs or an element part of it
//   add_some(mine, packs, inside)                   the same of the first `inside` packs; the others are OUTSIDE
//   Scale, scale_of(all, cols)                      what the outputs need of the whole row's
//   of_elements(values, count), outside()           of the first `count` single elements; the others are outside()
//   IN_TWO_PASSES, scale_by_sums<GROUP>(...)        whether a row group that has a row in registers finds it by these
//   Extra, extra<ALIGNED>(column), map(values, extra, scale)  the outputs of a pack, and what they need of its columns
//   extras_are_aligned(column)                      whether that begins on 16 bytes
//   extras_begin_on_words(), Words, words(column), of_words(words, bytes)
//                                                   whether the first column's does; the words that it lies in; itself
//   expect(column), expect_many(column, columns)    lets what a pack's outputs need come nearer, or a part's
//   Edge, edge(column), map_edge(value, edge, scale)  the output of an element, and what it needs of its column
//   WRITTEN, WRITTEN_FROM_SHARED                    packs whose outputs a thread makes at once; if they lie in shared memory
//
// Of two inputs, x and residual, join(pack, pack) and join_edge(at) give what the rest is done with, and store it in h.
#pragma once

#include "shared/hopper.cuh"
#include "shared/shifted.cuh"

constexpr int READ = 4;            // packs that a thread adds at once
constexpr int LINE_PACKS = 8;      // of 128 bytes: parts begin on whole lines where the rows do
constexpr int MOST_THREADS = 512;  // of a block, as in row_parts.py

// The packs of a part, if the row has `packs`.
__device__ __forceinline__ int packs_of_part(long long packs, int parts) {
    const unsigned each = (static_cast<unsigned>(packs) + parts - 1) / parts;
    return static_cast<int>((each + LINE_PACKS - 1) / LINE_PACKS * LINE_PACKS);
}

// Part number `part` of a row.
struct RowPart {
    long long first;  // column of its first pack
    long long after;  // column after the row's last pack
    int packs;
    int head, edges;  // elements of the row before its packs, and before and after them; 0 but in the first part

    __device__ __forceinline__ RowPart(const SCALAR* row, long long cols, int part, int parts) {
        const AlignedRun run(row, cols);
        // Of a row that begins amid 16 bytes the last pack goes by elements: both words that another pack's columns lie
        // in are then inside a vector of the columns, without a question for each pack.
        const long long all = run.head && run.packs ? run.packs - 1 : run.packs;
        const int each = packs_of_part(all, parts);
        const long long before = static_cast<long long>(each) * part, left = all - before;
        first = run.pack_at(before);
        after = run.pack_at(all);
        packs = left < 0 ? 0 : left < each ? static_cast<int>(left) : each;
        head = run.head;
        edges = part == 0 ? static_cast<int>(cols - all * PACK) : 0;
    }

    __device__ __forceinline__ long long column(int pack) const { return first + pack * PACK; }
    // Whether this thread has an edge, and its column.
    __device__ __forceinline__ bool has_edges() const { return threadIdx.x < edges; }
    __device__ __forceinline__ long long edge() const {
        const int thread = threadIdx.x;
        return thread < head ? thread : after + (thread - head);
    }
};

// ---- Packs at any alignment ----------------------------------------------------------------------

__device__ __forceinline__ Bits load_elements(const SCALAR* address) {
    Pack pack;
#pragma unroll
    for (int i = 0; i < PACK; ++i) pack.element[i] = address[i];
    return reinterpret_cast<const Bits&>(pack);
}

__device__ __forceinline__ Bits load_bits(const SCALAR* address) {
    return __ldg(reinterpret_cast<const Bits*>(address));
}

// A vector with an element a column, such as a norm's scales. Where rows begin at other alignments than it does, a
// pack's columns lie in two of its packs.
struct ColumnVector {
    const SCALAR* start;
    long long cols;

    __device__ __forceinline__ bool is_aligned(long long column) const { return ::is_aligned(start + column); }

    template <bool ALIGNED>
    __device__ __forceinline__ Bits at(long long column) const {
        const SCALAR* address = start + column;
        if (ALIGNED) return load_evict_last(address);
        const unsigned past = bytes_past(address);
        const SCALAR* below = address - past / sizeof(SCALAR);
        if (below < start || below + 2 * PACK > start + cols) return load_elements(address);
        return bytes_from(load_bits(below), load_bits(below + PACK), past);
    }
    // Where the vector begins on 16 bytes and the row does not: what a pack's columns lie in, and they themselves. They are
    // shifted out where they are needed, so that nothing waits for these loads before.
    struct Words {
        Bits low, high;
        __device__ __forceinline__ Bits from(unsigned bytes) const { return bytes_from(low, high, bytes); }
    };
    __device__ __forceinline__ Words words(long long column) const {
        const SCALAR* address = start + column / PACK * PACK;
        return {load_evict_last(address), load_evict_last(address + PACK)};
    }
    __device__ __forceinline__ float element(long long column) const { return to_float(start[column]); }
    // Lets what at() will load come nearer meanwhile, at the cost of no register.
    __device__ __forceinline__ void expect(long long column) const {
        asm volatile("prefetch.global.L1 [%0];" ::"l"(start + column));
    }
    // The same of many columns, from Hopper on: as far as L2, by one thread.
    __device__ __forceinline__ void expect_many(long long column, int columns) const {
#if __CUDA_ARCH__ >= 900
        const SCALAR* address = start + column;
        const unsigned past = bytes_past(address), bytes = (columns * sizeof(SCALAR) + past) / 16 * 16;
        if (bytes) ask_l2(reinterpret_cast<const char*>(address) - past, bytes);
#endif
    }
};

// Stores where an output may be a view that is aligned unlike the input: then its elements go one by one.
__device__ __forceinline__ void store_bits(SCALAR* address, const Bits& bits, bool aligned) {
    const Pack& pack = reinterpret_cast<const Pack&>(bits);
    if (aligned) return store_whole_pack(address, pack);
#pragma unroll
    for (int i = 0; i < PACK; ++i) address[i] = pack.element[i];
}

// ---- Statistics and outputs ----------------------------------------------------------------------

// Adds this thread's packs of those from `from` to `to`; `load(pack)` gives one.
template <typename Operation, typename Load>
__device__ __forceinline__ void add_packs(typename Operation::Statistic& mine, int from, int to, const Load& load) {
    const int threads = blockDim.x;
    int pack = from + threadIdx.x;
#pragma unroll 1
    for (; pack + (READ - 1) * threads < to; pack += READ * threads) {
        Bits packs[READ];
#pragma unroll
        for (int p = 0; p < READ; ++p) packs[p] = load(pack + p * threads);
        Operation::add(mine, packs);
    }
#pragma unroll 1
    for (; pack < to; pack += threads) {
        const Bits packs[1] = {load(pack)};
        Operation::add(mine, packs);
    }
}

// What the outputs of COUNT packs need beside them: of pack number `first` of a part, and of every blockDim.x-th after it.
// ALIGNED: everything that belongs to a pack's columns begins on 16 bytes.
template <typename Operation, bool ALIGNED, int COUNT>
struct Extras {
    typename Operation::Extra of[COUNT];

    __device__ __forceinline__ void load(const Operation& operation, const RowPart& part, int first) {
#pragma unroll
        for (int p = 0; p < COUNT; ++p) {
            const int pack = first + p * blockDim.x;
            if (pack < part.packs) of[p] = operation.template extra<ALIGNED>(part.column(pack));
        }
    }
    __device__ __forceinline__ const typename Operation::Extra& at(int p, const RowPart&) const { return of[p]; }
};

// The same of a row that begins amid 16 bytes, where what belongs to the first column begins on them.
template <typename Operation, int COUNT>
struct ShiftedExtras {
    typename Operation::Words of[COUNT];

    __device__ __forceinline__ void load(const Operation& operation, const RowPart& part, int first) {
#pragma unroll
        for (int p = 0; p < COUNT; ++p) {
            const int pack = first + p * blockDim.x;
            if (pack < part.packs) of[p] = operation.words(part.column(pack));
        }
    }
    __device__ __forceinline__ typename Operation::Extra at(int p, const RowPart& part) const {
        return Operation::of_words(of[p], part.head * sizeof(SCALAR));
    }
};

// The output of one pack.
template <bool ALIGNED, typename Operation>
__device__ __forceinline__ void write_pack(
    const Operation& operation, const typename Operation::Scale& scale, const typename Operation::Extra& extra,
    const Bits& bits, SCALAR* y
) {
    float values[PACK];
    unpack_words(bits, values);
    operation.map(values, extra, scale);
    store_bits(y, pack_bits(values), ALIGNED || is_aligned(y));
}

// The outputs of this thread's packs, which lie in shared memory. What they need beside comes from L2, which takes longer
// than all the rest: it is asked for one step before.
template <bool ALIGNED, int COUNT, typename Operation, typename Extras>
__device__ __forceinline__ void write_packs(
    const Operation& operation, const RowPart& part, const typename Operation::Scale& scale, SCALAR* y,
    const Bits* packs, Extras& extras
) {
    const int step = COUNT * blockDim.x;
    y += part.first;
#pragma unroll 1
    for (int first = threadIdx.x; first < part.packs; first += step) {
        Extras next;
        next.load(operation, part, first + step);
#pragma unroll
        for (int p = 0; p < COUNT; ++p) {
            const int pack = first + p * blockDim.x;
            if (pack >= part.packs) continue;
            write_pack<ALIGNED>(operation, scale, extras.at(p, part), packs[pack], y + pack * PACK);
        }
        extras = next;
    }
}

// Whether everything that belongs to the columns of a part's packs begins on 16 bytes.
template <typename Operation>
__device__ __forceinline__ bool are_aligned(const Operation& operation, const RowPart& part, const SCALAR* y) {
    return is_aligned(y + part.first) && operation.extras_are_aligned(part.first);
}

// Every thread of the block gets the statistic of all of it. A barrier lies between two calls.
template <typename Operation>
__device__ __forceinline__ typename Operation::Statistic over_block(typename Operation::Statistic mine) {
    __shared__ typename Operation::Statistic partial[MOST_THREADS / WARP];
    const int lane = threadIdx.x % WARP;
    mine = Operation::template over_lanes<WARP>(mine);
    if (lane == 0) partial[threadIdx.x / WARP] = mine;
    __syncthreads();
    return Operation::template over_lanes<WARP>(lane < blockDim.x / WARP ? partial[lane] : Operation::nothing());
}
