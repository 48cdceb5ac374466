// Packs of 16 bytes at any alignment: where rows begin anywhere, but a thread keeps the same columns of every row.
//
// A pack that does not begin on 16 bytes lies in two words of 16 bytes that do. A load takes both, the second of
// which its neighbour lane takes too, and so finds in L1, and shifts the pack out of them; a store is put together
// from the pack and that of the lane before. Two instructions an element, and every access but the first and the
// last of a warp moves 16 bytes, where single elements would be 8 accesses of 2.
#pragma once

#include "shared/rows.cuh"

// 16 of the 32 bytes of `low` and `high`, from byte `bytes` on, which is less than 16.
__device__ __forceinline__ Bits bytes_from(const Bits& low, const Bits& high, unsigned bytes) {
    unsigned word[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int i = 0; i < 6; ++i) word[i] = bytes & 8 ? word[i + 2] : word[i];
#pragma unroll
    for (int i = 0; i < 5; ++i) word[i] = bytes & 4 ? word[i + 1] : word[i];
    if (sizeof(SCALAR) < 4) {
        const unsigned bits = bytes % 4 * 8;
#pragma unroll
        for (int i = 0; i < 4; ++i) word[i] = __funnelshift_r(word[i], word[i + 1], bits);
    }
    return {word[0], word[1], word[2], word[3]};
}

__device__ __forceinline__ unsigned bytes_past(const SCALAR* address) {
    return static_cast<unsigned>(reinterpret_cast<unsigned long long>(address) & 15);
}

// Elements `first` to `end` of a pack.
__device__ __forceinline__ void store_elements(SCALAR* to, const Bits& bits, int first, int end) {
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
        if (i >= first && i < end) to[i] = reinterpret_cast<const Pack&>(bits).element[i];
    }
}

// Element by element; zeros from `count` on.
__device__ __forceinline__ Bits load_elements(const SCALAR* from, int count) {
    Bits bits = {};
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
        if (i < count) reinterpret_cast<Pack&>(bits).element[i] = from[i];
    }
    return bits;
}

// The pack at an aligned address near `from` to `end`: where it is not all between them, the elements that are.
__device__ __forceinline__ Bits load_near(const SCALAR* address, const SCALAR* from, const SCALAR* end) {
    if (address >= from && address + PACK <= end) return __ldg(reinterpret_cast<const Bits*>(address));
    Bits bits = {};
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
        if (address + i >= from && address + i < end) reinterpret_cast<Pack&>(bits).element[i] = address[i];
    }
    return bits;
}

// Whole words that a short row of any alignment lies in: lanes take one each, and leave out what is of other rows.
struct ShortRow {
    const SCALAR *row, *from, *end;  // the row, and the tensor that it is of
    int past, cols;

    __device__ __forceinline__ ShortRow(const SCALAR* all, long long row, long long rows, long long cols)
        : row(all + row * cols), from(all), end(all + rows * cols), cols(static_cast<int>(cols)) {
        past = static_cast<int>(bytes_past(this->row) / sizeof(SCALAR));
    }
    __device__ __forceinline__ int packs() const { return (past + cols + PACK - 1) / PACK; }
    __device__ __forceinline__ Bits load(int pack) const { return load_near(row + pack * PACK - past, from, end); }

    // With elements `outside` in place of those that are not the row's.
    __device__ __forceinline__ Bits load(int pack, float outside) const {
        Bits bits = load(pack);
        const int first = pack * PACK - past;
        if (first < 0 || first + PACK > cols) {
#pragma unroll
            for (int i = 0; i < PACK; ++i) {
                const bool has = first + i >= 0 && first + i < cols;
                if (!has) from_float(outside, reinterpret_cast<Pack&>(bits).element[i]);
            }
        }
        return bits;
    }
};

// The first `count` elements of a pack at any address, that of the next lane 16 bytes further. By whole warps, whether
// or not their lanes have something to store.
__device__ __forceinline__ void store_shifted(SCALAR* to, const Bits& bits, int count) {
    const int past = static_cast<int>(bytes_past(to) / sizeof(SCALAR));  // the same in all lanes
    if (past == 0) {
        if (count == PACK) *reinterpret_cast<Bits*>(to) = bits;
        else store_elements(to, bits, 0, count);
        return;
    }
    const int lane = threadIdx.x % WARP;
    const Bits before = {__shfl_up_sync(WHOLE_WARP, bits.x, 1), __shfl_up_sync(WHOLE_WARP, bits.y, 1),
                         __shfl_up_sync(WHOLE_WARP, bits.z, 1), __shfl_up_sync(WHOLE_WARP, bits.w, 1)};
    // The word that begins in the pack of the lane before and ends in this one.
    const bool joined = lane > 0 && count >= PACK - past;
    const bool next_joined = __shfl_down_sync(WHOLE_WARP, static_cast<int>(joined), 1) && lane < WARP - 1;
    if (joined) *reinterpret_cast<Bits*>(to - past) = bytes_from(before, bits, 16 - past * sizeof(SCALAR));
    else store_elements(to, bits, 0, min(count, PACK - past));
    if (!next_joined) store_elements(to, bits, PACK - past, count);
}

// A thread's pack of columns, the same in every row. The lanes of a warp have packs side by side. SHIFTED where rows
// do not begin on 16 bytes, all in the same or each in another way.
template <bool SHIFTED>
struct Columns {
    long long col;  // the first one
    int count;      // of them in the row: PACK, fewer at its end, 0 beyond
    bool whole;     // for loads: both words lie in the row

    __device__ __forceinline__ Columns(long long col, long long end) : col(col) {
        const long long left = end - col;
        count = left >= PACK ? PACK : left > 0 ? static_cast<int>(left) : 0;
        whole = SHIFTED ? left >= 2 * PACK : count == PACK;
    }

    // Where `whole`.
    __device__ __forceinline__ Bits load_whole(const SCALAR* row) const {
        if (!SHIFTED) return __ldg(reinterpret_cast<const Bits*>(row + col));
        const unsigned bytes = bytes_past(row + col);
        const char* first = reinterpret_cast<const char*>(row + col) - bytes;
        const Bits low = __ldg(reinterpret_cast<const Bits*>(first));
        const Bits high = __ldg(reinterpret_cast<const Bits*>(first) + 1);
        return bytes_from(low, high, bytes);
    }

    __device__ __forceinline__ Bits load(const SCALAR* row) const {
        return whole ? load_whole(row) : load_elements(row + col, count);
    }

    // By whole warps where SHIFTED.
    __device__ __forceinline__ void store(SCALAR* row, const Bits& bits) const {
        if (SHIFTED) store_shifted(row + col, bits, count);
        else if (count == PACK) *reinterpret_cast<Bits*>(row + col) = bits;
        else store_elements(row + col, bits, 0, count);
    }
};
