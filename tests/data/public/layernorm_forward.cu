// Layer norm as llm.c tries its kernels: outputs first, a launcher a kernel, and a main that checks and times.
//
// nvcc -O3 --use_fast_math layernorm_forward.cu -o layernorm_forward
#include <assert.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"

void layernorm_forward_cpu(float* out, float* mean, float* rstd, const float* inp, const float* weight,
                           const float* bias, int N, int C) {
    for (int n = 0; n < N; n++) {
        const float* x = inp + n * C;
        float m = 0.0f, v = 0.0f;
        for (int i = 0; i < C; i++) { m += x[i]; }
        m /= C;
        for (int i = 0; i < C; i++) { v += (x[i] - m) * (x[i] - m); }
        float s = 1.0f / sqrtf(v / C + 1e-5f);
        for (int i = 0; i < C; i++) { out[n * C + i] = s * (x[i] - m) * weight[i] + bias[i]; }
        mean[n] = m;
        rstd[n] = s;
    }
}

// a thread a row
__global__ void layernorm_forward_kernel1(float* out, float* mean, float* rstd, const float* inp,
                                          const float* weight, const float* bias, int N, int C) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= N) { return; }
    const float* x = inp + (size_t)idx * C;
    float m = 0.0f, v = 0.0f;
    for (int i = 0; i < C; i++) { m += x[i]; }
    m /= C;
    for (int i = 0; i < C; i++) { v += (x[i] - m) * (x[i] - m); }
    float s = rsqrtf(v / C + 1e-5f);
    for (int i = 0; i < C; i++) { out[(size_t)idx * C + i] = s * (x[i] - m) * weight[i] + bias[i]; }
    mean[idx] = m;
    rstd[idx] = s;
}

// a warp a row
__global__ void layernorm_forward_kernel3(float* __restrict__ out, float* __restrict__ mean,
                                          float* __restrict__ rstd, const float* __restrict__ inp,
                                          const float* __restrict__ weight, const float* __restrict__ bias,
                                          int N, int C) {
    namespace cg = cooperative_groups;
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int idx = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (idx >= N) { return; }
    const float* x = inp + (size_t)idx * C;
    float sum = 0.0f;
    for (int i = warp.thread_rank(); i < C; i += warp.size()) { sum += x[i]; }
    float m = cg::reduce(warp, sum, cg::plus<float>{}) / C;
    if (warp.thread_rank() == 0 && mean != nullptr) { __stcs(mean + idx, m); }
    sum = 0.0f;
    for (int i = warp.thread_rank(); i < C; i += warp.size()) { sum += (x[i] - m) * (x[i] - m); }
    float s = rsqrtf(cg::reduce(warp, sum, cg::plus<float>{}) / C + 1e-5f);
    if (warp.thread_rank() == 0 && rstd != nullptr) { __stcs(rstd + idx, s); }
    for (int c = warp.thread_rank(); c < C; c += warp.size()) {
        __stcs(out + (size_t)idx * C + c, s * (__ldcs(x + c) - m) * weight[c] + bias[c]);
    }
}

void layernorm_forward1(float* out, float* mean, float* rstd, const float* inp, const float* weight,
                        const float* bias, int N, int C, const int block_size) {
    const int grid_size = ceil_div(N, block_size);
    layernorm_forward_kernel1<<<grid_size, block_size>>>(out, mean, rstd, inp, weight, bias, N, C);
    cudaCheck(cudaGetLastError());
}

void layernorm_forward3(float* out, float* mean, float* rstd, const float* inp, const float* weight,
                        const float* bias, int N, int C, const int block_size) {
    assert(block_size % 32 == 0);
    const int grid_size = ceil_div(N * 32, block_size);
    layernorm_forward_kernel3<<<grid_size, block_size>>>(out, mean, rstd, inp, weight, bias, N, C);
    cudaCheck(cudaGetLastError());
}

void layernorm_forward(int kernel_num, float* out, float* mean, float* rstd, const float* inp,
                       const float* weight, const float* bias, int N, int C, const int block_size) {
    switch (kernel_num) {
        case 1: layernorm_forward1(out, mean, rstd, inp, weight, bias, N, C, block_size); break;
        case 3: layernorm_forward3(out, mean, rstd, inp, weight, bias, N, C, block_size); break;
        default: printf("Invalid kernel number\n"); exit(1);
    }
}

int main(int argc, const char** argv) {
    int kernel_num = argc > 1 ? atoi(argv[1]) : 1;
    float *d_out, *d_mean, *d_rstd, *d_inp, *d_weight, *d_bias;
    cudaCheck(cudaMalloc(&d_out, 8192 * 768 * sizeof(float)));
    cudaCheck(cudaMalloc(&d_mean, 8192 * sizeof(float)));
    cudaCheck(cudaMalloc(&d_rstd, 8192 * sizeof(float)));
    cudaCheck(cudaMalloc(&d_inp, 8192 * 768 * sizeof(float)));
    cudaCheck(cudaMalloc(&d_weight, 768 * sizeof(float)));
    cudaCheck(cudaMalloc(&d_bias, 768 * sizeof(float)));
    layernorm_forward(kernel_num, d_out, d_mean, d_rstd, d_inp, d_weight, d_bias, 8192, 768, 256);
    return 0;
}
