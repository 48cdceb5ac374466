extern "C" __global__ void fault(const float* x, float* y, long long n) {
    const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
    if (blockIdx.x == 0)
        while (*reinterpret_cast<volatile float*>(y + n - 1) != 12345.0f) {
        }
}
