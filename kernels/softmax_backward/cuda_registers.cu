// Gradient of softmax with both rows in registers: two reads and one write of memory, one reduction a row.
//
// Formula: dx[r, c] = y[r, c] (dy[r, c] - sum_c dy[r, c] y[r, c]). 4 rows cols FLOP, 3 rows cols s bytes.
// Mapping: a row group owns a row: 1 to 32 lanes up to 2 KB a row, a warp where such rows are few, a block
//   above. Each thread keeps 1 to 8 packs of 16 bytes of dy and as many of y, all of which are under way at once.
//   Short rows that start on 4 or 8 bytes have a lane for each pack, by narrower accesses; others that do not start on
//   16 have a few elements more at their edges, one a thread. A longer row is shared by a cluster, of so many blocks that
//   those of a multiprocessor have as much of their rows under way as it has registers for. Rows that are too long for
//   that are read twice, the second time from L2 where they fit there: by a block each, or where they are few by a block
//   for each piece, in two kernels, the second launched while the first one works. Rows of up to 64 elements that are not
//   packed go element by element, several a warp, or where they are very many a thread or two lanes each, by way of
//   shared memory.
// Idea: rows kept on chip by row groups that grow with them after QuACK (Dao-AILab).
#include "shared/cluster_exchange.cuh"
#include "shared/ones.cuh"
#include "shared/overlap.cuh"
#include "shared/shifted.cuh"
#include "softmax_backward/slab_rows.cuh"

__device__ __forceinline__ float dot(const Bits& dy, const Bits& y) {
    float left[PACK], right[PACK], sum = 0.0f;
    unpack(dy, left);
    unpack(y, right);
#pragma unroll
    for (int i = 0; i < PACK; ++i) sum = fmaf(left[i], right[i], sum);
    return sum;
}

template <class Where>
__device__ __forceinline__ void store_gradient(
    const Where& share, int p, const Bits& dy, const Bits& y, float sum, SCALAR* dx
) {
    float gradients[PACK], powers[PACK];
    unpack(dy, gradients);
    unpack(y, powers);
#pragma unroll
    for (int i = 0; i < PACK; ++i) gradients[i] = powers[i] * (gradients[i] - sum);
    share.store(dx, p, gradients);
}

template <int GROUP, int PACKS, int WIDTH>
__device__ __forceinline__ void backward_row(
    const SCALAR* dy, const SCALAR* y, SCALAR* dx, long long rows, long long cols
) {
    const auto share = group_share_by<GROUP, WIDTH>(rows, cols);
    const long long start = group_row<GROUP>() * cols;
    Bits gradients[PACKS], powers[PACKS];
    share.load_evict_last(dy + start, gradients);
    share.load_evict_last(y + start, powers);

    float sum = 0.0f;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) sum += dot(gradients[p], powers[p]);
    sum = group_sum<GROUP>(sum);
    keep_packed(gradients);
    keep_packed(powers);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) store_gradient(share, p, gradients[p], powers[p], sum, dx + start);
}

// BLOCKS of THREADS on a multiprocessor: registers enough, and no spilling for the sake of more.
#define KERNEL(NAME, GROUP, PACKS, THREADS, BLOCKS, WIDTH)                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(                                      \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ y, SCALAR* __restrict__ dx,                \
        long long rows, long long cols) {                                                                    \
        start_early();                                                                                        \
        backward_row<GROUP, PACKS, WIDTH>(dy, y, dx, rows, cols);                                             \
    }

KERNEL(softmax_backward_lanes_8, 8, 4, 128, 8, PACK)
KERNEL(softmax_backward_lanes_16, 16, 4, 128, 8, PACK)
KERNEL(softmax_backward_lanes_32, 32, 4, 128, 8, PACK)
KERNEL(softmax_backward_warp_1, 32, 1, 128, 8, PACK)
KERNEL(softmax_backward_warp_2, 32, 2, 128, 8, PACK)
KERNEL(softmax_backward_block_4, BLOCK_GROUP, 4, 512, 2, PACK)
KERNEL(softmax_backward_block_8, BLOCK_GROUP, 8, 512, 1, PACK)

// Many short rows that begin on 16 bytes: as few lanes as have two packs each.
KERNEL(softmax_backward_pairs_1, 1, 2, 128, 8, PACK)
KERNEL(softmax_backward_pairs_2, 2, 2, 128, 8, PACK)
KERNEL(softmax_backward_pairs_4, 4, 2, 128, 8, PACK)
KERNEL(softmax_backward_pairs_8, 8, 2, 128, 8, PACK)

