"""A point as one flat record of raw SI values, the unit in each name: what frames and exports are made of.

Every point has one, failures with their reason, and every record carries the hardware and the versions,
so that those of several sessions can be put together. None is what is not known.
"""

from msgspec import Struct

from roofscope.profiling.planning.parameters import Value
from roofscope.profiling.providers import packages

# Which made the machine code of a session's points. Triton comes first: torch.compile compiles into it, too.
VERSIONED_PACKAGES = tuple(dict.fromkeys(("torch", "triton", *(one.distribution for one in packages()))))


class PointRecord(Struct, frozen=True):
    """The fields are the export's columns, in their order; new ones come last."""

    number: int
    recorded_at: str
    kernel: str
    provider: str
    variant: str
    dtype: str
    sizes: dict[str, int]
    regime: str
    quality: str
    outcome: str
    outcome_kind: str | None
    stage: str | None
    message: str | None
    flop_count: int
    read_bytes: int
    write_bytes: int
    arithmetic_intensity_flop_per_byte: float | None
    median_s: float | None
    low_s: float | None
    high_s: float | None
    block_count: int | None
    calls_per_block: int | None
    host_s: float | None
    hot_median_s: float | None
    kernel_sum_s: float | None
    profiled_s: float | None
    kernel_calls: float | None
    method: str | None
    method_reason: str | None
    relative_error: float | None
    large_relative_error: float | None
    tolerance: float | None
    compile_s: float | None
    graph_count: int | None
    graph_break_count: int | None
    recompile_count: int | None
    cached_graph_count: int | None
    registers: int | None
    spill_bytes: int | None
    shared_bytes: int | None
    configuration: str | None
    clock_hz: float | None
    memory_clock_hz: float | None
    power_w: float | None
    temperature_c: float | None
    event_reasons: str | None
    achieved_bandwidth_byte_per_s: float | None
    achieved_flop_per_s: float | None
    break_even_wall_call_count: int | float | None  # infinite where compiling never pays; null in JSON
    compiling_pays_by_wall: bool | None  # tells "never" from "not known"
    verdict: str
    limiter: str | None
    limiter_byte_per_s: float | None
    limiter_flop_per_s: float | None
    fraction_of_roof: float | None
    headroom_s: float | None
    envelope: str | None
    fraction_of_envelope: float | None
    flags: str
    source_sha256: str
    device: str | None
    device_uuid: str | None
    driver_version: str | None
    host: str | None
    torch_version: str | None
    triton_version: str | None
    cuda_core_version: str | None
    implementation: str  # unique within the kernel: "eager", "triton_online BLOCK=128"
    energy_j: float | None  # a call's, of the whole board
    speed_up: float | None  # the baseline's time over this one's, with its 95 % interval
    speed_up_low: float | None
    speed_up_high: float | None
    speed_up_verdict: str | None  # baseline, faster, slower, not distinguishable, not known
    speed_up_baseline: str | None  # the implementation it is over
    speed_up_common_rounds: int | None  # 0 where the two were timed in separate runs
    flag_launch_bound: bool  # each flag by itself; false for a point without a time
    flag_unstable: bool
    flag_power_capped: bool
    flag_profiler_disagrees: bool
    flag_remembers: bool
    flag_extra_kernels: bool
    flag_cache_resident: bool
    flag_above_roof: bool
    flag_no_odd_size: bool
    operating_system: str | None
    python_version: str | None
    session_uuid: str | None
    session_created_at: str
    session_file: str  # its name without folders
    roofscope_version: str | None  # that began the session
    evidence: str | None  # of the limiter, in the order of proof: "spills 432; ..."
    clock_elasticity: float | None  # 1: the cores bind it, 0: they do not; with its 95 % interval
    clock_elasticity_low: float | None
    clock_elasticity_high: float | None
    clock_elasticity_low_hz: float | None  # the clocks that it was found between
    clock_elasticity_high_hz: float | None
    double_instruction_count: int | None
    launch_floor_s: float | None  # a call of an empty kernel
    max_absolute_error: float | None  # at the measured size, and where it lies
    max_error_output: str | None
    max_error_index: str | None  # "17, 3"
    max_error_value: float | None
    max_error_expected: float | None
    worst_part_share: float | None  # error of the worst row, chunk or element, over what is allowed it
    unverified: str | None  # which odd size the implementation does not take; "" where none is left out
    domain: str  # the condition that its sizes must meet; "" where its file states none
    flag_heat_limited: bool
    flag_clock_sagged: bool
    flag_host_time_inside: bool
    break_even_graph_call_count: int | float | None  # inside a CUDA graph, where only the device counts
    compiling_pays_in_graph: bool | None
    speed_up_methods: str | None  # "cuda graph / events": the baseline's and this one's, where they differ
    speed_up_comparisons: int | None  # that hold 95 % together
    reference_clock_hz: float | None  # the clock that the median is given at
    fresh_clock_hz: float | None
    clock_held_by: str | None  # what held it in more than a quarter of the blocks
    rotated_bytes: int | None  # of all input sets that the calls took in turn; null in older sessions
    flag_partly_warm: bool
    flag_preempted: bool
    environment: int | None  # the number of the environment that the point was measured in
    power_limit_w: float | None
    cuda_version: str | None  # that torch was built for
    measured_by_version: str | None  # of the Roofscope whose worker measured the point
    is_sealed: bool | None  # null in older sessions
    unsealed_because: str | None  # what rests on the word of the process that ran the implementation
    flag_shared_gpu: bool
    peak_bytes: int | None  # that a call allocates at most, outputs included; null on a CPU
    temporary_bytes: int | None  # of these what it does not return
    graph_breaks_at: str | None  # "eager.py:11 why; ...": where Dynamo broke the graph
    recompiled_because: str | None  # the guards that failed, likewise
    architecture: str | None  # that the code was compiled for, such as sm_90a
    verified_sizes: str | None  # of an examined point: what Triton's interpreter was given
    pinned: bool  # the first pin of a workload is its baseline
    note: str  # the user's, as are the tags
    tags: str  # "first; second"
    tuned_configurations: int | None  # that its autotuner was offered; null where nothing was tuned
    tuned_left_out: int | None
    tuning_s: float | None
    runner_up_ratio: float | None  # the second best's time over the winner's, timed in turn
    runner_up_low: float | None
    runner_up_high: float | None
    runner_up_verdict: str | None  # slower, faster, not distinguishable, not known
    parameters: dict[str, Value]  # the declared constants that it was built with, defaults included
    work_is_derived: bool  # FLOPs and bytes, from the reference; else a person stated them
    counted_by: str | None  # the profiler; null where nothing was counted, as are the columns up to occupancy
    counted_dram_read_bytes: float | None  # of one call, a mean over calls on rotated buffers
    counted_dram_write_bytes: float | None
    counted_l2_bytes: float | None  # between L1 and L2, of one call with flushed caches; so is the rest
    counted_l1_bytes: float | None
    counted_dram_ratio: float | None  # read and written, over the compulsory bytes
    counted_dram_intensity_flop_per_byte: float | None  # the stated FLOPs over the counted bytes
    counted_l2_intensity_flop_per_byte: float | None
    counted_l1_intensity_flop_per_byte: float | None
    executed_fp32_flop_count: float | None  # outside of tensor cores; a multiply-add is two
    executed_fp64_flop_count: float | None
    executed_fp16_flop_count: float | None
    achieved_occupancy: float | None  # mean share of the warps that a busy multiprocessor holds: 0 to 1
    toolchain: str | None  # its provider's packages: "nvidia-cutlass-dsl 4.8.1"; null where it has none
    fill: str  # uniform or normal: of floating inputs whose spec leaves it open
    samples_s: tuple[float, ...]  # one a block; in JSON only
