// Rows shared by a row group and kept in registers: for the norms, softmax and their gradients.
//
// A row group (a cooperative group in CUDA's words) is some lanes of a warp, a warp, or a block. A thread keeps its packs of
// a row as they were loaded, which takes half the registers of floats in the 16-bit types, and has the same columns of
// every row of every tensor.
#pragma once

#include "shared/common.cuh"

constexpr int BLOCK_GROUP = 1024;  // the size of a row group that is a block, of any number of threads

// ---- Which thread holds what ------------------------------------------------------------------------------

// Do the rows of all these tensors start on 16 bytes?
template <typename... Scalars>
__device__ __forceinline__ bool are_packed(long long cols, const Scalars*... starts) {
    return cols % PACK == 0 && (is_aligned(starts) && ...);
}

// A pack as it is kept: whole words, where a Pack would be taken apart into a register an element.
using Bits = uint4;

__device__ __forceinline__ void unpack(const Bits& bits, float (&values)[PACK]) {
    unpack(reinterpret_cast<const Pack&>(bits), values);
}

// The same where instructions are what a kernel waits for: a bfloat16 is the upper half of its float, one
// instruction each, where Hopper's conversion takes two. Not for all, as some of the gradients take more registers
// then, and a softmax gains nothing.
__device__ __forceinline__ void unpack_words(const Bits& bits, float (&values)[PACK]) {
#if defined(SCALAR_IS_BFLOAT16) && __CUDA_ARCH__ >= 900
    const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        values[2 * i] = __uint_as_float(words[i] << 16);
        values[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
    }
#else
    unpack(bits, values);
#endif
}

__device__ __forceinline__ Bits pack_bits(const float (&values)[PACK]) {
    const Pack pack = to_pack(values);
    return reinterpret_cast<const Bits&>(pack);
}

// A thread's share of a row, or of a piece of it short enough for 32-bit indices, by accesses of WIDTH elements: PACK
// where rows begin on 16 bytes, fewer where they begin on fewer. What a pack keeps are then accesses LANES threads apart, so
// that the lanes of a warp still read neighbours: a warp or the lanes of the row group, which the compiler knows, or all
// of its threads, for which LANES is 0.
template <int WIDTH, int LANES>
struct ShareBy {
    int thread, threads;  // of the row group
    int cols;             // of the row; 0 for a row group past the last row

    static constexpr int ACCESSES = PACK / WIDTH;  // of a pack
    struct alignas(WIDTH * sizeof(SCALAR)) Access {
        SCALAR element[WIDTH];
    };

    // From one access of a pack to the next.
    __device__ __forceinline__ int apart() const { return (LANES ? LANES : threads) * WIDTH; }
    __device__ __forceinline__ int column(int pack, int i) const {
        const int before = LANES && WIDTH < PACK ? thread / LANES * LANES * (PACK - WIDTH) : 0;
        return before + thread * WIDTH + pack * threads * PACK + i / WIDTH * apart() + i % WIDTH;
    }
    __device__ __forceinline__ bool has(int pack, int i) const { return column(pack, i / WIDTH * WIDTH) < cols; }
    // Whether no thread of the row group has anything of this pack and of those after it. Only asked where accesses are
    // narrow, as they take instructions.
    __device__ __forceinline__ bool skips(int pack) const { return WIDTH < PACK && pack * threads * PACK >= cols; }
    // The same of element `i` of a pack, for a warp or the lanes that accesses lie apart.
    __device__ __forceinline__ bool skips_element(int pack, int i) const {
        return i % WIDTH == 0 && column(pack, i) - thread % LANES * WIDTH >= cols;
    }

    // What lies outside the row reads as `outside`, a word of one or two elements.
    template <bool EVICT_LAST = false>
    __device__ __forceinline__ Bits load(const SCALAR* row, int pack, unsigned outside = 0) const {
        Bits bits = {outside, outside, outside, outside};
        if constexpr (WIDTH == PACK) {
            if (has(pack, 0)) {
                if constexpr (EVICT_LAST) bits = ::load_evict_last(row + column(pack, 0));
                else bits = *reinterpret_cast<const Bits*>(row + column(pack, 0));
            }
        } else {
            const SCALAR* const first = row + column(pack, 0);  // the others at constant distances
            Access* const accesses = reinterpret_cast<Access*>(&bits);
#pragma unroll
            for (int a = 0; a < ACCESSES; ++a) {
                if (has(pack, a * WIDTH)) accesses[a] = *reinterpret_cast<const Access*>(first + a * apart());
            }
        }
        return bits;
    }

    template <int PACKS>
    __device__ __forceinline__ void load(const SCALAR* row, Bits (&packs)[PACKS], unsigned outside = 0) const {
#pragma unroll
        for (int p = 0; p < PACKS; ++p) packs[p] = load(row, p, outside);
    }

    // The same by load_evict_last, where packs are whole. It takes instructions and registers: layer norm, the fused
    // residual and the gradients of the norms are slower with it.
    template <int PACKS>
    __device__ __forceinline__ void load_evict_last(
        const SCALAR* row, Bits (&packs)[PACKS], unsigned outside = 0
    ) const {
#pragma unroll
        for (int p = 0; p < PACKS; ++p) packs[p] = load<true>(row, p, outside);
    }

