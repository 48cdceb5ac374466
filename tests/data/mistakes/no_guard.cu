__global__ void negate_kernel(const float* x, float* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    out[i] = -x[i];  // the mistake: no if (i < n)
}
