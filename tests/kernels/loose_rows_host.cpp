// Runs wgmma_loose_rows.cuh on the host, a thread of a block at a time, and tells whether C is what it should be.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define __device__
#define __forceinline__ inline
using std::max;
using std::min;
struct float2 {
    float x, y;
};
static float2 make_float2(float x, float y) { return {x, y}; }
static struct {
    int x;
} threadIdx;
constexpr int WARP = 32, WARPGROUP = 128, BOX = 8192;
static void from_float(float value, SCALAR& out) { out = static_cast<SCALAR>(value); }
struct uint4 {
    unsigned char bytes[16];
    uint4& operator=(const uint4& from) {
        const auto is_odd = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 != 0; };
        if (is_odd(this) || is_odd(&from)) std::puts("a word that begins amid 16 bytes"), std::exit(1);
        std::memcpy(bytes, from.bytes, 16);
        return *this;
    }
};
struct Loose {
    SCALAR* c = nullptr;
    unsigned m = 0, n = 0;
};

#include "loose_rows.h"

struct Finish {
    float2 operator()(float2 sums, int) const { return sums; }
};

// All threads fill before any stores, the last thread first.
template <int FIRST, int COUNT, class Rows>
void store(std::vector<Rows>& threads, const std::vector<std::vector<float>>& sums, int column0) {
    float own[COUNT];
    const int count = static_cast<int>(threads.size());
    for (int i = 0; i < count; ++i) {
        threadIdx.x = i;
        std::copy(sums[i].begin(), sums[i].end(), own);
        threads[i].template fill<FIRST>(own, column0, Finish{});
    }
    for (threadIdx.x = count - 1; threadIdx.x >= 0; --threadIdx.x) {
        threads[threadIdx.x].template store<FIRST, COUNT * 2 - FIRST>();
    }
    if constexpr (FIRST + Rows::ROWS < COUNT * 2) store<FIRST + Rows::ROWS, COUNT>(threads, sums, column0);
}

static float value_of(int row, int column) { return static_cast<float>((row * 131 + column * 7) % 30000); }

template <int CONSUMERS, int AT_ONCE, int BLOCK_M>
bool is_right(int m, int n) {
    using Rows = LooseRows<CONSUMERS, CONSUMERS * AT_ONCE * BOX>;
    constexpr int COUNT = BLOCK_M / 2, GUARD = 64;
    std::vector<uint64_t> of_c((m * n + 2 * GUARD) * sizeof(SCALAR) / 8 + 2),
        of_buffers(CONSUMERS * AT_ONCE * BOX / 8 + 2);
    const auto whole = [](auto& room) { return (reinterpret_cast<std::uintptr_t>(room.data()) + 15) / 16 * 16; };
    auto* const first = reinterpret_cast<SCALAR*>(whole(of_c));
    std::fill(first, first + m * n + 2 * GUARD, static_cast<SCALAR>(31000));
    const Loose loose{first + GUARD, static_cast<unsigned>(m), static_cast<unsigned>(n)};
    for (int row0 = 0; row0 < m; row0 += BLOCK_M) {
        for (int column0 = 0; column0 < n; column0 += CONSUMERS * 64) {
            std::vector<Rows> threads;
            std::vector<std::vector<float>> sums;
            for (int i = 0; i < CONSUMERS * WARPGROUP; ++i) {
                threadIdx.x = i;
                threads.emplace_back(reinterpret_cast<unsigned char*>(whole(of_buffers)), loose, row0, column0);
                const int column = column0 + i / WARP * 16 + i % WARP / 4;
                std::vector<float> own;
                for (int j = 0; j < COUNT; ++j)
                    own.push_back(value_of(row0 + j / 4 * 8 + i % 4 * 2 + j % 2, column + j % 4 / 2 * 8));
                sums.push_back(own);
            }
            store<0, COUNT>(threads, sums, column0);
        }
    }
    for (int i = -GUARD; i < m * n + GUARD; ++i) {
        const bool is_c = i >= 0 && i < m * n;
        const auto expected = static_cast<SCALAR>(is_c ? value_of(i / n, i % n) : 31000.0f);
        if (loose.c[i] != expected) return std::printf("%d of %d x %d by %d\n", i, m, n, BLOCK_M), false;
    }
    return true;
}

int main() {
    for (int n : {1, 7, 66, 129, 191, 194, 203, 390}) {
        for (int m : {1, 75}) {
            if (!is_right<3, 1, 96>(m, n) || !is_right<2, 2, 208>(m, n) || !is_right<1, 2, 24>(m, n)) return 1;
        }
    }
}
