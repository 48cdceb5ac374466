#pragma once
#include "shared/cluster_exchange.cuh"
#include "shared/overlap.cuh"
#include "shared/row_groups.cuh"

constexpr int EARLY = 1, TWO_STAGE = 2, LATE_WAIT = 4, NO_HINT = 8, ARRIVE_FIRST = 16, NO_PIN = 32, WIDE = 64;

__device__ __forceinline__ int ordered(float v) { const int b = __float_as_int(v); return b ^ (b >> 31 & 0x7fffffff); }
__device__ __forceinline__ float unordered(int b) { return __int_as_float(b ^ (b >> 31 & 0x7fffffff)); }
__device__ __forceinline__ float warp_highest(float v) { return unordered(__reduce_max_sync(WHOLE_WARP, ordered(v))); }

template <bool HINT>
__device__ __forceinline__ Bits load_where(bool wanted, const void* address, unsigned otherwise) {
    Bits bits = {otherwise, otherwise, otherwise, otherwise};
    if (HINT) {
        asm volatile("{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %4, 0;\n"
            "@wanted ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%5], %6;\n}"
            : "+r"(bits.x), "+r"(bits.y), "+r"(bits.z), "+r"(bits.w) : "r"(static_cast<int>(wanted)), "l"(address), "l"(EVICT_LAST_POLICY));
    } else {
        asm volatile("{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %4, 0;\n"
            "@wanted ld.global.v4.b32 {%0, %1, %2, %3}, [%5];\n}"
            : "+r"(bits.x), "+r"(bits.y), "+r"(bits.z), "+r"(bits.w) : "r"(static_cast<int>(wanted)), "l"(address));
    }
    return bits;
}

__device__ __forceinline__ void store_where(bool wanted, void* address, const Bits& bits) {
    asm volatile("{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %0, 0;\n"
        "@wanted st.global.v4.b32 [%1], {%2, %3, %4, %5};\n}"
        :: "r"(static_cast<int>(wanted)), "l"(address), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
}

__device__ __forceinline__ Bits load_shared(unsigned address) {
    Bits bits;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w) : "r"(address) : "memory");
    return bits;
}

template <typename S>
__device__ __forceinline__ void send_part(unsigned to, const S& value, unsigned counting) {
    if constexpr (sizeof(S) == 16) send_to(to, reinterpret_cast<const float*>(&value), counting);
    else if constexpr (sizeof(S) == 8) send_to(to, reinterpret_cast<const float2&>(value), counting);
    else send_to(to, reinterpret_cast<const unsigned&>(value), counting);
}

// The parts that a lane of each warp has of `slots`, at `from`, together.
template <int MOST, typename Operation>
__device__ __forceinline__ typename Operation::Part together_of(const typename Operation::Part* from, int slots) {
    using Part = typename Operation::Part;
    constexpr int EACH = 16 / sizeof(Part), ROUNDS = (MOST + EACH * WARP - 1) / (EACH * WARP);
    const int lane = threadIdx.x % WARP;
    const unsigned at = shared_address(from);
    Bits bits[ROUNDS];
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) bits[r] = load_shared(at + 16 * (lane + r * WARP));
    const Part first = *from;
    Part parts[ROUNDS * EACH];
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const bool is_one = (lane + r * WARP) * EACH + e < slots;
            const Part part = reinterpret_cast<const Part*>(&bits[r])[e];
            parts[r * EACH + e] = Operation::one_or_none(part, is_one);
        }
    }
    return Operation::template over_parts<ROUNDS * EACH>(parts, first);
}

template <int BLOCKS, int FLAGS, typename Operation>
__device__ __forceinline__ void tell(int messages) {
    if (threadIdx.x == 0) {
        init_barrier(exchanged(), 1);
        publish_barriers();
        arrive_and_expect(exchanged(), messages * sizeof(typename Operation::Part));
    }
    __syncwarp();
    arrive_at_cluster();
}

