// Variants of softmax_backward for one row length: packed rows of THREADS * PACKS packs at most.
#include "shared/hopper.cuh"
#include "shared/overlap.cuh"
#include "shared/rows.cuh"

template <int HINT>
__device__ __forceinline__ Bits hinted_load(const SCALAR* at) {
    Bits b;
    if (HINT == 0) asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(b.x), "=r"(b.y), "=r"(b.z), "=r"(b.w) : "l"(at));
    if (HINT == 1) return ::load_evict_last(at);
    if (HINT == 2) asm volatile("ld.global.nc.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;" : "=r"(b.x), "=r"(b.y), "=r"(b.z), "=r"(b.w) : "l"(at), "l"(0x12F0000000000000ull));
    if (HINT == 3) asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(b.x), "=r"(b.y), "=r"(b.z), "=r"(b.w) : "l"(at));
    if (HINT == 4) asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;" : "=r"(b.x), "=r"(b.y), "=r"(b.z), "=r"(b.w) : "l"(at), "l"(0x14F0000000000000ull));
    return b;
}
template <int HINT>
__device__ __forceinline__ void hinted_store(SCALAR* at, const Bits& b) {
    if (HINT == 0) asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(b.x), "r"(b.y), "r"(b.z), "r"(b.w) : "memory");
    if (HINT == 1) asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(b.x), "r"(b.y), "r"(b.z), "r"(b.w) : "memory");
    if (HINT == 2) asm volatile("st.global.L2::cache_hint.v4.b32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(at), "r"(b.x), "r"(b.y), "r"(b.z), "r"(b.w), "l"(0x12F0000000000000ull) : "memory");
}
__device__ __forceinline__ float dots(const Bits& a, const Bits& b) {
    float l[PACK], r[PACK], s = 0;
    unpack_words(a, l);
    unpack_words(b, r);
#pragma unroll
    for (int i = 0; i < PACK; ++i) s = fmaf(l[i], r[i], s);
    return s;
}
__device__ __forceinline__ Bits outs(const Bits& a, const Bits& b, float sum) {
    float l[PACK], r[PACK];
    unpack_words(a, l);
    unpack_words(b, r);
#pragma unroll
    for (int i = 0; i < PACK; ++i) l[i] = r[i] * (l[i] - sum);
    return pack_bits(l);
}
template <int PACKS, int L, int S, int ROWS, bool REVERSED>
__device__ __forceinline__ void backward(const SCALAR* dy, const SCALAR* y, SCALAR* dx, long long rows, long long cols) {
    const int block = REVERSED ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
    Bits a[ROWS][PACKS], b[ROWS][PACKS];
    const int packs = cols / PACK;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const long long start = (static_cast<long long>(block) * ROWS + r) * cols;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            const int at = threadIdx.x + p * blockDim.x;
            a[r][p] = b[r][p] = {};
            if (at < packs && block * ROWS + r < rows) {
                a[r][p] = hinted_load<L>(dy + start + at * PACK);
                b[r][p] = hinted_load<L>(y + start + at * PACK);
            }
        }
    }
    __shared__ float partial[ROWS][WARP];
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        float sum = 0;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) sum += dots(a[r][p], b[r][p]);
        sum = warp_sum(sum);
        if (lane == 0) partial[r][threadIdx.x / WARP] = sum;
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const float sum = warp_sum(lane < blockDim.x / WARP ? partial[r][lane] : 0.0f);
        const long long start = (static_cast<long long>(block) * ROWS + r) * cols;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            const int at = threadIdx.x + p * blockDim.x;
            if (at < packs && block * ROWS + r < rows) hinted_store<S>(dx + start + at * PACK, outs(a[r][p], b[r][p], sum));
        }
    }
}
#define K(THREADS, BLOCKS, PACKS, L, S, ROWS, REV) \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) k_##THREADS##_##PACKS##_##L##_##S##_##ROWS##_##REV( \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ y, SCALAR* __restrict__ dx, long long rows, long long cols) { \
        backward<PACKS, L, S, ROWS, REV>(dy, y, dx, rows, cols); \
    }
