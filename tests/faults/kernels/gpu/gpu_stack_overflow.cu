__device__ __noinline__ float deep(volatile long long n) {
    volatile float kept[256];
    kept[n % 256] = n;
    return n < 0 ? kept[1] : deep(n + 1) + kept[n % 256];
}

extern "C" __global__ void fault(const float* x, float* y, long long n) {
    const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
    if (i == 0) y[0] = deep(n);
}
