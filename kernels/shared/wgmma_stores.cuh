// How a warpgroup's sums become elements of C: by way of boxes in shared memory, which TMA stores.
//
// TMA wants rows of C of whole 16 bytes. Where they are not, `loose` is C, and threads bring its rows there by words of 16 bytes:
// a copy of C that has such rows would be a kernel of its own. Of a tile across all warpgroups bring some rows at a time. Of
// others a warpgroup copies its boxes, one by one, or two at a time where a kernel defines LOOSE_BY_WORDS, whose tiles are then
// of whole boxes.
#pragma once

#include "shared/finish.cuh"
#include "shared/wgmma_products.cuh"

constexpr int BOX_N = ROW / sizeof(SCALAR);  // columns of C in a box
constexpr int BOX = 64 * ROW;                // bytes of a box: the rows of a warpgroup
constexpr int BOXES = 2;                     // of a warpgroup: one is written while TMA reads the other

// A box of a warpgroup's 64 rows, 16 to a warp, from column `first` of its tile on. With g = lane / 4 and q = lane % 4 a
// thread holds columns 8 j + 2 q and the next of rows g and g + 8, in sum[4 j] to sum[4 j + 3]. Chunks of 16 bytes lie
// where the swizzle wants them, in place XOR row, so that the 8 rows of a matrix fall in different banks. A box of fewer
// than 128 bytes a row is not swizzled.
template <int WIDTH = BOX_N, int COUNT, class Finish>
__device__ __forceinline__ void fill_box(
    const float (&sum)[COUNT], unsigned char* box, int first, int column0, const Finish& finish
) {
    constexpr int PITCH = WIDTH * sizeof(SCALAR);
    const auto place_of = [&](int row, int chunk) {
        return row * PITCH + (WIDTH == BOX_N ? chunk ^ row % 8 : chunk) * 16;
    };
    const int lane = threadIdx.x % WARP;
    const int warp_row = threadIdx.x % WARPGROUP / WARP * 16;
#pragma unroll
    for (int column = first; column < first + WIDTH; column += 16) {
        SCALAR elements[4][2];  // rows g and g + 8 of 8 columns, then of the next 8
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float* const sums = &sum[column / 2 + i * 2];
            const int at = column0 + column + i / 2 * 8 + lane % 4 * 2;
            const float2 pair = finish_pair(finish, make_float2(sums[0], sums[1]), at, column / 8 + i / 2);
            from_floats(pair.x, pair.y, elements[i]);
        }
        const int chunk = (column - first) * static_cast<int>(sizeof(SCALAR)) / 16;
#ifdef SCALAR_IS_FLOAT32
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = warp_row + i % 2 * 8 + lane / 4;
            *reinterpret_cast<float2*>(box + place_of(row, chunk + i / 2 * 2 + lane % 4 / 2) + lane % 2 * 8) =
                make_float2(elements[i][0], elements[i][1]);
        }
#else
        const int row = warp_row + lane % 16;
        store_matrices(box + place_of(row, chunk + lane / 16), reinterpret_cast<unsigned (&)[4]>(elements));
#endif
    }
}

// Where the elements of C go, if TMA cannot store them.
struct Loose {
    SCALAR* c = nullptr;
    unsigned m = 0, n = 0;
};

#include "shared/wgmma_box_words.cuh"

#ifdef LOOSE_BY_WORDS
#include "shared/wgmma_loose_words.cuh"
constexpr bool BY_WORDS = true;
#else
constexpr bool BY_WORDS = false;
#endif

// The 64 rows of a warpgroup, from column FIRST of its tile on: a recursion, because the compiler unrolls no long loop.
template <int AT_ONCE = BOXES, int FIRST = 0, int COUNT, class Finish>
__device__ __forceinline__ void store_tile(
    const float (&sum)[COUNT], const CUtensorMap& c, unsigned char* boxes, unsigned& stored, int row0, int column0,
    const Finish& finish, const Loose& loose = {}
) {
    const int warpgroup = threadIdx.x / WARPGROUP;
    const bool leads = threadIdx.x % WARPGROUP == 0;
    constexpr int WIDTH = COUNT * 2 % BOX_N ? BOX_N / 2 : BOX_N;
#ifdef LOOSE_BY_WORDS
    static_assert(WIDTH == BOX_N && AT_ONCE == BOXES);
    if (FIRST == 0 && loose.c) {
        store_loose(sum, boxes, row0, column0, finish, loose);
        return;
    }
#endif
    unsigned char* const box = boxes + stored++ % AT_ONCE * BOX;
    if (leads) wait_for_reads<AT_ONCE - 1>();
    meet_warpgroup(warpgroup);
    fill_box<WIDTH>(sum, box, FIRST, column0, finish);
    if (!loose.c) publish_writes();
    meet_warpgroup(warpgroup);
    if (!BY_WORDS && loose.c) copy_loose<WIDTH>(box, loose, 64, row0, column0 + FIRST);
    else if (leads) store_box(c, column0 + FIRST, row0, box);
    if constexpr (FIRST + WIDTH < COUNT * 2) {
        store_tile<AT_ONCE, FIRST + WIDTH>(sum, c, boxes, stored, row0, column0, finish, loose);
    }
}

