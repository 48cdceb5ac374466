#pragma once
// A product as a series on fast SGEMM begins it: a header with one kernel, alpha and beta as BLAS has them.

#include <cstdio>
#include <cstdlib>
#include <cublas_v2.h>
#include <cuda_runtime.h>

/*
Matrix sizes:
MxK * KxN = MxN
*/

__global__ void sgemm_naive(int M, int N, int K, float alpha, const float *A,
                            const float *B, float beta, float *C) {
  const uint x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint y = blockIdx.y * blockDim.y + threadIdx.y;

  if (x < M && y < N) {
    float sum = 0.0;
    for (int i = 0; i < K; ++i) {
      sum += A[x * K + i] * B[i * N + y];
    }
    C[x * N + y] = alpha * sum + beta * C[x * N + y];
  }
}
