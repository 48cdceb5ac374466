"""Data that stays in the last-level cache between calls: bandwidth then says little of DRAM.

Threshold: the flag's, which compares what calls rotated through with the cache's size
(analysis/verdict.py).
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.devices.device import CACHE_LAPS
from roofscope.profiling.results.outcome import Flag


class CacheResident(Advice, frozen=True, kw_only=True, tag="cache-resident"):
    byte_count: int  # a call's
    cache_bytes: int
    least_bytes: int  # from which on a call finds nothing of the one before


def cache_resident(case: Case) -> CacheResident | None:
    cache_bytes = case.device.last_level_cache_bytes if case.device else None
    if Flag.CACHE_RESIDENT not in case.verdict.flags or not cache_bytes:
        return None
    return CacheResident(
        byte_count=case.point.job.work.byte_count,
        cache_bytes=cache_bytes,
        least_bytes=CACHE_LAPS * cache_bytes,
    )
