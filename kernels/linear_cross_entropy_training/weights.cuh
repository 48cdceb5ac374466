// From the powers of a row to d, in their place.
#pragma once

#include "linear_cross_entropy_training/powers.cuh"

struct RowResult {
    float lse;       // times log2(e)
    float at_label;  // of d
};

constexpr int WARPS_OF_ROWS = 8, TILES_OF_WARP = 4;  // as in powers.py
static_assert(WARP * PACK == BLOCK_N);

__device__ constexpr int log2_of(int power) { return power < 2 ? 0 : 1 + log2_of(power / 2); }

// Where the powers of so many warps lie, a part of a row or all of it, and how they become d.
template <int WARPS>
struct PartOfRow {
    long long width, blocks_of_row, log2_piece;  // columns of a piece

    // Makes d of them. The warps have WARPS * TILES_OF_WARP times 256 neighbours at a time.
    __device__ __forceinline__ void make_weights(
        SCALAR* powers, const Statistics* pieces, const RowResult& result, float scale, long long label
    ) const {
        long long first = blockIdx.x % blocks_of_row * (WARPS * TILES_OF_WARP) + threadIdx.x / WARP % WARPS;
        for (; first * BLOCK_N < width; first += blocks_of_row * (WARPS * TILES_OF_WARP)) {
            Pack packs[TILES_OF_WARP];
            float factors[TILES_OF_WARP];
#pragma unroll
            for (int i = 0; i < TILES_OF_WARP; ++i) {
                const long long column = (first + i * WARPS) * BLOCK_N + threadIdx.x % WARP * PACK;
                if (column >= width) continue;
                packs[i] = reinterpret_cast<const Pack*>(powers + column)[0];
                factors[i] = fast_exp2(pieces[column >> log2_piece].highest - result.lse) * scale;
            }
#pragma unroll
            for (int i = 0; i < TILES_OF_WARP; ++i) {
                const long long column = (first + i * WARPS) * BLOCK_N + threadIdx.x % WARP * PACK;
                if (column >= width) continue;
                float values[PACK];
                unpack(packs[i], values);
                const long long here = label - column;
                const int wanted = here >= 0 && here < PACK ? static_cast<int>(here) : -1;
#pragma unroll
                for (int j = 0; j < PACK; ++j) {
                    values[j] = label == IGNORED ? 0.0f : j == wanted ? result.at_label : values[j] * factors[i];
                }
                store_pack(powers + column, to_pack(values));
            }
        }
    }
};
