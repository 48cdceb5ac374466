// A mean of neighbours in an image of bytes, as a lecture of GPU MODE has it. load_inline puts the header of
// PyTorch in front of such a file, so that it has none.
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

__global__ void mean_filter_kernel(unsigned char* output, unsigned char* input, int width, int height, int radius) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int base = threadIdx.z * height * width;
    if (col < width && row < height) {
        int sum = 0;
        int pixels = 0;
        for (int y = row - radius; y <= row + radius; y += 1) {
            for (int x = col - radius; x <= col + radius; x += 1) {
                if (y >= 0 && y < height && x >= 0 && x < width) {
                    sum += input[base + y * width + x];
                    pixels += 1;
                }
            }
        }
        output[base + row * width + col] = (unsigned char)(sum / pixels);
    }
}

inline unsigned int cdiv(unsigned int a, unsigned int b) {
    return (a + b - 1) / b;
}

torch::Tensor mean_filter(torch::Tensor image, int radius) {
    assert(image.device().type() == torch::kCUDA);
    assert(image.dtype() == torch::kByte);
    const auto channels = image.size(0);
    const auto height = image.size(1);
    const auto width = image.size(2);
    auto result = torch::empty_like(image);
    dim3 threads_per_block(16, 16, channels);
    dim3 number_of_blocks(cdiv(width, threads_per_block.x), cdiv(height, threads_per_block.y));
    mean_filter_kernel<<<number_of_blocks, threads_per_block, 0, c10::cuda::getCurrentCUDAStream()>>>(
        result.data_ptr<unsigned char>(), image.data_ptr<unsigned char>(), width, height, radius);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return result;
}
