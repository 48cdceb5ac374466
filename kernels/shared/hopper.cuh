// The asynchronous units of Hopper (sm_90a): barriers in shared memory, the tensor memory accelerator (TMA), wgmma.
//
// TMA copies a box of a tensor into shared memory and then counts its bytes on a barrier; wgmma multiplies tiles that
// lie there. Both work on their own, so that a thread starts them and waits where it needs the result.
#pragma once

#include "shared/common.cuh"

// How TMA sees a tensor; made on the host by tensor_map(), passed as `const __grid_constant__ CUtensorMap`.
struct alignas(64) CUtensorMap {
    unsigned long long opaque[16];
};

constexpr int WARPGROUP = 128;  // threads of four neighbouring warps, which issue wgmma together

// ---- Barriers: a phase ends when `arrivals` threads have arrived and every expected byte has ----

using Barrier = unsigned long long;

__device__ __forceinline__ void init_barrier(Barrier* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

// Makes initialised barriers visible to the copy engine and to the other blocks of the cluster.
__device__ __forceinline__ void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ __forceinline__ void arrive_and_expect(Barrier* barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

// Arrives at a barrier of this block; arrive_at() of a cluster would fence the whole GPU's memory.
__device__ __forceinline__ void arrive(Barrier* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// Behind __syncwarp one lane of a warp arrives for all: 32 take time, one after the other. Under compute-sanitizer every
// lane arrives, because to its racecheck a barrier orders nothing but what the threads that arrive have done themselves,
// whatever they have met at in front of it.
#ifdef SANITIZED
constexpr int ARRIVALS_OF_WARP = WARP;
#else
constexpr int ARRIVALS_OF_WARP = 1;
#endif
__device__ __forceinline__ bool arrives_for_warp(int lane) { return ARRIVALS_OF_WARP == WARP || lane == 0; }

// Arrives at the same barrier of block number `block` of the cluster. Only reads by wgmma come before: with ".release"
// at the cluster's scope, which orders writes too, each arrival costs a fence.
__device__ __forceinline__ void arrive_at(Barrier* barrier, unsigned block) {
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
                 "}" ::"r"(shared_address(barrier)), "r"(block)
                 : "memory");
}

// Waits for the end of a phase: 0 for the barrier's first, then 1, 0, ... A wait for the phase before the first ends at
// once.
__device__ __forceinline__ void wait_for(Barrier* barrier, unsigned phase) {
    unsigned done;
    do {
        asm volatile("{\n"
                     ".reg .pred ended;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, ended;\n"
                     "}"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(phase)
                     : "memory");
    } while (!done);
}

// ---- Clusters ----------------------------------------------------------------------------------

__device__ __forceinline__ unsigned rank_in_cluster() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ int blocks_of_cluster() {
    unsigned blocks;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return static_cast<int>(blocks);
}

// All blocks of the cluster are here; orders no memory, which publish_barriers does.
__device__ __forceinline__ void meet_cluster() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// The same in two steps.
__device__ __forceinline__ void arrive_at_cluster() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
// The same after writes into other blocks, which see them behind their wait: it fences the memory of the whole GPU.
__device__ __forceinline__ void arrive_with_writes() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait_for_cluster() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }

// The address that block number `block` of the cluster has for what lies here in this block.
__device__ __forceinline__ unsigned address_in(unsigned block, const void* here) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(here)), "r"(block));
    return there;
}
// Two floats from such an address.
__device__ __forceinline__ float2 load_from(unsigned address) {
    float2 two;
    asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];" : "=f"(two.x), "=f"(two.y) : "r"(address) : "memory");
    return two;
}

// Writes a struct of words to the same shared variable of block number `rank` of the cluster; others read it after the
// cluster has met.
template <typename Words>
__device__ __forceinline__ void store_at_rank(Words* variable, int rank, const Words& value) {
    const unsigned theirs = address_in(rank, variable);
#pragma unroll
    for (int i = 0; i < sizeof(Words) / 4; ++i) {
        asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(theirs + 4 * i),
                     "r"(reinterpret_cast<const unsigned*>(&value)[i])
                     : "memory");
    }
}

// Sends 4, 8 or 16 bytes to another block, where they count on a barrier: no fence is needed.
__device__ __forceinline__ void send_to(unsigned to, unsigned one, unsigned barrier) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to), "r"(one),
                 "r"(barrier)
                 : "memory");
}
__device__ __forceinline__ void send_to(unsigned to, const float2& two, unsigned barrier) {
    const unsigned long long bits =
        static_cast<unsigned long long>(__float_as_uint(two.y)) << 32 | __float_as_uint(two.x);
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(to), "l"(bits),
                 "r"(barrier)
                 : "memory");
}
__device__ __forceinline__ void send_to(unsigned to, const float* four, unsigned barrier) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                 "f"(four[0]), "f"(four[1]), "f"(four[2]), "f"(four[3]), "r"(barrier)
                 : "memory");
}

