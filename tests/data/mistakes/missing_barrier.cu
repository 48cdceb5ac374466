// Sums the elements of each block of 256.
__global__ void sum_kernel(const float* x, float* out, long long n) {
    __shared__ float part[256];
    long long i = blockIdx.x * 256LL + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];  // the mistake: no barrier
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