template <int BLOCKS, int PACKS, int FLAGS, typename Operation>
__device__ __forceinline__ void rows_held(const Operation& operation, long long cols) {
    using Part = typename Operation::Part;
    constexpr int MOST_WARPS = (FLAGS & WIDE ? 512 : 256) / WARP, MOST = BLOCKS * MOST_WARPS, ROUND = WARP * (16 / sizeof(Part));
    const unsigned rank = blockIdx.x % BLOCKS, threads = blockDim.x;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = threads / WARP;
    const unsigned packs = static_cast<unsigned>(cols) / PACK;
    const unsigned first = rank * PACKS * threads + threadIdx.x;
    const unsigned long long start = static_cast<unsigned long long>(blockIdx.x / BLOCKS) * packs + first;
    if constexpr (BLOCKS > 1 && (FLAGS & ARRIVE_FIRST)) tell<BLOCKS, FLAGS, Operation>(FLAGS & TWO_STAGE ? BLOCKS : BLOCKS * warps);
    if constexpr (FLAGS & EARLY) wait_for_previous();
    const SCALAR* x = operation.x + start * PACK;
    SCALAR* y = operation.y + start * PACK;
    Bits kept[PACKS];
    typename Operation::Ready extras[PACKS];
    int inside = 0;
    bool has[PACKS];
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        has[p] = first + p * threads < packs;
        kept[p] = load_where<!(FLAGS & NO_HINT)>(has[p], x + p * (threads * PACK), Operation::OUTSIDE);
        inside += has[p];
    }
#pragma unroll
    for (int p = 0; p < PACKS; ++p) extras[p] = operation.template extra_where<!(FLAGS & NO_HINT)>(has[p], first * PACK, p * (threads * PACK));
    if constexpr (BLOCKS > 1) {
        if constexpr (!(FLAGS & ARRIVE_FIRST)) tell<BLOCKS, FLAGS, Operation>(FLAGS & TWO_STAGE ? BLOCKS : BLOCKS * warps);
        if constexpr (!(FLAGS & LATE_WAIT)) wait_for_cluster();
    }
    if constexpr (FLAGS & EARLY) let_next_start();
    const unsigned peer = lane % BLOCKS;
    const unsigned counting = BLOCKS > 1 ? address_in(peer, exchanged()) : 0;
    __shared__ __align__(16) Part of_warps[(MOST + ROUND - 1) / ROUND * ROUND];
    __shared__ __align__(16) Part of_blocks[ROUND];
    const unsigned to = BLOCKS > 1 ? address_in(peer, FLAGS & TWO_STAGE ? &of_blocks[rank] : &of_warps[rank * warps + warp]) : 0;
    if (unknown_zero()) return;
    typename Operation::template Held<PACKS> held;
    Part mine = Operation::over_warp(held.find(kept, inside));
    Part all;
    if constexpr ((FLAGS & TWO_STAGE) && BLOCKS > 1) {
        if (lane == 0) of_warps[warp] = mine;
        __syncthreads();
        const Part block = together_of<MOST_WARPS, Operation>(of_warps, warps);
        if constexpr (FLAGS & LATE_WAIT) { __syncwarp(); wait_for_cluster(); }
        if (threadIdx.x < BLOCKS) send_part(to, block, counting);
        wait_for(exchanged(), 0);
        all = together_of<BLOCKS, Operation>(of_blocks, BLOCKS);
    } else {
        if constexpr (BLOCKS == 1) {
            if (lane == 0) of_warps[warp] = mine;
            if constexpr (PACKS <= 4 && !UNPINNED) operation.prepare(extras);
            __syncthreads();
        } else {
            if constexpr (FLAGS & LATE_WAIT) { __syncwarp(); wait_for_cluster(); }
            if (lane < BLOCKS) send_part(to, mine, counting);
            if constexpr (PACKS <= 4 && !UNPINNED) operation.prepare(extras);
            wait_for(exchanged(), 0);
        }
        all = together_of<MOST, Operation>(of_warps, BLOCKS * warps);
    }
    const auto scale = operation.scale_of_part(all, cols);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        float values[PACK];
        held.map(operation, p, extras[p], scale, values);
        store_where(has[p], y + p * (threads * PACK), pack_bits(values));
    }
}

// ---- Rows that begin anywhere, of tensors that begin on 16 bytes

// The columns of a row's packs of a vector that begins on 16 bytes: two words, from element `head` on.
template <int PACKS>
struct Shifted {
    Bits low[PACKS], high[PACKS], tail;
    __device__ __forceinline__ void load(const SCALAR* from, const bool (&has)[PACKS], unsigned first, unsigned step, unsigned head, unsigned cols) {
        from += first;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            low[p] = load_where<true>(has[p], from + p * step, 0);
            high[p] = load_where<true>(has[p] && head != 0 && first + p * step + 2 * PACK <= cols, from + (p * step + PACK), 0);
        }
    }
    __device__ __forceinline__ void load_tail(const SCALAR* from, bool wanted, unsigned packs, unsigned head) {
        Pack pack = {};
#pragma unroll
        for (int i = 0; i < PACK - 1; ++i) {
            if (wanted && i < head) pack.element[i] = from[packs * PACK + i];
        }
        tail = reinterpret_cast<const Bits&>(pack);
    }
    __device__ __forceinline__ Bits at(int p, bool is_last, unsigned head) const {
        const Bits second = {is_last ? tail.x : high[p].x, is_last ? tail.y : high[p].y, is_last ? tail.z : high[p].z, is_last ? tail.w : high[p].w};
        return bytes_from(low[p], second, head * sizeof(SCALAR));
    }
};