    __device__ __forceinline__ void store(SCALAR* row, int pack, const Bits& bits) const {
        if constexpr (WIDTH == PACK) {
            if (has(pack, 0)) *reinterpret_cast<Bits*>(row + column(pack, 0)) = bits;
        } else {
            SCALAR* const first = row + column(pack, 0);
            const Access* const accesses = reinterpret_cast<const Access*>(&bits);
#pragma unroll
            for (int a = 0; a < ACCESSES; ++a) {
                if (has(pack, a * WIDTH)) *reinterpret_cast<Access*>(first + a * apart()) = accesses[a];
            }
        }
    }

    __device__ __forceinline__ void store(SCALAR* row, int pack, const float (&values)[PACK]) const {
        store(row, pack, pack_bits(values));
    }
};

// Of whole packs, or of single elements where rows are not packed.
template <bool PACKED>
struct Share : ShareBy<PACKED ? PACK : 1, 0> {};

// The row of this thread's row group, and the thread's share of it.
template <int GROUP>
__device__ __forceinline__ long long group_row() {
    if (GROUP > WARP) return blockIdx.x;
    return static_cast<long long>(blockIdx.x) * (blockDim.x / GROUP) + threadIdx.x / GROUP;
}

template <int GROUP, int WIDTH>
    __device__ __forceinline__ ShareBy < WIDTH,
    GROUP<WARP ? GROUP : WARP> group_share_by(long long rows, long long cols) {
    const int length = group_row<GROUP>() < rows ? static_cast<int>(cols) : 0;
    if (GROUP > WARP) return {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x), length};
    return {static_cast<int>(threadIdx.x) % GROUP, GROUP, length};
}

template <int GROUP>
__device__ __forceinline__ Share<true> group_share(long long rows, long long cols) {
    const auto share = group_share_by<GROUP, PACK>(rows, cols);
    return {{share.thread, share.threads, share.cols}};
}

// A row that registers do not hold is processed in pieces of one pack a thread. This is the thread's share of the
// piece that begins at column `start`.
template <bool PACKED>
__device__ __forceinline__ Share<PACKED> piece_share(long long start, long long cols) {
    const long long left = cols - start, piece = static_cast<long long>(blockDim.x) * PACK;
    return {
        {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x), static_cast<int>(left < piece ? left : piece)}};
}

// Zero, but the compiler cannot know it: the grid's last extent has no more than 16 bits.
__device__ __forceinline__ unsigned unknown_zero() {
    unsigned blocks;
    asm("mov.u32 %0, %%nctaid.z;" : "=r"(blocks));
    return blocks >> 16;
}

// Makes the compiler forget what it has computed from a pack, be it only its floats: it would keep that for the
// next pass over the row, in twice the registers or more.
__device__ __forceinline__ void keep_packed(Bits& pack) {
    const unsigned zero = unknown_zero();  // added, as two exclusive ors would cancel
    pack.x += zero;
    pack.y += zero;
    pack.z += zero;
    pack.w += zero;
}

template <int PACKS>
__device__ __forceinline__ void keep_packed(Bits (&packs)[PACKS]) {
#pragma unroll
    for (int p = 0; p < PACKS; ++p) keep_packed(packs[p]);
}

// The address, once `value` is known: loads from there are not moved before, where their results would take
// registers while the row is reduced.
__device__ __forceinline__ const SCALAR* once_known(float value, const SCALAR* address) {
    return address + (__float_as_uint(value) & unknown_zero());
}

// ---- Sums over a row group --------------------------------------------------------------------------

// The sum over LANES neighbouring lanes; each of them gets it.
template <int LANES>
__device__ __forceinline__ float lanes_sum(float value) {
#pragma unroll
    for (int offset = LANES / 2; offset; offset /= 2) value += __shfl_xor_sync(WHOLE_WARP, value, offset);
    return value;
}

// The sum over a row group; each of its threads gets it. Calls with different SLOTs need no barrier between them.
template <int GROUP, int SLOT = 0>
__device__ __forceinline__ float group_sum(float value) {
    if constexpr (GROUP <= WARP) {
        return lanes_sum<GROUP>(value);
    } else {
        __shared__ float partial[WARP];
        const int lane = threadIdx.x % WARP;
        value = warp_sum(value);
        if (lane == 0) partial[threadIdx.x / WARP] = value;
        __syncthreads();
        return warp_sum(lane < blockDim.x / WARP ? partial[lane] : 0.0f);
    }
}

// 1 / cols of a row that registers hold, to about 2^-22. A division takes a dozen instructions and a jump, for
// which the whole row group waits. The root halves the error of a mean of squares: 1e-7 is left.
__device__ __forceinline__ float one_of(long long cols) {
    return fast_reciprocal(static_cast<float>(static_cast<int>(cols)));
}

// ---- Sums of columns ---------------------------------------------------------------------------

// The second stage of a column sum: out[c] = sum_p partial[p, c], always in the same order. A block of 32 x 32
// threads adds 32 columns, each of its rows of threads every 32nd part.
__device__ __forceinline__ void sum_of_parts(const float* partial, long long parts, long long cols, SCALAR* out) {
    __shared__ float sums[WARP][WARP];
    const long long col = static_cast<long long>(blockIdx.x) * WARP + threadIdx.x;
    float sum = 0.0f;
    if (col < cols) {
#pragma unroll 8
        for (long long part = threadIdx.y; part < parts; part += WARP) sum += partial[part * cols + col];
    }
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || col >= cols) return;
#pragma unroll
    for (int other = 1; other < WARP; ++other) sum += sums[other][threadIdx.x];
    from_float(sum, out[col]);
}
