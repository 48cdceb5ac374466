// The pages of a sequence. Table and lengths are data: a page that is not in the pool is not followed.
#pragma once

#include "shared/common.cuh"

__device__ __forceinline__ float not_a_number() { return __int_as_float(0x7fffffff); }

// 2^(from - to), which makes a sum relative to `from` one relative to `to`; nothing was summed at -inf.
__device__ __forceinline__ float relative_power(float from, float to) {
    return from == NEGATIVE_INFINITY ? 0.0f : fast_exp2(from - to);
}

struct Pages {
    const int* table;  // of this sequence
    int pool;          // pages that there are
    int page;          // keys of a page
    int length;        // keys of the sequence, none beyond its row of the table

    __device__ __forceinline__
    Pages(const int* table, long long length, long long pool, long long pages, long long page)
        : table(table), pool(static_cast<int>(pool)), page(static_cast<int>(page)),
          length(static_cast<int>(min(max(length, 0ll), pages * page))) {}

    // The row of the pool, of `page` rows a page, where a key lies; -1 where the table names no page.
    __device__ __forceinline__ int row(int key) const {
        const int number = key / page, named = table[number];
        const bool is_page = static_cast<unsigned>(named) < static_cast<unsigned>(pool);
        return is_page ? named * page + (key - number * page) : -1;
    }
};