#define HS(THREADS, BLOCKS, PACKS, ROWS) \
    K(THREADS, BLOCKS, PACKS, 0, 0, ROWS, 0) K(THREADS, BLOCKS, PACKS, 1, 0, ROWS, 0) K(THREADS, BLOCKS, PACKS, 3, 0, ROWS, 0) \
    K(THREADS, BLOCKS, PACKS, 2, 0, ROWS, 0) K(THREADS, BLOCKS, PACKS, 1, 1, ROWS, 0) K(THREADS, BLOCKS, PACKS, 1, 2, ROWS, 0) K(THREADS, BLOCKS, PACKS, 4, 0, ROWS, 0)
HS(512, 4, 1, 1)
HS(256, 4, 2, 1)
HS(128, 6, 4, 1)
K(256, 2, 2, 1, 0, 2, 0)
K(512, 2, 1, 1, 0, 2, 0)
K(512, 4, 1, 1, 0, 1, 1)
K(256, 4, 2, 1, 0, 1, 1)

// Blocks that stay: rows by bulk copies into a ring, and out of it again.
template <int STAGES, int LAST, int BULK_STORE>
__device__ __forceinline__ void ring(const SCALAR* dy, const SCALAR* y, SCALAR* dx, long long rows, long long cols) {
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ Barrier arrived[STAGES];
    __shared__ float partial[2][WARP];
    const int bytes = cols * sizeof(SCALAR), packs = cols / PACK, lane = threadIdx.x % WARP;
    const auto begin = [&](long long row, int stage) {
        unsigned char* to = memory + stage * 2 * bytes;
        arrive_and_expect(&arrived[stage], 2 * bytes);
        if (LAST) {
            copy_bytes_evict_last(to, dy + row * cols, bytes, &arrived[stage]);
            copy_bytes_evict_last(to + bytes, y + row * cols, bytes, &arrived[stage]);
        } else {
            copy_bytes(to, dy + row * cols, bytes, &arrived[stage]);
            copy_bytes(to + bytes, y + row * cols, bytes, &arrived[stage]);
        }
    };
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) init_barrier(&arrived[s], 1);
        publish_barriers();
        for (int s = 0; s < STAGES; ++s) {
            const long long row = blockIdx.x + static_cast<long long>(s) * gridDim.x;
            if (row < rows) begin(row, s);
        }
    }
    __syncthreads();
    int stage = 0;
    unsigned phase = 0;
    int slot = 0;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        wait_for(&arrived[stage], phase);
        Bits* const a = reinterpret_cast<Bits*>(memory + stage * 2 * bytes);
        Bits* const b = reinterpret_cast<Bits*>(memory + stage * 2 * bytes + bytes);
        float sum = 0;
        for (int p = threadIdx.x; p < packs; p += blockDim.x) sum += dots(a[p], b[p]);
        sum = warp_sum(sum);
        if (lane == 0) partial[slot][threadIdx.x / WARP] = sum;
        __syncthreads();
        sum = warp_sum(lane < blockDim.x / WARP ? partial[slot][lane] : 0.0f);
        slot ^= 1;
        for (int p = threadIdx.x; p < packs; p += blockDim.x) {
            const Bits out = outs(a[p], b[p], sum);
            if (BULK_STORE) a[p] = out;
            else hinted_store<0>(dx + row * cols + p * PACK, out);
        }
        if (BULK_STORE) publish_writes();
        __syncthreads();
        if (threadIdx.x == 0) {
            if (BULK_STORE) {
                asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(dx + row * cols), "r"(shared_address(a)), "r"(bytes) : "memory");
                commit_stores();
                // the stage before this one has been read by now, and takes its next row
                wait_for_reads<1>();
                const int before = stage ? stage - 1 : STAGES - 1;
                const long long next = row - gridDim.x + static_cast<long long>(STAGES) * gridDim.x;
                if (row >= gridDim.x && next < rows) begin(next, before);
            } else {
                const long long next = row + static_cast<long long>(STAGES) * gridDim.x;
                if (next < rows) begin(next, stage);
            }
        }
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
    if (BULK_STORE && threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
#define R(STAGES, LAST, BULK) \
    extern "C" __global__ void __launch_bounds__(256) r_##STAGES##_##LAST##_##BULK( \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ y, SCALAR* __restrict__ dx, long long rows, long long cols) { \
        ring<STAGES, LAST, BULK>(dy, y, dx, rows, cols); \
    }
R(3, 0, 1)
R(3, 1, 1)
R(6, 0, 1)
R(6, 1, 1)
R(3, 1, 0)
R(6, 1, 0)
