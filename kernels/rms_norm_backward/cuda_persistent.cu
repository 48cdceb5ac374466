// Gradient of RMS norm: each row once through registers, the sums over columns kept by the threads that add to
// them.
//
// Formula: with h = x rstd_r and g = dy w: dx = rstd_r (g - h mean_c(g h)), dw[c] = sum_r dy h. 9 rows cols
//   FLOP, (3 rows cols + 2 cols) s + 4 rows bytes.
// Mapping: as many blocks as the device runs at once walk along the rows. A row group of 32 to 512 threads owns a
//   row at a time, each thread always the same columns, whose sums it keeps in float: in registers up to 16 KB
//   a row, in shared memory above. The next row is under way while this one is reduced. Each block writes its
//   sums to `partial`, (blocks, cols); rms_norm_backward_columns adds them up, always in the same order.
//   Long rows that begin on less than 16 bytes have a block each, of norm_narrow.cuh.
// Idea: layer_norm_backward/cuda_persistent with one sum less of either kind: the persistent grid and two-stage column
//   sum of Triton's layer norm tutorial and of QuACK (Dao-AILab).
#include "shared/norm_backward.cuh"
#include "shared/norm_narrow.cuh"
#include "shared/overlap.cuh"

// ---- A row -------------------------------------------------------------------------------------

template <int PACKS>
struct Row {
    Bits dy[PACKS], x[PACKS];
    float rstd;

    template <bool PACKED>
    __device__ __forceinline__ void load(
        const Share<PACKED>& share, long long row, long long cols, const SCALAR* all_dy, const SCALAR* all_x,
        const float* rstds
    ) {
        share.load(all_dy + row * cols, dy);
        share.load(all_x + row * cols, x);
        rstd = rstds[row];
    }
};

// The formula's dy, h and g of a pack of elements.
struct Terms {
    float dy[PACK], h[PACK], g[PACK];

    template <int PACKS>
    __device__ __forceinline__ Terms(const Row<PACKS>& row, int p, const Bits& w) {
        unpack(row.dy[p], dy);
        unpack(row.x[p], h);
        unpack(w, g);
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            h[i] *= row.rstd;
            g[i] *= dy[i];
        }
    }
};

// ---- Sums of a thread's columns ----------------------------------------------------------------

// The sums lie in shared memory by fours of neighbours, the fours of a pack a plane apart, so that the lanes of a
// warp are neighbours there.
struct SumsInShared {
    float4* first;  // of this thread
    int threads, plane;

    __device__ __forceinline__ float4& dw(int p, int four) const { return first[four * plane + p * threads]; }

    __device__ __forceinline__ void add(int p, const Terms& terms) const {
        float products[PACK];
#pragma unroll
        for (int i = 0; i < PACK; ++i) products[i] = terms.dy[i] * terms.h[i];
#pragma unroll
        for (int i = 0; i < PACK; i += 4) {
            add_to(dw(p, i / 4), {products[i], products[i + 1], products[i + 2], products[i + 3]});
        }
    }
};

template <int PACKS>
struct SumsInRegisters {
    alignas(16) float dw[PACKS][PACK] = {};

    __device__ __forceinline__ void add(int p, const Terms& terms) {
#pragma unroll
        for (int i = 0; i < PACK; ++i) dw[p][i] = fmaf(terms.dy[i], terms.h[i], dw[p][i]);
    }

    // Calls act(ours, theirs) for each four of sums and its counterpart in `other`.
    template <class Act>
    __device__ __forceinline__ void with(const SumsInShared& other, Act act) {
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
#pragma unroll
            for (int i = 0; i < PACK; i += 4) act(four_at(dw[p] + i), other.dw(p, i / 4));
        }
    }
};

// ---- Sums of a row group ----------------------------------------------------------------------------

// One barrier of the row group: successive calls alternate between two slots.
__device__ __forceinline__ float sum_over_group(float mine, int warps, int turn) {
    __shared__ float partial[2][WARP];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, group = warp / warps;
    mine = warp_sum(mine);
    if (warps == 1) return mine;
    if (lane == 0) partial[turn % 2][warp] = mine;
    meet_row_group(group, warps);
    return warp_sum(lane < warps ? partial[turn % 2][group * warps + lane] : 0.0f);
}

// ---- The kernels -------------------------------------------------------------------------------