ONES(KERNEL, softmax_backward, 8)

// ---- Rows that begin anywhere ------------------------------------------------------------------

// dy, y and dx as a rule begin alike, so that the same packs of all three are whole words; a few elements at the edges
// of the row are not. A row or a piece of one.
struct Run {
    const SCALAR *dy, *y;
    SCALAR* dx;
    AlignedRun packs;

    __device__ __forceinline__
    Run(const SCALAR* all_dy, const SCALAR* all_y, SCALAR* all_dx, long long start, long long length)
        : dy(all_dy + start), y(all_y + start), dx(all_dx + start), packs(dy, length) {}

    __device__ __forceinline__ float dot_of_edges(int thread, int threads) const {
        float sum = 0.0f;
        for (int edge = thread; edge < packs.edges; edge += threads) {
            const long long at = packs.edge_at(edge);
            sum = fmaf(to_float(dy[at]), to_float(y[at]), sum);
        }
        return sum;
    }
    __device__ __forceinline__ void store_edges(int thread, int threads, float sum) const {
        for (int edge = thread; edge < packs.edges; edge += threads) {
            const long long at = packs.edge_at(edge);
            from_float(to_float(y[at]) * (to_float(dy[at]) - sum), dx[at]);
        }
    }
    __device__ __forceinline__ Bits load(const SCALAR* from, long long pack) const {
        return __ldg(reinterpret_cast<const Bits*>(from + packs.pack_at(pack)));
    }
    __device__ __forceinline__ void store(long long pack, const Bits& gradient, const Bits& power, float sum) const {
        float gradients[PACK], powers[PACK];
        unpack(gradient, gradients);
        unpack(power, powers);
#pragma unroll
        for (int i = 0; i < PACK; ++i) gradients[i] = powers[i] * (gradients[i] - sum);
        const Pack result = to_pack(gradients);
        store_whole_pack(dx + packs.pack_at(pack), result);
    }
};

// The row stays in registers, as above, of a warp or a block.
template <int GROUP, int PACKS, int CLUSTER = 1>
__device__ __forceinline__ void backward_run(const Run& run) {
    const int thread = GROUP > WARP ? threadIdx.x : threadIdx.x % GROUP, threads = GROUP > WARP ? blockDim.x : GROUP;
    const int count = static_cast<int>(run.packs.packs);
    Bits gradients[PACKS] = {}, powers[PACKS] = {};
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (thread + p * threads < count) {
            gradients[p] = run.load(run.dy, thread + p * threads);
            powers[p] = run.load(run.y, thread + p * threads);
        }
    }
    float sum = run.dot_of_edges(thread, threads);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) sum += dot(gradients[p], powers[p]);
    sum = group_sum<GROUP>(sum);
#ifdef HAS_CLUSTERS
    if (CLUSTER > 1) {
        sum = __uint_as_float(over_cluster<CLUSTER>(__float_as_uint(sum), [](unsigned a, unsigned b) {
            return __float_as_uint(__uint_as_float(a) + __uint_as_float(b));
        }));
    }
#endif
    keep_packed(gradients);
    keep_packed(powers);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (thread + p * threads < count) run.store(thread + p * threads, gradients[p], powers[p], sum);
    }
    run.store_edges(thread, threads, sum);
}

#define RUN_KERNEL(NAME, GROUP, PACKS, THREADS, BLOCKS)                                                       \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(                                      \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ y, SCALAR* __restrict__ dx,                \
        long long rows, long long cols) {                                                                    \
        start_early();                                                                                       \
        const long long row = group_row<GROUP>(), length = row < rows ? cols : 0;                            \
        backward_run<GROUP, PACKS>(Run(dy, y, dx, row * cols, length));                                      \
    }

constexpr int RUN_BLOCKS = __CUDA_ARCH__ >= 1000 ? 6 : 8;  // there eight would spill

