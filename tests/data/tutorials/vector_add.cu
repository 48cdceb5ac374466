// Vector addition as a first program in CUDA: a bare kernel, and a main that tries it.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define N 1000000

__global__ void vectorAdd(const float *A, const float *B, float *C, int numElements) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;

    if (i < numElements) {
        C[i] = A[i] + B[i];
    }
}

int main(void) {
    size_t size = N * sizeof(float);
    float *h_A = (float *)malloc(size);
    float *d_A = NULL, *d_B = NULL, *d_C = NULL;
    cudaMalloc((void **)&d_A, size);
    cudaMalloc((void **)&d_B, size);
    cudaMalloc((void **)&d_C, size);
    cudaMemcpy(d_A, h_A, size, cudaMemcpyHostToDevice);
    int threadsPerBlock = 256;
    int blocksPerGrid = (N + threadsPerBlock - 1) / threadsPerBlock;
    vectorAdd<<<blocksPerGrid, threadsPerBlock>>>(d_A, d_B, d_C, N);
    printf("Done\n");
    cudaFree(d_A);
    free(h_A);
    return 0;
}
