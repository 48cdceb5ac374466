# The square of a matrix as a lecture of GPU MODE has it in Numba: a kernel that a script launches on arrays.
import math

import numpy as np
from numba import cuda


@cuda.jit
def square_matrix_kernel(matrix, result):
    row, col = cuda.grid(2)
    if row < matrix.shape[0] and col < matrix.shape[1]:
        result[row, col] = matrix[row, col] ** 2


matrix = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], dtype=np.float32)
d_matrix = cuda.to_device(matrix)
d_result = cuda.device_array(matrix.shape, dtype=np.float32)
threads_per_block = (16, 16)
blocks_per_grid = tuple(math.ceil(size / 16) for size in matrix.shape)
square_matrix_kernel[blocks_per_grid, threads_per_block](d_matrix, d_result)
print(d_result.copy_to_host())