RUN_KERNEL(softmax_backward_run_lanes_4, 4, 1, 128, 8)
RUN_KERNEL(softmax_backward_run_lanes_8, 8, 1, 128, 8)
RUN_KERNEL(softmax_backward_run_lanes_16, 16, 1, 128, 8)
RUN_KERNEL(softmax_backward_run_lanes_32, 32, 1, 128, 8)
RUN_KERNEL(softmax_backward_run_warp_4, 32, 4, 128, RUN_BLOCKS)
RUN_KERNEL(softmax_backward_run_block_4, BLOCK_GROUP, 4, 512, 2)
RUN_KERNEL(softmax_backward_run_block_8, BLOCK_GROUP, 8, 512, 1)

// Short rows element by element, a lane every LANES-th of them.
template <int LANES, int EACH>
__device__ __forceinline__ void backward_elements(
    const SCALAR* dy, const SCALAR* y, SCALAR* dx, long long rows, long long cols
) {
    const long long row = thread_of_grid() / LANES, start = row * cols;
    const int lane = threadIdx.x % LANES, length = row < rows ? static_cast<int>(cols) : 0;
    float gradients[EACH], powers[EACH], sum = 0.0f;
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int column = lane + e * LANES;
        gradients[e] = column < length ? to_float(dy[start + column]) : 0.0f;
        powers[e] = column < length ? to_float(y[start + column]) : 0.0f;
    }
#pragma unroll
    for (int e = 0; e < EACH; ++e) sum = fmaf(gradients[e], powers[e], sum);
    sum = lanes_sum<LANES>(sum);
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int column = lane + e * LANES;
        if (column < length) from_float(powers[e] * (gradients[e] - sum), dx[start + column]);
    }
}

// Rows of up to LANES * EACH elements, at any alignment.
#define SHORT_KERNEL(LANES, EACH)                                                                            \
    extern "C" __global__ void __launch_bounds__(128) softmax_backward_short_##LANES##_##EACH(               \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ y, SCALAR* __restrict__ dx,                \
        long long rows, long long cols) {                                                                    \
        start_early();                                                                                       \
        backward_elements<LANES, EACH>(dy, y, dx, rows, cols);                                               \
    }

SHORT_KERNEL(1, 2)
SHORT_KERNEL(1, 4)
SHORT_KERNEL(2, 4)
SHORT_KERNEL(4, 4)
SHORT_KERNEL(8, 4)
SHORT_KERNEL(16, 4)

#define SLAB_KERNEL(WIDTH, LANES)                                                                            \
    extern "C" __global__ void __launch_bounds__(256) softmax_backward_slab_##WIDTH##_##LANES(               \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ y, SCALAR* __restrict__ dx,                \
        long long rows, long long cols) {                                                                    \
        start_early();                                                                                       \
        backward_of_slab<WIDTH, LANES>(dy, y, dx, rows, cols);                                               \
    }

#define SLAB_KERNELS(LANES) SLAB_KERNEL(1, LANES) SLAB_KERNEL(2, LANES) SLAB_KERNEL(4, LANES)

SLAB_KERNELS(1)
#ifndef SCALAR_IS_FLOAT32
SLAB_KERNELS(2)
#endif

#ifdef HAS_CLUSTERS
// A cluster a row, a piece of `length` elements a block. Two blocks of most threads, or more of fewer, on a multiprocessor.
#define CLUSTER_KERNEL(PACKS, THREADS, CLUSTER)                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS, 2) softmax_backward_cluster_##CLUSTER##_##PACKS(   \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ y, SCALAR* __restrict__ dx,                \
        long long cols, long long length) {                                                                  \
        tell_cluster();                                                                                      \
        start_early();                                                                                       \
        const long long row = blockIdx.x / CLUSTER, start = rank_in_cluster() * length;                      \
        const long long left = max(cols - start, 0ll);                                                       \
        backward_run<BLOCK_GROUP, PACKS, CLUSTER>(Run(dy, y, dx, row * cols + start, min(left, length)));    \
    }
#define CLUSTER_KERNELS(CLUSTER)    \
    CLUSTER_KERNEL(3, 512, CLUSTER) \
    CLUSTER_KERNEL(4, 512, CLUSTER) \
    CLUSTER_KERNEL(5, 384, CLUSTER) \
    CLUSTER_KERNEL(6, 384, CLUSTER)

CLUSTER_KERNELS(2)
CLUSTER_KERNELS(4)
CLUSTER_KERNELS(8)
CLUSTER_KERNELS(16)
#endif

// ---- Rows too long for registers ---------------------------------------------------------------

constexpr int UNROLL = __CUDA_ARCH__ >= 1000 ? 2 : 4;  // there four would spill

