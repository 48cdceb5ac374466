"""How the numbers of a report were obtained, in one paragraph; docs/measuring.md says all of it."""

METHOD = (
    "Before an implementation is timed, its outputs are verified against a float64 reference: at the "
    "measured size, at an odd size and with large inputs, as a whole, by rows and by elements. The time "
    "is the median device time of one call with cold caches: on a GPU calls are captured in a CUDA graph "
    "on buffer sets that together are three times the L2 cache, and one pair of events surrounds replays "
    "of about 10 ms. Implementations of one workload are timed in turn, round by round, on the same "
    "inputs, until the 95 % interval is within 1 % (quick) or 0.25 % (exact). Blocks are left out for a "
    "named cause only, never for their value. A speed-up compares the rounds that both share; its "
    "interval allows for all comparisons with one baseline. “Of roof” is the least time that the limiting "
    "ceiling allows over the measured time, with compulsory bytes and FLOPs: every input read once, every "
    "output written once. A wrong result has a row and a reason, never a time."
)
