// Few rows, kept in registers by clusters of blocks: for softmax and the norms, on Hopper and later.
//
// A call on few rows takes little longer than a trip to memory and back, so what lies in front of the first load counts,
// and each step behind the last one. The loads come first, at addresses that take no division; the barrier of the exchange
// is made while they are under way; each warp sends what it has found to all blocks of the cluster, for which the block
// need not meet; and every warp joins by itself what has come. The grid is (blocks of a cluster, rows), so that a block
// finds its row and its place without a division: the launch says how many blocks, a power of two from 2 to 16.
//
// A thread has PACKS packs of a row, as far apart as its block has threads; a block's lie behind those of the block before.
// All tensors begin on 16 bytes. ALIGNED: the rows do too. Where they begin anywhere, packs lie where x is aligned, the up
// to 14 elements beside them are the first block's, one a thread, and what belongs to the columns of a pack is shifted out
// of two words. Of an Operation, beside what row_parts.cuh names:
//
//   Sent, sent(mine), nothing_sent()     a warp's statistic as the others get it, in 4, 8 or 16 bytes
//   over_warp(mine)                      what the lanes of a warp have found, together
//   over_warps(sent, first)              what all warps have sent: some of it each lane, `first` the first warp's
//   Kept<PACKS>                          what is kept of packs: find(packs, inside), map(operation, p, extra, scale, values)
//   Extras<PACKS, ALIGNED, COLUMNS>      what the outputs need of the columns: load(operation, share), at(p, share)
#pragma once

#include "shared/cluster_exchange.cuh"
#include "shared/overlap.cuh"
#include "shared/row_groups.cuh"

constexpr int HELD_THREADS = 256;  // of a block, at most, as in row_parts.py
constexpr int HELD_BLOCKS = 16;    // of a cluster, at most

// ---- A thread's share of a row ---------------------------------------------------------------------

template <bool ALIGNED>
struct HeldShare {
    unsigned cols, threads, first, packs;  // of the row; of the block; number of the thread's first pack; of the row
    unsigned head, edges;                  // elements before the packs, and before and behind them that this block has
    unsigned long long start;              // of the row

    // `whole`: the row is of packs alone.
    __device__ __forceinline__
    HeldShare(long long row, long long columns, unsigned rank, int packs_of_thread, bool whole) {
        cols = static_cast<unsigned>(columns), threads = blockDim.x;
        first = rank * packs_of_thread * threads + threadIdx.x;
        start = static_cast<unsigned long long>(row) * cols;
        head = ALIGNED ? 0 : min((PACK - static_cast<unsigned>(start) % PACK) % PACK, cols);
        packs = (cols - head) / PACK;
        edges = whole || rank ? 0 : cols - packs * PACK;
    }
    __device__ __forceinline__ bool has(int p) const { return first + p * threads < packs; }
    // Of pack p: the column, but for the head; where it lies in a tensor of rows.
    __device__ __forceinline__ unsigned column(int p) const { return (first + p * threads) * PACK; }
    template <typename Scalar>
    __device__ __forceinline__ Scalar* at(Scalar* tensor, int p) const {
        return tensor + (start + head + first * PACK) + p * (threads * PACK);
    }
    // Whether the words that pack p of a vector's columns lies in are two, and whether the second is cut short by its end.
    __device__ __forceinline__ bool has_second(int p) const { return has(p) && head && column(p) + 2 * PACK <= cols; }
    __device__ __forceinline__ bool has_tail(int p) const { return has(p) && head && column(p) + 2 * PACK > cols; }
    __device__ __forceinline__ bool has_edge() const { return threadIdx.x < edges; }
    __device__ __forceinline__ unsigned edge() const {
        return threadIdx.x < head ? threadIdx.x : threadIdx.x + packs * PACK;
    }
};

// ---- Accesses without a branch: with one, each would wait for the one before ------------------------

__device__ __forceinline__ Bits load_where(bool wanted, const void* address, unsigned otherwise = 0) {
    Bits bits = {otherwise, otherwise, otherwise, otherwise};
    asm volatile("{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %4, 0;\n"
                 "@wanted ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%5], %6;\n}"
                 : "+r"(bits.x), "+r"(bits.y), "+r"(bits.z), "+r"(bits.w)
                 : "r"(static_cast<int>(wanted)), "l"(address), "l"(EVICT_LAST_POLICY));
    return bits;
}

__device__ __forceinline__ void store_where(bool wanted, void* address, const Bits& bits) {
    asm volatile("{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %0, 0;\n"
                 "@wanted st.global.v4.b32 [%1], {%2, %3, %4, %5};\n}" ::"r"(static_cast<int>(wanted)),
                 "l"(address), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w)
                 : "memory");
}

