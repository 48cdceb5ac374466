// What a chunk of the gated delta rule needs beside the state, by the warpgroup that also has TMA bring it.
#pragma once

#include "gated_delta_rule/chunks.cuh"

template <int DIM>
__device__ __forceinline__ void prepare(
    const Room<DIM>& room, const Segment& segment, const CUtensorMap& q, const CUtensorMap& k, const CUtensorMap& v,
    const float* g, const float* beta
) {
    constexpr int TILE = Room<DIM>::TILE, STAGE = Room<DIM>::STAGE, CONSUMERS = Room<DIM>::CONSUMERS;
    const int warp = __shfl_sync(WHOLE_WARP, threadIdx.x % WARPGROUP / WARP, 0);
    Scratch& scratch = *room.scratch;
    const auto bring = [&](int chunk) {
        const int turn = chunk - segment.first, stage = turn % STAGES;
        const bool reads = chunk >= segment.begin;
        unsigned char* const to = room.stages + stage * STAGE;
        const int in_keys = segment.head * DIM, in_values = segment.value_head * DIM;
        const int token = chunk * CHUNK, batch = segment.batch;
        wait_for(room.empty + stage, (turn / STAGES & 1) ^ 1);
        arrive_and_expect(room.full + stage, reads ? STAGE : 2 * TILE);
#pragma unroll
        for (int band = 0; band < CONSUMERS; ++band) {
            copy_tokens(to + band * BAND, k, in_keys + band * 64, token, batch, room.full + stage);
            if (reads)
                copy_tokens(to + 2 * TILE + band * BAND, q, in_keys + band * 64, token, batch, room.full + stage);
            copy_tokens(to + TILE + band * BAND, v, in_values + band * 64, token, batch, room.full + stage);
        }
    };
    float gate[2], part[2];  // of two tokens a lane of the first warp
    const auto load_gates = [&](int chunk, int lane) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const long long token = static_cast<long long>(chunk) * CHUNK + 2 * lane + i;
            const long long at = (1ll * segment.batch * segment.seq + token) * segment.value_heads + segment.value_head;
            gate[i] = token < segment.seq ? g[at] : 0.0f;
            part[i] = token < segment.seq ? beta[at] : 0.0f;
        }
    };
    int brought = segment.first;
    if (warp == 0) load_gates(segment.first, threadIdx.x % WARP);
    for (int chunk = segment.first; chunk < segment.end; ++chunk) {
        const int turn = chunk - segment.first, stage = turn % STAGES, buffer = turn % BUFFERS;
        int lane = lane_again();
        const int thread = warp * WARP + lane;
        const unsigned char *const of_k = room.stages + stage * STAGE, *const of_q = of_k + 2 * TILE;
        unsigned char* const solved = room.buffers + buffer * 2 * BAND;
#pragma unroll 1
        for (; brought < min(chunk + 2, segment.end); ++brought) {
            if (thread == 0) bring(brought);
        }
        __syncwarp();
        wait_for(room.full + stage, turn / STAGES & 1);
        float similar[32], asked[32];
        begin_products();
#pragma unroll
        for (int i = 0; i < DIM / 16; ++i) {
            const int at = (i / 4 * BAND + i % 4 * 32) / 16;
            const unsigned long long keys = swizzled_tile(of_k, ATOM, 0) + at;
            const unsigned long long queries = swizzled_tile(of_q, ATOM, 0) + at;
            if (i == 0) {
                begin_multiply(similar, keys, keys);
                begin_multiply(asked, queries, keys);
            } else {
                multiply(similar, keys, keys, true);
                multiply(asked, queries, keys, true);
            }
        }
        commit_products();
        {
            // The length of a token's key, or of its query, by a thread.
            const int token = thread % CHUNK;
            const unsigned char* const from = (thread < CHUNK ? of_k : of_q) + token * ROW;
            float square = EPSILON;
#pragma unroll 2
            for (int i = 0; i < DIM / 8; ++i) {
                const uint4 four = *reinterpret_cast<const uint4*>(from + i / 8 * BAND + ((i + token) & 7) * 16);
                const unsigned pairs[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
                for (int p = 0; p < 4; ++p) {
                    const float2 two = unpacked(pairs[p]);
                    square += two.x * two.x + two.y * two.y;
                }
            }
            scratch.units[thread / CHUNK][token] = rsqrtf(square) * (thread < CHUNK ? 1.0f : rsqrtf(float(DIM)));
        }
        if (warp == 0) {
            float total = gate[0] + gate[1];
#pragma unroll
            for (int apart = 1; apart < WARP; apart *= 2) {
                const float before = __shfl_up_sync(WHOLE_WARP, total, apart);
                if (lane >= apart) total += before;
            }
            scratch.gates[2 * lane] = total - gate[1];
            scratch.gates[2 * lane + 1] = total;
            scratch.parts[2 * lane] = part[0];
            scratch.parts[2 * lane + 1] = part[1];
        }
        wait_for(room.taken + buffer, (turn / BUFFERS & 1) ^ 1);
        wait_for_products<0>();
        pin(similar);
        pin(asked);
        meet_preparers();
        lane = lane_again();
        const int row = warp * BLOCK + lane / 4;
        const float gates[2] = {scratch.gates[row] * LOG2_E, scratch.gates[row + 8] * LOG2_E};
        const float of_key[2] = {scratch.units[0][row] * scratch.parts[row],
                                 scratch.units[0][row + 8] * scratch.parts[row + 8]};
        const float of_query[2] = {scratch.units[1][row], scratch.units[1][row + 8]};
#pragma unroll
        for (int first = 0; first < 8; first += 2) {
            unsigned a[2][2], scores[2][2];
#pragma unroll
            for (int next = 0; next < 2; ++next) {
                const int tile = first + next, column = tile * 8 + lane % 4 * 2;
                const float2 gate_of = *reinterpret_cast<const float2*>(scratch.gates + column);
                const float2 unit = *reinterpret_cast<const float2*>(scratch.units[0] + column);
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int i = row + half * 8, at = tile * 4 + half * 2;
                    // Above the diagonal the exponent would be positive and may overflow.
                    const float left = i >= column ? fast_exp2(gates[half] - gate_of.x * LOG2_E) * unit.x : 0.0f;
                    const float right = i > column ? fast_exp2(gates[half] - gate_of.y * LOG2_E) * unit.y : 0.0f;
                    const float below[2] = {
                        i > column ? similar[at] * left * of_key[half] : 0.0f,
                        i > column + 1 ? similar[at + 1] * right * of_key[half] : 0.0f,
                    };
                    a[next][half] = packed_half(below[0], below[1]);
                    scores[next][half] = packed(
                        i >= column ? asked[at] * left * of_query[half] : 0.0f,
                        i > column ? asked[at + 1] * right * of_query[half] : 0.0f
                    );
                    if (first / 2 == warp) {
                        float* const to =
                            scratch.columns[warp] + (column - warp * BLOCK) * STRIDE + lane / 4 + half * 8;
                        to[0] = below[0];
                        to[STRIDE] = below[1];
                    }
                }
            }
            const int to = warp * BLOCK + lane % 16, column = (first + lane / 16) * 8;
            store_matrices(at_row(scratch.below, to, column), {a[0][0], a[0][1], a[1][0], a[1][1]});
            store_matrices(at_row(solved + BAND, to, column), {scores[0][0], scores[0][1], scores[1][0], scores[1][1]});
        }
        if (thread < CHUNK) {
            float* const factors = room.factors + buffer * FACTORS;
            const float mine = scratch.gates[thread], last = scratch.gates[CHUNK - 1], unit = scratch.units[0][thread];
            const float kept = fast_exp2(mine * LOG2_E);
            factors[thread] = kept * unit;
            factors[CHUNK + thread] = kept * scratch.units[1][thread];
            factors[2 * CHUNK + thread] = fast_exp2((last - mine) * LOG2_E) * unit;
            if (thread == 0) factors[3 * CHUNK] = fast_exp2(last * LOG2_E);
        }
        if (warp == 0) load_gates(chunk + 1, lane);
        invert(scratch, solved, warp, lane_again());
        publish_writes();
        __syncwarp();
        if (arrives_for_warp(lane)) arrive(room.prepared + buffer);
        meet_preparers();  // what is read of the scratch is read
    }
}