template <int PACKS, bool PACKED, bool SHARED>
__device__ __forceinline__ void backward(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, const float* rstd, SCALAR* dx, float* partial, long long rows,
    long long cols, int group_threads
) {
    const int threads = SHARED ? MOST_THREADS : group_threads;  // known to the compiler: addresses at fixed distances
    constexpr bool AHEAD = PACKS <= 4;                          // registers suffice for the next row too
    extern __shared__ float4 shared[];
    const int group = threadIdx.x / threads, groups = blockDim.x / threads, thread = threadIdx.x % threads;
    const Share<PACKED> share = {thread, threads, static_cast<int>(cols)};
    const SumsInShared sums = {shared + thread, threads, PACKS * threads};
    SumsInRegisters<PACKS> own;  // nothing where sums are in shared memory
    Bits weights[PACKS];
    for (int i = thread; SHARED && i < PACK / 4 * PACKS * threads; i += threads) shared[i] = {};  // only its own
    if (!SHARED) share.load(w, weights);

    const long long step = static_cast<long long>(gridDim.x) * groups;
    long long row = static_cast<long long>(blockIdx.x) * groups + group;
    Row<PACKS> next;
    if (AHEAD && row < rows) next.load(share, row, cols, dy, x, rstd);
    for (int turn = 0; row < rows; row += step, ++turn) {
        if (!AHEAD) next.load(share, row, cols, dy, x, rstd);
        Row<PACKS> here = next;
        if (AHEAD && row + step < rows) next.load(share, row + step, cols, dy, x, rstd);

        float total = 0.0f;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            const Terms terms(here, p, SHARED ? share.load(w, p) : weights[p]);
            if (SHARED) sums.add(p, terms);
            else own.add(p, terms);
#pragma unroll
            for (int i = 0; i < PACK; ++i) total = fmaf(terms.g[i], terms.h[i], total);
        }
        const float slope = sum_over_group(total, threads / WARP, turn) / cols;
        keep_packed(here.dy);
        keep_packed(here.x);
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            if (!SHARED) keep_packed(weights[p]);
            const Terms terms(here, p, SHARED ? share.load(once_known(slope, w), p) : weights[p]);
            float gradients[PACK];
#pragma unroll
            for (int i = 0; i < PACK; ++i) gradients[i] = here.rstd * fmaf(-slope, terms.h[i], terms.g[i]);
            share.store(dx + row * cols, p, gradients);
        }
    }
    meet_as_often(row - group < rows, group, threads / WARP);

    // The other row groups of a block leave their sums, and the first adds them up, always in the same order.
    if (!SHARED) {
        const auto sums_of_group = [&](int group) {
            return SumsInShared{sums.first + (group - 1) * PACK / 4 * sums.plane, threads, sums.plane};
        };
        if (group) own.with(sums_of_group(group), [](const float4& ours, float4& theirs) { theirs = ours; });
        __syncthreads();
        if (group) return;
        for (int other = 1; other < groups; ++other) own.with(sums_of_group(other), add_to);
    }
    partial += blockIdx.x * cols;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if constexpr (PACKED) {
            if (!share.has(p, 0)) continue;
#pragma unroll
            for (int i = 0; i < PACK; i += 4) {
                four_at(partial + share.column(p, i)) = SHARED ? sums.dw(p, i / 4) : four_at(own.dw[p] + i);
            }
        } else {
#pragma unroll
            for (int i = 0; i < PACK; ++i) {
                if (share.has(p, i)) partial[share.column(p, i)] = own.dw[p][i];
            }
        }
    }
}

#define KERNEL(NAME, PACKS, PACKED, SHARED)                                                                  \
    extern "C" __global__ void __launch_bounds__(MOST_THREADS, 1) rms_norm_backward_##NAME(                \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w,           \
        const float* __restrict__ rstd, SCALAR* __restrict__ dx,                                             \
        float* __restrict__ partial, long long rows, long long cols, long long threads) {                    \
        start_early();                                                                                       \
        backward<PACKS, PACKED, SHARED>(                                                                     \
            dy, x, w, rstd, dx, partial, rows, cols, static_cast<int>(threads));                       \
    }

KERNEL(packed_1, 1, true, false)
KERNEL(packed_2, 2, true, false)
KERNEL(packed_4_shared, 4, true, true)
KERNEL(packed_8_shared, 8, true, true)
KERNEL(elements_1, 1, false, false)

// Longer rows that begin anywhere; the last is how many blocks a multiprocessor has at once.
#define NARROW(THREADS, EACH, WIDTH, BLOCKS)                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)                                            \
        rms_norm_backward_narrow_##THREADS##_##EACH##_##WIDTH(                                               \
            const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w,       \
            const float* __restrict__ rstd, SCALAR* __restrict__ dx, float* __restrict__ partial,            \
            long long rows, long long cols, long long) {                                                     \
        start_early();                                                                                       \
        narrow_gradients<false, THREADS, EACH, WIDTH>(dy, x, w, nullptr, rstd, dx, partial, rows, cols);     \
    }

NARROW(128, 4, 4, 4)
NARROW(128, 8, 2, 4)
NARROW(256, 6, 1, 4)
NARROW(256, 8, 1, 4)
NARROW(128, 6, 4, 4)
NARROW(256, 6, 2, 2)
NARROW(512, 6, 1, 2)
NARROW(256, 4, 4, 3)
NARROW(512, 4, 2, 2)
NARROW(512, 8, 1, 2)
NARROW(512, 6, 2, 2)
NARROW(1024, 6, 1, 1)
NARROW(1024, 8, 1, 1)

// What the kernel before leaves is read while it ends: no __restrict__.
extern "C" __global__ void __launch_bounds__(1024) rms_norm_backward_columns(
    const float* partial, SCALAR* dw, long long parts, long long cols
) {
    start_early();
    sum_of_parts(partial, parts, cols, dw);
}
