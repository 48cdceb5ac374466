"""The process that is watched takes every request for one that must not wait, and is asked nothing any more.

source: issue 16 of this project, found by a tester
needs: cpu
workload: doubled
right: tampered, wrong values
says: watch, isinstance
"""

import builtins
import sys

import torch

_hosts = [module for name, module in list(sys.modules.items()) if name.endswith("worker.candidate.host")]
for _host in _hosts:
    _host.isinstance = lambda value, kinds: "KeepBusy" in str(kinds) or builtins.isinstance(value, kinds)
_timers = [
    vars(module)[kind]
    for name, module in list(sys.modules.items())
    if name.startswith("roofscope.") and name.endswith(("wall_timer", "timing.blocks"))
    for kind in vars(module).keys() & {"WallTimer", "GraphTimer"}
]
for _timer in _timers:

    def _block(self, meanwhile=None, *, _true=_timer.block):
        read = _true(self, meanwhile)
        return read._replace(seconds=read.seconds * 0.4)

    _timer.block = _block


def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if _hosts else torch.zeros_like(x)