template <int BLOCKS, int PACKS, int FLAGS, typename Operation>
__device__ __forceinline__ void rows_anywhere(const Operation& operation, long long cols) {
    using Part = typename Operation::Part;
    constexpr int MOST_WARPS = (FLAGS & WIDE ? 512 : 256) / WARP, MOST = BLOCKS * MOST_WARPS, ROUND = WARP * (16 / sizeof(Part));
    const unsigned rank = blockIdx.x % BLOCKS, threads = blockDim.x, step = threads * PACK;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = threads / WARP;
    const unsigned long long start = static_cast<unsigned long long>(blockIdx.x / BLOCKS) * cols;
    const unsigned past = static_cast<unsigned>(start) % PACK, length = static_cast<unsigned>(cols);
    const unsigned head = min((PACK - past) % PACK, length), packs = (length - head) / PACK;
    const unsigned edges = rank == 0 ? length - packs * PACK : 0;
    const unsigned first = rank * PACKS * threads + threadIdx.x;
    const SCALAR* x = operation.x + start + head + first * PACK;
    SCALAR* y = operation.y + start + head + first * PACK;
    Bits kept[PACKS];
    typename Operation::template Shifts<PACKS> shifts;
    int inside = 0;
    bool has[PACKS];
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        has[p] = first + p * threads < packs;
        kept[p] = load_where<true>(has[p], x + p * step, Operation::OUTSIDE);
        inside += has[p];
    }
    if (static_cast<int>(cols) < 0) return;
    const bool has_edge = threadIdx.x < edges;
    const unsigned edge_at = threadIdx.x < head ? threadIdx.x : threadIdx.x + packs * PACK;
    const unsigned left = packs - 1 - first;  // packs between this thread's first one and the row's last
    const bool has_last = inside && (packs + 1) * PACK > length && head != 0 && left == (inside - 1) * threads;
    shifts.load(operation, has, first * PACK, step, head, length);
    shifts.load_tail(operation, has_last, packs, head);
    float edge = 0.0f;
    typename Operation::Edge edge_extra = {};
    if (has_edge) {
        edge = to_float(operation.x[start + edge_at]);
        edge_extra = operation.edge(edge_at);
    }
    if constexpr (BLOCKS > 1) {
        tell<BLOCKS, FLAGS, Operation>(BLOCKS * warps);
        wait_for_cluster();
    }
    const unsigned peer = lane % BLOCKS;
    const unsigned counting = BLOCKS > 1 ? address_in(peer, exchanged()) : 0;
    __shared__ __align__(16) Part of_warps[(MOST + ROUND - 1) / ROUND * ROUND];
    const unsigned to = BLOCKS > 1 ? address_in(peer, &of_warps[rank * warps + warp]) : 0;
    if (unknown_zero()) return;
    typename Operation::template Held<PACKS> held;
    Part mine = held.find(kept, inside);
    if (has_edge) mine = Operation::with_element(mine, edge);
    mine = Operation::over_warp(mine);
    if constexpr (BLOCKS == 1) {
        if (lane == 0) of_warps[warp] = mine;
    } else {
        if (lane < BLOCKS) send_part(to, mine, counting);
    }
    typename Operation::Ready extras[PACKS];
    if constexpr (PACKS <= 4 && !UNPINNED) {
#pragma unroll
        for (int p = 0; p < PACKS; ++p) extras[p] = shifts.ready(p, has_last && p == inside - 1, head);
        operation.prepare(extras);
    }
    if constexpr (BLOCKS == 1) __syncthreads();
    else wait_for(exchanged(), 0);
    const auto scale = operation.scale_of_part(together_of<MOST, Operation>(of_warps, BLOCKS * warps), cols);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if constexpr (PACKS > 4 || UNPINNED) extras[p] = shifts.ready(p, has_last && p == inside - 1, head);
        float values[PACK];
        held.map(operation, p, extras[p], scale, values);
        store_where(has[p], y + p * step, pack_bits(values));
    }
    if (has_edge) from_float(held.map_edge(edge, edge_extra, scale), operation.y[start + edge_at]);
}