// The same of a pack of a row that begins on BY bytes.
template <int BY>
__device__ __forceinline__ Bits load_by(bool wanted, const void* address, unsigned otherwise) {
    if constexpr (BY == 16) return load_where(wanted, address, otherwise);
    Bits bits = {otherwise, otherwise, otherwise, otherwise};
    asm volatile("{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %4, 0;\n"
                 "@wanted ld.global.L2::cache_hint.v2.b32 {%0, %1}, [%5], %6;\n"
                 "@wanted ld.global.L2::cache_hint.v2.b32 {%2, %3}, [%5 + 8], %6;\n}"
                 : "+r"(bits.x), "+r"(bits.y), "+r"(bits.z), "+r"(bits.w)
                 : "r"(static_cast<int>(wanted)), "l"(address), "l"(EVICT_LAST_POLICY));
    return bits;
}

template <int BY>
__device__ __forceinline__ void store_by(bool wanted, void* address, const Bits& bits) {
    if constexpr (BY == 16) {
        store_where(wanted, address, bits);
    } else {
        asm volatile("{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %0, 0;\n"
                     "@wanted st.global.v2.b32 [%1], {%2, %3};\n@wanted st.global.v2.b32 [%1 + 8], {%4, %5};\n}" ::"r"(
                         static_cast<int>(wanted)),
                     "l"(address), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w)
                     : "memory");
    }
}

// Volatile, as others write it by st.async, of which the compiler knows nothing.
__device__ __forceinline__ Bits load_shared(unsigned address) {
    Bits bits;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w) : "r"(address) : "memory");
    return bits;
}

// The columns of a thread's packs of a vector that begins on 16 bytes.
template <int PACKS, bool ALIGNED>
struct HeldColumns {
    static constexpr bool SPARES = false;  // registers, at the cost of instructions
    Bits low[PACKS], high[ALIGNED ? 1 : PACKS], tail;

    static __device__ __forceinline__ void begin(int) {}
    static __device__ __forceinline__ void wait() {}
    __device__ __forceinline__ void load(const SCALAR* vector, const HeldShare<ALIGNED>& share, int = 0) {
        bool has_tail = false;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            low[p] = load_where(share.has(p), vector + share.column(p));
            if constexpr (!ALIGNED) {
                high[p] = load_where(share.has_second(p), vector + share.column(p) + PACK);
                has_tail |= share.has_tail(p);
            }
        }
        if constexpr (!ALIGNED) {  // the row's last pack has it, and so one thread
            Pack pack = {};
#pragma unroll
            for (int i = 0; i < PACK - 1; ++i) {
                if (has_tail && i < share.head) pack.element[i] = vector[share.packs * PACK + i];
            }
            tail = reinterpret_cast<const Bits&>(pack);
        }
    }
    __device__ __forceinline__ Bits at(int p, const HeldShare<ALIGNED>& share) const {
        if constexpr (ALIGNED) return low[p];
        const bool cut = share.has_tail(p);
        const Bits second = {cut ? tail.x : high[p].x, cut ? tail.y : high[p].y, cut ? tail.z : high[p].z,
                             cut ? tail.w : high[p].w};
        return bytes_from(low[p], second, share.head * sizeof(SCALAR));
    }
};

// The same by way of shared memory, into which bulk copies bring a block's columns while the row comes: they take no
// registers, so that more blocks are at work at once, and every word is read from L2 once.
template <int PACKS, bool ALIGNED>
struct CopiedColumns {
    static constexpr bool SPARES = true;
    unsigned first;  // where this thread's first word lies in shared memory
    Bits tail;

    static __device__ __forceinline__ Barrier* arrived() {
        __shared__ Barrier barrier;
        return &barrier;
    }
    // In front of the first load of `vectors` of them.
    static __device__ __forceinline__ void begin(int vectors) {
        if (threadIdx.x == 0) {
            init_barrier(arrived(), vectors);
            publish_barriers();
        }
        __syncwarp();  // as in Slots::open
    }
    // Once all blocks of the cluster have met, which the barrier is made in front of.
    static __device__ __forceinline__ void wait() { wait_for(arrived(), 0); }

