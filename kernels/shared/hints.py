"""What a Triton kernel tells L2 about the data it loads."""

import triton.language as tl

# L2 is to give up what is read later than what is written: for kernels that write about as much as they read.
# What is written then leaves for memory sooner and in longer runs. On an H200 a copy takes 1.5 % less time, a
# norm 4 %, whether 2 or 12 sets of buffers take turns; kernels that mostly read gain nothing.
KEPT = tl.constexpr("evict_last")