// Calls act(number, dy, y) for the thread's packs of a run, some of them under way at once.
template <class Act>
__device__ __forceinline__ void for_packs(const Run& run, Act act) {
    const long long threads = blockDim.x;
    long long pack = threadIdx.x;
    for (; pack + (UNROLL - 1) * threads < run.packs.packs; pack += UNROLL * threads) {
        Bits gradients[UNROLL], powers[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            gradients[u] = run.load(run.dy, pack + u * threads);
            powers[u] = run.load(run.y, pack + u * threads);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) act(pack + u * threads, gradients[u], powers[u]);
    }
    for (; pack < run.packs.packs; pack += threads) act(pack, run.load(run.dy, pack), run.load(run.y, pack));
}

__device__ __forceinline__ float dot_of_run(const Run& run) {
    float sum = run.dot_of_edges(threadIdx.x, blockDim.x);
    for_packs(run, [&](long long, const Bits& gradient, const Bits& power) { sum += dot(gradient, power); });
    return group_sum<BLOCK_GROUP>(sum);
}

__device__ __forceinline__ void store_run(const Run& run, float sum) {
    for_packs(run, [&](long long number, const Bits& gradient, const Bits& power) {
        run.store(number, gradient, power, sum);
    });
    run.store_edges(threadIdx.x, blockDim.x, sum);
}

extern "C" __global__ void __launch_bounds__(512, 2) softmax_backward_long(
    const SCALAR* __restrict__ dy, const SCALAR* __restrict__ y, SCALAR* __restrict__ dx, long long rows, long long cols
) {
    start_early();
    const Run run(dy, y, dx, blockIdx.x * cols, cols);
    store_run(run, dot_of_run(run));
}

// Few rows: a block a piece of `length` elements, the last one of a row shorter.
struct Piece {
    long long row, start, length;

    __device__ __forceinline__ Piece(long long cols, long long length, long long pieces) {
        row = blockIdx.x / static_cast<unsigned>(pieces);
        const long long col = blockIdx.x % static_cast<unsigned>(pieces) * length;
        start = row * cols + col;
        this->length = cols - col < length ? cols - col : length;
    }
};

extern "C" __global__ void __launch_bounds__(512, 2) softmax_backward_piece_dots(
    const SCALAR* __restrict__ dy, const SCALAR* __restrict__ y, float* __restrict__ dots, long long cols,
    long long length, long long pieces
) {
    wait_for_previous();
    let_next_start();  // only now, as the next one reads dy and y before it waits
    const Piece piece(cols, length, pieces);
    const float sum = dot_of_run(Run(dy, y, nullptr, piece.start, piece.length));
    if (threadIdx.x == 0) dots[blockIdx.x] = sum;
}

// The dots are written while this kernel begins: no __restrict__, which would promise that they are not.
extern "C" __global__ void __launch_bounds__(512, 2) softmax_backward_piece(
    const SCALAR* __restrict__ dy, const SCALAR* __restrict__ y, const float* dots, SCALAR* __restrict__ dx,
    long long cols, long long length, long long pieces
) {
    const Piece piece(cols, length, pieces);
    const Run run(dy, y, dx, piece.start, piece.length);
    wait_for_previous();
    float sum = 0.0f;
    for (int other = threadIdx.x; other < pieces; other += blockDim.x) sum += dots[piece.row * pieces + other];
    store_run(run, group_sum<BLOCK_GROUP>(sum));
}

// ---- Rows of which dy, y and dx begin differently: element by element ------------------------------

extern "C" __global__ void __launch_bounds__(512) softmax_backward_elements(
    const SCALAR* __restrict__ dy, const SCALAR* __restrict__ y, SCALAR* __restrict__ dx, long long rows, long long cols
) {
    start_early();
    dy += blockIdx.x * cols;
    y += blockIdx.x * cols;
    dx += blockIdx.x * cols;
    float sum = 0.0f;
#pragma unroll 8
    for (long long at = threadIdx.x; at < cols; at += blockDim.x) sum = fmaf(to_float(dy[at]), to_float(y[at]), sum);
    sum = group_sum<BLOCK_GROUP>(sum);
#pragma unroll 8
    for (long long at = threadIdx.x; at < cols; at += blockDim.x) {
        from_float(to_float(y[at]) * (to_float(dy[at]) - sum), dx[at]);
    }
}