// The same where C's map has boxes of 16 rows: no warp waits for the others, as each stores its own.
template <int AT_ONCE = BOXES, int FIRST = 0, int COUNT, class Finish>
__device__ __forceinline__ void store_tile_by_warps(
    const float (&sum)[COUNT], const CUtensorMap& c, unsigned char* boxes, unsigned& stored, int row0, int column0,
    const Finish& finish, const Loose& loose
) {
    const bool leads = threadIdx.x % WARP == 0;
    const int own_row = threadIdx.x % WARPGROUP / WARP * 16;
    constexpr int WIDTH = COUNT * 2 % BOX_N ? BOX_N / 2 : BOX_N;
    unsigned char* const box = boxes + stored++ % AT_ONCE * BOX;
    const unsigned char* const own = box + own_row * WIDTH * sizeof(SCALAR);
    if (leads) wait_for_reads<AT_ONCE - 1>();
    __syncwarp();
    fill_box<WIDTH>(sum, box, FIRST, column0, finish);
    if (!loose.c) publish_writes();
    __syncwarp();
    if (loose.c) copy_loose<WIDTH, 1>(own, loose, 16, row0 + own_row, column0 + FIRST);
    else if (leads) store_box(c, column0 + FIRST, row0 + own_row, own);
    if constexpr (FIRST + WIDTH < COUNT * 2) {
        store_tile_by_warps<AT_ONCE, FIRST + WIDTH>(sum, c, boxes, stored, row0, column0, finish, loose);
    }
}

// ---- Sums across: of 64 columns of C and any number of rows ------------------------------------

// A warpgroup's 64 columns are one box of 16-bit elements, or two of float32, of half as many rows each.
constexpr int ROWS_ACROSS = BOX / (64 * sizeof(SCALAR));

#include "shared/wgmma_loose_rows.cuh"

// With g = lane / 4 and q = lane % 4 a thread holds rows 8 j + 2 q and the next of columns g and g + 8 of its warp's 16. It
// gives one row to the lane of the column beside its own, and takes the other row from there: a pair as `finish` wants it.
// The words of a warp, and the pairs of half a warp, fall in different banks.
template <int FIRST, int ROWS, int COUNT, class Finish>
__device__ __forceinline__ void fill_box_across(
    const float (&sum)[COUNT], unsigned char* box, int column0, const Finish& finish
) {
    const int lane = threadIdx.x % WARP, warp = threadIdx.x % WARPGROUP / WARP;
    const int is_odd = lane / 4 % 2;
#pragma unroll
    for (int i = 0; i < ROWS; i += 8) {
        const int row = i + lane % 4 * 2 + is_odd;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int at = (FIRST + i) / 2 + half * 2;
            const float upper = sum[at], lower = sum[at + 1];
            const float given = __shfl_xor_sync(WHOLE_WARP, is_odd ? upper : lower, 4);
            const int column = warp * 16 + half * 8 + lane / 4 - is_odd;
            const float2 sums = is_odd ? make_float2(given, lower) : make_float2(upper, given);
            const float2 pair = finish(sums, column0 + column);
#ifdef SCALAR_IS_FLOAT32
            const int chunk = warp % 2 * 4 + half * 2 + lane / 16;
            const int place = warp / 2 * (ROWS_ACROSS * ROW) + row * ROW + (chunk ^ row % 8) * 16 + lane / 8 % 2 * 8;
            *reinterpret_cast<float2*>(box + place) = pair;
#else
            const int place = row * ROW + ((warp * 2 + half) ^ row % 8) * 16 + lane / 8 * 4;
            from_floats(pair.x, pair.y, reinterpret_cast<SCALAR*>(box + place));
#endif
        }
    }
}

// The 64 columns of a warpgroup, of which TMA stores C_ROWS rows at once.
template <int AT_ONCE, int C_ROWS, int FIRST = 0, int COUNT, class Finish>
__device__ __forceinline__ void store_boxes_across(
    const float (&sum)[COUNT], const CUtensorMap& c, unsigned char* boxes, unsigned& stored, int row0, int column0,
    const Finish& finish
) {
    constexpr int ROWS = COUNT * 2 - FIRST < ROWS_ACROSS ? COUNT * 2 - FIRST : ROWS_ACROSS;
    const int warpgroup = threadIdx.x / WARPGROUP;
    const bool leads = threadIdx.x % WARPGROUP == 0;
    unsigned char* const box = boxes + stored++ % AT_ONCE * BOX;
    if (leads) wait_for_reads<AT_ONCE - 1>();
    meet_warpgroup(warpgroup);
    fill_box_across<FIRST, ROWS>(sum, box, column0, finish);
    publish_writes();
    meet_warpgroup(warpgroup);
    constexpr int BOX_ROWS = ROWS_ACROSS * ROW;  // bytes from a box to that of the next columns
    if (leads) {
        for (int i = 0; i < ROWS; i += C_ROWS) {
#pragma unroll
            for (int j = 0; j < 64 / BOX_N; ++j) {
                start_store(c, column0 + j * BOX_N, row0 + FIRST + i, box + j * BOX_ROWS + i * ROW);
            }
        }
        commit_stores();
    }
    if constexpr (FIRST + ROWS < COUNT * 2) {
        store_boxes_across<AT_ONCE, C_ROWS, FIRST + ROWS>(sum, c, boxes, stored, row0, column0, finish);
    }
}

// A block's tile of CONSUMERS warpgroups, from `column0` on, with `boxes` for all of them.
template <int CONSUMERS, int AT_ONCE, int C_ROWS, int COUNT, class Finish>
__device__ __forceinline__ void store_tile_across(
    const float (&sum)[COUNT], const CUtensorMap& c, unsigned char* boxes, unsigned& stored, int row0, int column0,
    int warpgroup, const Finish& finish, const Loose& loose
) {
    if (loose.c) {
        const LooseRows<CONSUMERS, CONSUMERS * AT_ONCE * BOX> rows(boxes, loose, row0, column0);
        if (rows.columns > 0 && rows.rows > 0) store_rows_across(sum, rows, column0, finish);
    } else {
        unsigned char* const own = boxes + warpgroup * AT_ONCE * BOX;
        store_boxes_across<AT_ONCE, C_ROWS>(sum, c, own, stored, row0, column0 + warpgroup * 64, finish);
    }
}