    // Vector number `number` of those that are copied.
    __device__ __forceinline__ void load(const SCALAR* vector, const HeldShare<ALIGNED>& share, int number = 0) {
        extern __shared__ __align__(128) unsigned char memory[];
        const unsigned room = PACKS * share.threads + !ALIGNED;  // words
        Bits* words = reinterpret_cast<Bits*>(memory) + number * room;
        first = shared_address(words + threadIdx.x);
        if (threadIdx.x == 0) {
            const unsigned all = share.cols / PACK;
            const unsigned bytes = share.first < all ? 16 * min(room, all - share.first) : 0;
            arrive_and_expect(arrived(), bytes);
            if (bytes) copy_bytes_evict_last(words, vector + share.column(0), bytes, arrived());
        }
        if constexpr (!ALIGNED) {  // the row's last pack has it, and so one thread
            bool has_tail = false;
            Pack pack = {};
#pragma unroll
            for (int p = 0; p < PACKS; ++p) has_tail |= share.has_tail(p);
#pragma unroll
            for (int i = 0; i < PACK - 1; ++i) {
                if (has_tail && i < share.head) pack.element[i] = vector[share.packs * PACK + i];
            }
            tail = reinterpret_cast<const Bits&>(pack);
        }
    }
    __device__ __forceinline__ Bits at(int p, const HeldShare<ALIGNED>& share) const {
        const unsigned from = first + 16 * p * share.threads;
        const Bits low = load_shared(from);
        if constexpr (ALIGNED) return low;
        const Bits high = load_shared(from + 16);
        const bool cut = share.has_tail(p);
        const Bits second = {cut ? tail.x : high.x, cut ? tail.y : high.y, cut ? tail.z : high.z,
                             cut ? tail.w : high.w};
        return bytes_from(low, second, share.head * sizeof(SCALAR));
    }
};

// ---- The exchange ----------------------------------------------------------------------------------

template <typename Sent>
__device__ __forceinline__ void send(unsigned to, const Sent& sent, unsigned counting) {
    static_assert(sizeof(Sent) == 4 || sizeof(Sent) == 8 || sizeof(Sent) == 16);
    if constexpr (sizeof(Sent) == 16) send_to(to, reinterpret_cast<const float*>(&sent), counting);
    else if constexpr (sizeof(Sent) == 8) send_to(to, reinterpret_cast<const float2&>(sent), counting);
    else send_to(to, reinterpret_cast<const unsigned&>(sent), counting);
}

// Where the warps of a row leave what they have found, each a slot, in every block: by the accesses of 16 bytes of a warp.
template <typename Operation>
struct Slots {
    using Sent = typename Operation::Sent;
    static constexpr int EACH = 16 / sizeof(Sent), ROUND = EACH * WARP, MOST = HELD_BLOCKS * HELD_THREADS / WARP,
                         ROUNDS = (MOST + ROUND - 1) / ROUND;
    Sent* slots;
    unsigned lane, blocks, all, to, counting;

    __device__ __forceinline__ Slots() {
        __shared__ __align__(16) Sent of_warps[ROUNDS * ROUND];
        const unsigned warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
        slots = of_warps;
        lane = threadIdx.x % WARP, blocks = gridDim.x, all = blocks * warps;
        to = address_in(lane & (blocks - 1), of_warps + blockIdx.x * warps + warp);
        counting = address_in(lane & (blocks - 1), exchanged());
    }
    // While the loads are under way. Once both are done, all blocks may be sent to.
    __device__ __forceinline__ void open() const {
        if (threadIdx.x == 0) {
            init_barrier(exchanged(), 1);
            publish_barriers();
        }
        __syncwarp();  // racecheck takes the making for another lane's, where none stands between
        if (threadIdx.x == 0) arrive_and_expect(exchanged(), all * sizeof(Sent));
        __syncwarp();  // a warp arrives as one
        arrive_at_cluster();
        wait_for_cluster();
    }
    __device__ __forceinline__ Sent exchange(const Sent& mine) const {
        if (lane < blocks) send(to, mine, counting);
        wait_for(exchanged(), 0);
        const unsigned from = shared_address(slots);
        Sent found[ROUNDS * EACH];
#pragma unroll
        for (int r = 0; r < ROUNDS; ++r) {
            const unsigned access = lane + r * WARP;
            Bits bits = {};
            if (r == 0 || r * ROUND < all) bits = load_shared(from + 16 * access);
#pragma unroll
            for (int e = 0; e < EACH; ++e) {
                const bool is_one = access * EACH + e < all;
                found[r * EACH + e] = is_one ? reinterpret_cast<const Sent*>(&bits)[e] : Operation::nothing_sent();
            }
        }
        return Operation::over_warps(found, slots[0]);
    }
};

// ---- Rows ------------------------------------------------------------------------------------------

// Joins two inputs where there are two, and stores the sums.
template <bool ALIGNED, int PACKS, typename Operation>
__device__ __forceinline__ void join_held(
    const Operation& operation, const HeldShare<ALIGNED>& share, Bits (&packs)[PACKS], const Bits (&others)[PACKS]
) {
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        packs[p] = operation.join(packs[p], others[p]);
        store_where(share.has(p), share.at(operation.h, p), packs[p]);
    }
}

