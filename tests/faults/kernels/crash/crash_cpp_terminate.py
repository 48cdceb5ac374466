"""C++ code throws and nobody catches: std::terminate.

needs: cpu
right: worker lost, launch error
"""

import ctypes

cpp = ctypes.CDLL("libstdc++.so.6")


def run(x):
    cpp._ZSt9terminatev()
