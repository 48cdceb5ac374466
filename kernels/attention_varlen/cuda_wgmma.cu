// Causal attention over packed sequences on Hopper's tensor cores (sm_90a only), sums in float32.
//
// Formula: o[t] = sum over u of p[u] v[u], p the softmax of q[t] k[u] / sqrt(dim), u from the first token of t's
//   sequence to t. 4 dim FLOP a pair; q is read and o written once, k and v again from L2 for every tile.
// Mapping: `attend` of shared/wgmma_attention.cuh. But here nobody on the host knows which tiles there are. A first kernel
//   sorts the sequences, the longest first, and writes how many tiles come before each. Blocks, one a multiprocessor,
//   take the next tile from a counter; the copying warp looks up which it is.
//   A box that TMA copies has rows of the next sequence where a tile's end lies beyond its own. Causality hides those
//   keys, and such queries are not stored; a warpgroup that has no others passes the tile over. Such values would come
//   in with weight 0, which spoils the sums where one is infinite or NaN: the consumers overwrite them with zeros
//   before they multiply.
// Idea: Shah et al., "FlashAttention-3", arXiv:2407.08608. Longest first, so that at the end no block has much left
//   while others have none; Graham, 1969. A sequence's heads go in groups whose keys and values fit in L2. Goes on from
//   cuda_naive, which reads its keys for one query alone and has no tensor cores.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#include "attention_varlen/tiles.cuh"
#include "shared/wgmma_attention.cuh"

// The sequences, longest first, and the counter at 0. A thread a sequence counts those that come before its own.
extern "C" __global__ void __launch_bounds__(SORTERS) sort(
    const int* __restrict__ offsets, int4* __restrict__ sorted, int* __restrict__ counter, long long batch,
    long long tokens, long long heads, long long queries
) {
    let_next_start();
    wait_for_previous();
    sort_sequences(
        offsets, sorted, counter, static_cast<int>(batch), static_cast<int>(tokens), static_cast<int>(heads),
        static_cast<int>(queries)
    );
}

// Tiles that the copying warp takes from the counter. A piece's place is the sequence's first row.
template <int QUERIES, int KEYS, int DIM>
struct DrawnTiles {
    static constexpr bool CAUSAL = true, WINDOWED = false, DIVIDES = false, CLEARS = true;
    static constexpr int THREADS = WARP;

    PackedTiles tiles;
    int* counter;
    int number;

    __device__ __forceinline__ DrawnTiles(const int4* sorted, int* counter, int batch, int heads, int sharing)
        : tiles(sorted, batch, heads, sharing), counter(counter), number(blockIdx.x) {}

    __device__ __forceinline__ Piece take() {
        number = the_warps(number);
        if (!tiles.find(number, threadIdx.x % WARP)) return {-1};
        const PackedTile tile = tiles.tile<QUERIES, DIM>(number);
        return {tile.head, tile.first_query, 0, tile.last_step<QUERIES, KEYS>(), tile.length, tile.begin};
    }
    __device__ __forceinline__ void go_on(int) { number = gridDim.x + atomicAdd(counter, 1); }

    template <int WIDTH, int ROWS>
    static __device__ __forceinline__ void copy(
        unsigned char* to, const CUtensorMap& map, const Piece& piece, int row, int head, Barrier* barrier
    ) {
        copy_rows<WIDTH, ROWS>(to, map, head, piece.place + row, barrier);
    }
};

#define PACKED_ATTENTION_KERNEL(DIM)                                                                             \
    extern "C" __global__ void __launch_bounds__((CONSUMERS<DIM> + 1) * WARPGROUP, 1) attention_##DIM(           \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                            \
        const __grid_constant__ CUtensorMap v, SCALAR* __restrict__ o, const int4* __restrict__ sorted,          \
        int* __restrict__ counter, long long batch, long long heads, long long sharing) {                        \
        using Source = DrawnTiles<CONSUMERS<DIM> * 64, KEYS_OF<DIM>, DIM>;                                       \
        attend<DIM, KEYS_OF<DIM>, Source>(                                                                       \
            q, k, v, static_cast<int>(sharing), 0,                                                               \
            [&] {                                                                                                \
                if (threadIdx.x % WARP == 0) prefetch_map(q), prefetch_map(k), prefetch_map(v);                  \
                let_next_start();                                                                                \
                wait_for_previous();                                                                             \
                return Source(sorted, counter, static_cast<int>(batch), static_cast<int>(heads),                 \
                              static_cast<int>(sharing));                                                        \
            },                                                                                                   \
            [&](const Piece& piece, int half, int query, const float(&sum)[DIM / 2], float factor, float) {      \
                const long long index = static_cast<long long>(piece.place + query) * heads + piece.head;        \
                store_row(sum, half, factor, o + index * DIM, query < piece.length);                             \
            }                                                                                                    \
        );                                                                                                       \
    }
PACKED_ATTENTION_KERNEL(64)
PACKED_ATTENTION_KERNEL(128)

#endif
