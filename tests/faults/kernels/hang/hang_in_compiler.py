"""torch.compile hangs while it traces.

needs: cpu
right: timeout
compiles: yes
as: compile
"""

import time

import torch


@torch._dynamo.assume_constant_result
def constant():
    if torch.compiler.is_compiling() or torch._dynamo.is_compiling():
        time.sleep(1e6)
    return 2.0


def run(x):
    return x * constant()
