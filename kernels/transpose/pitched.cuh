// Transpose by tiles in which a column is a progression: any size, any alignment, 16 bytes an access on both sides.
//
// Rows of x lie in shared memory as far apart, modulo 16 bytes, as in x. So the aligned packs that a row lies in are
// copied as they are, wherever it begins, and the elements of a column are all the same distance apart: a pack of y
// begins where y has 16 bytes, and is PACK of them, nothing being shifted. All packs of a thread have one shape, so that
// it finds out once where elements lie, while the copies are under way.
#pragma once

#include "shared/async_copies.cuh"
#include "shared/division.cuh"
#include "shared/shifted.cuh"

// What a block has: a tile, whole columns of x, which are a run of y, or whole rows, which are a run of x.
enum class Part { TILE, COLUMNS, ROWS };

// As the launcher says, in elements. Of a TILE and of ROWS the height is whole packs, of COLUMNS the width.
struct Layout {
    int height, width;
    int pitch;         // from row to row in shared memory
    bool is_wide;      // parts are numbered along the shorter side first: those that share lines are then not far apart
    Division shorter;  // parts along it
    Division slots;    // packs that a row of the part may lie in
    Division along;    // threads that follow one another along y
    int beside;  // of TILE: threads beside each other; of COLUMNS: PACK columns a block takes at once; ROWS: as along
};

// The part of x in shared memory.
template <Part PART>
struct PitchedTile {
    const SCALAR* corner;
    long long top, left;
    int tall, wide;  // of what is there: of all but COLUMNS the rest of a pack of y that begins in the last row, too
    int past;        // elements past 16 bytes, of the first one
    Bits* packs;

    __device__ __forceinline__
    PitchedTile(const SCALAR* x, Bits* packs, long long rows, long long cols, const Layout& layout)
        : packs(packs) {
        const unsigned slow = layout.shorter.quotient(blockIdx.x), fast = layout.shorter.remainder(blockIdx.x, slow);
        top = static_cast<long long>(layout.is_wide ? fast : slow) * layout.height;
        left = static_cast<long long>(layout.is_wide ? slow : fast) * layout.width;
        const long long needed = layout.height + (PART == Part::COLUMNS ? 0 : PACK - 1);
        tall = static_cast<int>(min(rows - top, needed));
        wide = static_cast<int>(min(cols - left, static_cast<long long>(layout.width)));
        corner = x + top * cols + left;
        past = static_cast<int>(bytes_past(corner) / sizeof(SCALAR));
    }

    // GUARDED where a pack may lie partly outside x, which ends at `end`.
    template <bool GUARDED>
    __device__ __forceinline__ void copy(Bits* to, const SCALAR* from, const SCALAR* x, const SCALAR* end) const {
        if (GUARDED && (from < x || from + PACK > end)) *to = load_near(from, x, end);
        else start_copy<true>(to, from);
    }
    template <bool GUARDED>
    __device__ __forceinline__ void fill_all(
        const SCALAR* x, const SCALAR* end, long long cols, const Layout& layout
    ) const {
        if constexpr (PART == Part::ROWS) {
            const int count = (past + tall * wide + PACK - 1) / PACK;
            for (int index = threadIdx.x; index < count; index += blockDim.x) {
                copy<GUARDED>(packs + index, corner - past + index * PACK, x, end);
            }
        } else {
            // A thread has one slot, in each of as many rows as the block has threads for.
            const unsigned beside = layout.slots.quotient(blockDim.x), first = layout.slots.quotient(threadIdx.x);
            const unsigned slot = layout.slots.remainder(threadIdx.x, first);
            if (first >= beside) return;
            unsigned place = past + first * layout.pitch;
            const SCALAR* from = corner + first * cols + slot * PACK;
            for (int row = first; row < tall; row += beside, place += beside * layout.pitch, from += beside * cols) {
                const int skew = place % PACK;
                if (static_cast<int>(slot * PACK) - skew >= wide) continue;
                copy<GUARDED>(packs + place / PACK + slot, from - skew, x, end);
            }
        }
    }
    __device__ __forceinline__ void fill(const SCALAR* x, long long rows, long long cols, const Layout& layout) const {
        const SCALAR* const end = x + rows * cols;
        if (corner - past >= x && corner + (tall - 1) * cols + wide + PACK <= end) {
            fill_all<false>(x, end, cols, layout);
        } else {
            fill_all<true>(x, end, cols, layout);
        }
    }
};

