"""A launch on the default stream: work that torch has on another stream is not waited for.

CUDA C++ Programming Guide, "Default Stream": a launch without a stream goes to the legacy one, which is not
torch's current stream inside ``torch.cuda.stream`` or while a CUDA graph is captured.
"""

import re
from collections.abc import Iterator

from roofscope.profiling.analysis.mistakes.case import Case
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.debugging import Finding, Mistake, StageName

_LAUNCH = re.compile(r"<<<(.*?)>>>", re.DOTALL)
_STREAM = 3  # the argument's place
_DEFAULT = ("0", "nullptr", "NULL", "cudaStreamDefault")
_CURE = "Launch as <<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>, with <ATen/cuda/CUDAContext.h>."


def stream(case: Case) -> Iterator[Finding]:
    if case.implementation.provider is not Provider.CUDA_EXT:
        return
    for path, text in case.sources.items():
        for launch in _LAUNCH.finditer(_blanked(text)):
            parts = _parts(launch[1])
            if len(parts) > _STREAM and parts[_STREAM].strip() not in _DEFAULT:
                continue
            yield Finding(
                Mistake.DEFAULT_STREAM,
                case.line(path, text.count("\n", 0, launch.start()) + 1),
                f"<<<{' '.join(launch[1].split())}>>> names no stream, so that it does not run on torch's "
                "current one: inside torch.cuda.stream, or in a CUDA graph, it runs at the wrong time.",
                _CURE,
                StageName.SOURCE,
            )


def _blanked(text: str) -> str:
    """Without comments, each letter as long as before."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda one: re.sub(r"[^\n]", " ", one[0]), text, flags=re.DOTALL)


def _parts(arguments: str) -> list[str]:
    """At the commas that stand in no brackets."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
