// Rows of 8-bit elements that begin anywhere, along k: into shared memory by words of 16 bytes as they lie, and from there 4
// elements at a time.
#pragma once

#include "shared/ampere.cuh"
#include "shared/hopper.cuh"

constexpr int BLOCK_K = 128;  // of k, of a warp in a step

// Of four bytes the first `count`.
__device__ __forceinline__ unsigned first_bytes(int count) {
    return count >= 4 ? ~0u : count <= 0 ? 0u : (1u << count * 8) - 1;
}

// Where a lane finds 4 neighbours along k of row lane / 4 and each eighth from there on. These begin alike but for 8 bytes.
struct Lane {
    int even, odd;  // of rows 16 apart, and of those between; in words of 4 bytes
    unsigned bits;  // by which they begin behind the word

    // Of row number `row`, `at` along k.
    template <bool AMID, int PITCH>
    __device__ __forceinline__ unsigned word(const unsigned char* stage, int row, int at) const {
        const auto* const from =
            reinterpret_cast<const unsigned*>(stage + (row % 2 ? odd : even) + row * 8 * PITCH + at);
        return AMID ? __funnelshift_r(from[0], from[1], bits) : from[0];
    }
};

__device__ __forceinline__ int bytes_past(const unsigned char* at) {
    return static_cast<int>(reinterpret_cast<unsigned long long>(at) % 16);
}

// For rows from `first_row` on of those of which the first begins at `from`, `k` bytes each: they lie from byte `place` of a
// stage on. For `along_k` and what follows of a step.
template <int PITCH>
__device__ __forceinline__ Lane lane_at(const unsigned char* from, long long k, int first_row, int place, int along_k) {
    const int lane = threadIdx.x % WARP, row = first_row + lane / 4;
    const int here = place + row * PITCH + along_k + lane % 4 * 4;
    const int even = bytes_past(from + row * k), odd = bytes_past(from + (row + 8) * k);
    return {here + even / 4 * 4, here + odd / 4 * 4, even % 4 * 8u};
}

// ROWS rows of a matrix from row0 on, STEP of k at once.
template <int ROWS, int STEP, int THREADS>
struct LooseRows {
    static constexpr int PITCH = STEP + 16;  // the 8 rows x 4 words that a warp reads lie in different banks
    static constexpr int BYTES = ROWS * PITCH, WORDS = STEP / 16;
    static constexpr int PASS = THREADS / WORDS, FILLS = (ROWS + PASS - 1) / PASS;
    static_assert(THREADS % WORDS == 0 && ROWS <= THREADS);
    const unsigned char* end;         // of the matrix
    const unsigned char *from, *own;  // the thread's first row, and the one whose last word it brings, where they begin
    long long pass;
    int row, word, inside;  // of rows

    __device__ __forceinline__
    LooseRows(const unsigned char* matrix, long long rows, long long k, long long row0, int first)
        : end(matrix + rows * k) {
        const int thread = threadIdx.x;
        row = thread / WORDS, word = thread % WORDS * 16;
        inside = static_cast<int>(min(rows - row0, static_cast<long long>(ROWS)));
        from = matrix + (row0 + row) * k + first;
        own = matrix + (row0 + thread) * k + first;
        pass = k * PASS;
    }

    // `done` of k are behind this step, `left` are not.
    __device__ __forceinline__ void fill(unsigned char* to, int done, int left) const {
        const int there = min(left, STEP);
        const unsigned char* at = from + done;
#pragma unroll
        for (int i = 0; i < FILLS; ++i, at += pass) {
            const int behind = bytes_past(at);
            if (row + i * PASS < inside && word < there + behind) {
                copy(to + (row + i * PASS) * PITCH + word, at - behind + word);
            }
        }
        const int behind = bytes_past(own + done);
        if (static_cast<int>(threadIdx.x) >= inside) return;
        unsigned char* const to_own = to + threadIdx.x * PITCH;
        const unsigned char* const first = own + done - behind;
        if (STEP < there + behind) copy(to_own + STEP, first + STEP);
        // Of the matrix's last word the bytes that are there.
        const unsigned char* const last = end - bytes_past(end);
        const int before_last =
            static_cast<int>(min(static_cast<long long>(last - first), static_cast<long long>(PITCH)));
        if (before_last < there + behind) {
            for (int i = 0; i < end - last; ++i) to_own[before_last + i] = last[i];
        }
    }

private:
    // Starts to copy a word, unless some of it lies behind the matrix. What lies in front of one is of the same memory, which
    // begins at many times 16 bytes.
    __device__ __forceinline__ void copy(unsigned char* to, const unsigned char* at) const {
        if (at + 16 <= end) copy_chunk(to, at, true);
    }
};

// The same by bulk copies, a row each.
template <int ROWS, int STEP>
struct BulkRows {
    static constexpr int PITCH = STEP + 16, BYTES = ROWS * PITCH;
    const unsigned char *from, *end;  // where the first row begins, and the matrix ends
    long long k;
    int inside;  // of rows

    __device__ __forceinline__
    BulkRows(const unsigned char* matrix, long long rows, long long k, long long row0, int first)
        : from(matrix + row0 * k + first), end(matrix + rows * k), k(k) {
        inside = static_cast<int>(min(rows - row0, static_cast<long long>(ROWS)));
    }

    // The bytes of a row that this thread has started to copy. Of the matrix's last word those that are there go one by one.
    __device__ __forceinline__ int fill(unsigned char* to, int row, int done, int left, Barrier* barrier) const {
        if (row >= inside) return 0;
        const unsigned char* const at = from + row * k + done;
        const int past = bytes_past(at), bytes = past + min(left, STEP);
        const unsigned char* const word = at - past;
        unsigned char* const here = to + row * PITCH;
        int whole = (bytes + 15) / 16 * 16;
        if (word + whole > end) {
            whole -= 16;
            for (int i = whole; i < bytes; ++i) here[i] = word[i];
        }
        if (whole > 0) copy_bytes(here, word, whole, barrier);
        return whole;
    }
};