// One element in the low bits, by its address in shared memory.
__device__ __forceinline__ unsigned load_element(unsigned address) {
    if constexpr (PACK == 8) {
        unsigned short element;
        asm volatile("ld.shared.u16 %0, [%1];" : "=h"(element) : "r"(address));
        return element;
    } else {
        unsigned element;
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(element) : "r"(address));
        return element;
    }
}

// The packs of y that a thread makes, all of one shape.
struct Packs {
    unsigned address[PACK];  // of the elements of the first one, from number `turn` on
    unsigned turn;

    // place(number): where an element lies in the tile. Where a thread TURNS, it begins with an element of its own, so
    // that lanes of a warp, whose packs follow one another in a column, fall in different banks: the pitch's odd part is
    // its own inverse modulo 8.
    template <bool TURNS, typename Place>
    static __device__ __forceinline__ Packs of(const Bits* packs, unsigned pitch, const Place& place) {
        Packs found;
        const unsigned twos = pitch % 2 ? 0 : pitch % 4 ? 1 : pitch % 8 ? 2 : 3, lane = threadIdx.x % WARP;
        const unsigned begin = (lane >> (3 - twos)) * (twos ? 1 : PACK / 4);
        found.turn = TURNS ? (begin - (place(0) >> twos)) * (pitch >> twos) % PACK : 0;
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            const unsigned bytes = place((found.turn + i) % PACK) * static_cast<unsigned>(sizeof(SCALAR));
            found.address[i] = shared_address(packs) + bytes;
        }
        return found;
    }

    // The one so many bytes further in shared memory.
    template <bool TURNS>
    __device__ __forceinline__ Pack at(unsigned offset) const {
        unsigned element[PACK], word[4], turned[4];
#pragma unroll
        for (int i = 0; i < PACK; ++i) element[i] = load_element(address[i] + offset);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            word[i] = PACK == 8 ? __byte_perm(element[i * PACK / 4], element[i * PACK / 4 + 1], 0x5410) : element[i];
        }
        if (TURNS) {
            // Element i is number i + turn.
            const unsigned words = turn * 4 / PACK, bits = PACK == 8 ? turn % 2 * 16 : 0;
#pragma unroll
            for (int i = 0; i < 4; ++i) turned[i] = words & 1 ? word[(i + 3) % 4] : word[i];
#pragma unroll
            for (int i = 0; i < 4; ++i) word[i] = words & 2 ? turned[(i + 2) % 4] : turned[i];
#pragma unroll
            for (int i = 0; i < 4; ++i) turned[i] = __funnelshift_l(word[(i + 3) % 4], word[i], bits);
        }
        const unsigned* const whole = TURNS ? turned : word;
        const Bits bits = {whole[0], whole[1], whole[2], whole[3]};
        return reinterpret_cast<const Pack&>(bits);
    }
};