// Sends a struct of words to the same shared variable of block number `rank` of the cluster, where they count on the
// same barrier.
template <typename Words>
__device__ __forceinline__ void send_at_rank(Words* variable, int rank, const Words& value, Barrier* barrier) {
    const unsigned to = address_in(rank, variable), counting = address_in(rank, barrier);
    if constexpr (sizeof(Words) == 8) {
        send_to(to, reinterpret_cast<const float2&>(value), counting);
    } else {
#pragma unroll
        for (int i = 0; i < sizeof(Words) / 4; ++i) {
            send_to(to + 4 * i, reinterpret_cast<const unsigned*>(&value)[i], counting);
        }
    }
}

// ---- TMA ---------------------------------------------------------------------------------------

// Copies `bytes`, a multiple of 16, between addresses that are multiples of 16; they count on `barrier`.
__device__ __forceinline__ void copy_bytes(void* to, const void* from, unsigned bytes, Barrier* barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
}

// Asks L2 for `bytes`, a multiple of 16, from an address that is one too.
__device__ __forceinline__ void ask_l2(const void* from, unsigned bytes) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

// The same for what L2 is to evict after what was written: load_evict_last says for whom.
__device__ __forceinline__ void copy_bytes_evict_last(void* to, const void* from, unsigned bytes, Barrier* barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
                 ::"r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(barrier)), "l"(EVICT_LAST_POLICY)
                 : "memory");
}

// Brings a map near, so that the first copy by it does not wait for it.
__device__ __forceinline__ void prefetch_map(const CUtensorMap& map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Copies the box at column x and row y, zeros where it lies outside the tensor; its bytes count on `barrier`.
__device__ __forceinline__ void copy_box(void* to, const CUtensorMap& map, int x, int y, Barrier* barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)), "l"(&map), "r"(x), "r"(y), "r"(shared_address(barrier))
                 : "memory");
}

// The same by a policy of L2: EVICT_FIRST_POLICY or EVICT_LAST_POLICY.
__device__ __forceinline__ void copy_box_hinted(
    void* to, const CUtensorMap& map, int x, int y, Barrier* barrier, unsigned long long policy
) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                 "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)), "l"(&map), "r"(x), "r"(y),
                 "r"(shared_address(barrier)), "l"(policy)
                 : "memory");
}

// The box into all blocks of the cluster whose bit is set, each counting on its own barrier.
__device__ __forceinline__ void copy_box_to(
    unsigned short blocks, void* to, const CUtensorMap& map, int x, int y, Barrier* barrier
) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)), "l"(&map), "r"(x), "r"(y),
                 "r"(shared_address(barrier)), "h"(blocks)
                 : "memory");
}

// Copies the box from shared memory to column x, which is not below 0, and row y, but for what lies outside the tensor.
__device__ __forceinline__ void start_store(const CUtensorMap& map, int x, int y, const void* from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                 ::"l"(&map), "r"(x), "r"(y), "r"(shared_address(from))
                 : "memory");
}
// Copies `bytes`, a multiple of 16, from shared memory, between addresses that are multiples of 16.
__device__ __forceinline__ void start_store(void* to, const void* from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
                 "r"(bytes)
                 : "memory");
}
// What this thread has started to store so far counts as one.
__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ __forceinline__ void store_box(const CUtensorMap& map, int x, int y, const void* from) {
    start_store(map, x, y, from);
    commit_stores();
}

// Waits until all but the newest PENDING boxes that this thread stores have been read from shared memory.
template <int PENDING>
__device__ __forceinline__ void wait_for_reads() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

// Makes this thread's writes to shared memory visible to TMA and wgmma.
__device__ __forceinline__ void publish_writes() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ __forceinline__ void meet_warpgroup(int warpgroup) {
    asm volatile("bar.sync %0, 128;" ::"r"(warpgroup + 1) : "memory");  // barrier 0 is __syncthreads
}

// Four 8 x 8 matrices of 16 bits, their rows at the addresses that lanes 0-7, 8-15, 16-23 and 24-31 give.
__device__ __forceinline__ void store_matrices(void* to, const unsigned (&from)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(to)),
                 "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
                 : "memory");
}

// ---- Registers: warpgroups that only copy give theirs to those that compute --------------------

template <int COUNT>
__device__ __forceinline__ void give_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

template <int COUNT>
__device__ __forceinline__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

// ---- wgmma -------------------------------------------------------------------------------------

// Describes a tile in shared memory that TMA wrote with 128-byte swizzle, so in atoms of 8 rows of 128 bytes.
// `stride` bytes lie between atoms along the rows; `leading` bytes between atoms along the columns, which matters only
// where a row holds neighbours in m or n rather than in k.
__device__ __forceinline__ unsigned long long swizzled_tile(const void* tile, int stride, int leading) {
    constexpr unsigned long long SWIZZLE_128_BYTES = 1ull << 62;
    return SWIZZLE_128_BYTES | static_cast<unsigned long long>(stride >> 4) << 32 |
           static_cast<unsigned long long>(leading >> 4) << 16 | (shared_address(tile) & 0x3ffff) >> 4;
}

// Before the first wgmma of a batch: registers written by other instructions are seen by it.
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits for all but the newest PENDING batches. No warp passes before all four of its warpgroup have begun these, however
// late one is: so one thread may release what the products of all have read.
template <int PENDING>
__device__ __forceinline__ void wait_for_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// What follows reads sums that wgmma has written.
template <int COUNT>
__device__ __forceinline__ void settle(float (&sum)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(sum[i])::"memory");
}
