"""What several kernels share: accesses and reductions, teams for rows, main loops, instructions of Hopper."""