// Whole columns: packs of y follow one another, and `beside` times PACK columns further they have the same shape.
template <bool TURNS>
__device__ __forceinline__ void transpose_columns(
    const SCALAR* x, SCALAR* y, long long rows, long long cols, const Layout& layout
) {
    extern __shared__ __align__(16) Bits pitched_packs[];
    const PitchedTile<Part::COLUMNS> tile(x, pitched_packs, rows, cols, layout);
    tile.fill(x, rows, cols, layout);
    const unsigned first = threadIdx.x * PACK, step = tile.tall * layout.beside * PACK, count = tile.wide * tile.tall;
    const auto place = [&](unsigned index) {
        const unsigned col = layout.along.quotient(index), row = layout.along.remainder(index, col);
        return tile.past + row * layout.pitch + col;
    };
    const Packs packs =
        Packs::of<TURNS>(pitched_packs, layout.pitch, [&](unsigned number) { return place(first + number); });
    wait_for_copies();
    if (first >= step) return;
    SCALAR* const to = y + tile.left * rows;
    unsigned index = first;
    for (unsigned offset = 0; index + PACK <= count; index += step) {
        store_whole_pack(to + index, packs.at<TURNS>(offset));
        offset += layout.beside * PACK * sizeof(SCALAR);
    }
    // The end of y.
    const SCALAR* const elements = reinterpret_cast<const SCALAR*>(pitched_packs);
    for (const unsigned end = min(index + PACK, count); index < end; ++index) to[index] = elements[place(index)];
}

// A tile, or whole rows. It has every pack of y that begins in it.
template <Part PART>
__device__ __forceinline__ void transpose_pitched(
    const SCALAR* x, SCALAR* y, long long rows, long long cols, const Layout& layout
) {
    extern __shared__ __align__(16) Bits pitched_packs[];
    const PitchedTile<PART> tile(x, pitched_packs, rows, cols, layout);
    tile.fill(x, rows, cols, layout);
    const unsigned tall = tile.tall, wide = tile.wide, packs = layout.height / PACK, pitch = layout.pitch;
    SCALAR* const corner = y + tile.left * rows + tile.top;
    const unsigned past_of_y = bytes_past(corner) / sizeof(SCALAR), row_length = static_cast<unsigned>(rows);
    const auto head_of = [&](unsigned col) { return (0u - past_of_y - col * row_length) % PACK; };
    const auto row_of_y = [&](unsigned col) { return corner + col * static_cast<unsigned long long>(rows); };
    const auto place = [&](unsigned row, unsigned col) { return tile.past + row * pitch + col; };

    // A pack of every so-manyth row of y, or every so-manyth pack of a row of y.
    const unsigned col = layout.along.quotient(threadIdx.x), pack = layout.along.remainder(threadIdx.x, col);
    const unsigned row = head_of(col) + pack * PACK;
    const Packs of_thread =
        Packs::of<true>(pitched_packs, pitch, [&](unsigned number) { return place(row + number, col); });
    int left = 0, step = layout.beside;
    if (pack < packs && row + PACK <= tall) {
        if (PART == Part::ROWS && col < wide) left = min(packs - pack, (tall - row) / PACK);
        if (PART == Part::TILE && col < layout.beside) left = static_cast<int>(wide) - static_cast<int>(col);
    }
    const unsigned bytes = step * (PART == Part::ROWS ? PACK * pitch : 1) * sizeof(SCALAR);
    const long long elements_of_y = step * (PART == Part::ROWS ? PACK : rows);
    SCALAR* to = row_of_y(col) + row;
    wait_for_copies();
    for (unsigned offset = 0; left > 0; left -= step, offset += bytes, to += elements_of_y) {
        store_whole_pack(to, of_thread.at<true>(offset));
    }

    // What lies before the first pack of a row of y and behind its last one, an element a lane.
    const bool is_first = tile.top == 0, is_last = rows - tile.top < layout.height + PACK;
    if (!is_first && !is_last) return;
    const SCALAR* const elements = reinterpret_cast<const SCALAR*>(pitched_packs);
    for (unsigned item = threadIdx.x; item < wide * 2 * PACK; item += blockDim.x) {
        const unsigned col = item / (2 * PACK), number = item % (2 * PACK), head = head_of(col);
        unsigned row = number;
        bool has = is_first && row < head;
        if (number >= PACK) {
            const unsigned whole = tall > head ? (tall - head) / PACK : 0;
            row = head + whole * PACK + number - PACK;
            has = is_last && whole < packs;
        }
        if (has && row < tall) row_of_y(col)[row] = elements[place(row, col)];
    }
}
