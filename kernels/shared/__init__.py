"""What several kernels share: accesses, reductions, row groups, main loops, Ampere's and Hopper's own."""