// Nothing is moved over a branch, though this one is never taken. Otherwise what needs the first loads, and waits for them,
// comes before the last ones: the compiler puts off what is needed late.
#define NOTHING_MOVES_OVER_THIS(impossible) \
    if (impossible) return

// Each cluster takes a row. COLUMNS: what brings the columns of vectors, HeldColumns or CopiedColumns. BY: the bytes that rows
// begin on. Those of ALIGNED rows may be 8: nothing is shifted then, and what lies behind the packs is the first block's.
template <int PACKS, bool ALIGNED, template <int, bool> class COLUMNS = HeldColumns, int BY = 16, typename Operation>
__device__ __forceinline__ void rows_held(const Operation& operation, long long cols) {
    const HeldShare<ALIGNED> share(blockIdx.y, cols, blockIdx.x, PACKS, ALIGNED && BY == 16);
    wait_for_previous();
    Bits packs[PACKS], others[PACKS];
    int inside = 0;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        packs[p] = load_by<BY>(share.has(p), share.at(operation.x, p), Operation::OUTSIDE);
        if constexpr (Operation::INPUTS == 2) others[p] = load_where(share.has(p), share.at(operation.residual, p));
        inside += share.has(p);
    }
    __syncwarp();  // no load is moved over it
    typename Operation::template Extras<PACKS, ALIGNED, COLUMNS> extras;
    extras.load(operation, share);
    float edge = 0.0f;
    typename Operation::Edge edge_extra = {};
    if (share.has_edge()) {
        if constexpr (Operation::INPUTS == 1) edge = to_float(operation.x[share.start + share.edge()]);
        else edge = operation.join_edge(share.start + share.edge());
        edge_extra = operation.edge(share.edge());
    }
    const Slots<Operation> slots;
    slots.open();
    let_next_start();
    NOTHING_MOVES_OVER_THIS(unknown_zero());
    if constexpr (Operation::INPUTS == 2) join_held(operation, share, packs, others);
    typename Operation::template Kept<PACKS> kept;
    constexpr bool SPARES = COLUMNS<PACKS, ALIGNED>::SPARES;
    auto mine = kept.template find<SPARES>(packs, inside);
    if (share.has_edge()) Operation::add_element(mine, edge);
    const auto all = slots.exchange(Operation::sent(Operation::over_warp(mine)));
    const auto scale = operation.scale_of_all(all, cols);
    COLUMNS<PACKS, ALIGNED>::wait();
    if constexpr (SPARES) keep_packed(kept.packs);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        float values[PACK];
        kept.map(operation, p, extras.at(p, share), scale, values);
        store_by<BY>(share.has(p), share.at(operation.y, p), pack_bits(values));
    }
    if (share.has_edge()) {
        from_float(operation.map_edge(edge, edge_extra, scale), operation.y[share.start + share.edge()]);
    }
}
#undef NOTHING_MOVES_OVER_THIS

// The packs of a thread that held_rows.py chooses from, by `KERNEL(PACKS, NAME, ALIGNED)`.
#define HELD_KERNELS(KERNEL)                                                                                           \
    KERNEL(1, 1, true)                                                                                                 \
    KERNEL(2, 2, true)                                                                                                 \
    KERNEL(4, 4, true)                                                                                                 \
    KERNEL(8, 8, true)                                                                                                 \
    KERNEL(2, 2_any, false)                                                                                            \
    KERNEL(4, 4_any, false)                                                                                            \
    KERNEL(8, 8_any, false)

// Those of rows that begin on 8 bytes, by `HELD(PACKS)`, and where columns come by bulk copies by `COPIED(PACKS)`.
#define KERNELS_BY_8(HELD, COPIED)                                                                                     \
    HELD(1)                                                                                                            \
    HELD(2)                                                                                                            \
    HELD(4)                                                                                                            \
    HELD(8)                                                                                                            \
    COPIED(2)                                                                                                          \
    COPIED(4)                                                                                                          \
    COPIED(8)

// The same, whose columns come by bulk copies.
#define COPIED_KERNELS(KERNEL)                                                                                         \
    KERNEL(2, 2, true)                                                                                                 \
    KERNEL(4, 4, true)                                                                                                 \
    KERNEL(8, 8, true)                                                                                                 \
    KERNEL(2, 2_any, false)                                                                                            \
    KERNEL(4, 4_any, false)                                                                                            \
    KERNEL(8, 8_any, false)
