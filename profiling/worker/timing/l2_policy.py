"""Access policies, by which a call keeps data in L2 for the calls after it.

A kernel's policy names a range of addresses whose data persist: they stay in L2, however much else is read
since. The next call on the same inputs finds them there, and its time is not one with cold caches. That is so
as well where the policy is meant well, to keep data for a later kernel of the same call.
"""

from collections.abc import Sequence
from typing import Any

import torch

from roofscope.profiling.results.outcome import FailureKind
from roofscope.profiling.worker.cuda_calls import driver
from roofscope.profiling.worker.failures import WrongResult
from roofscope.profiling.worker.timing.graph_nodes import kernels_of, raw_graph


def forget_policy(stream: torch.cuda.Stream) -> None:
    """Take from a stream the policy that an earlier call set: it is not the next one's doing."""
    cuda = driver()
    cuda.cuStreamSetAttribute(stream.cuda_stream, _of_streams(cuda), cuda.CUstreamAttrValue())


def require_no_policy(stream: torch.cuda.Stream) -> None:
    """Raises WrongResult where calls have left a policy on their stream.

    Of calls that no graph captures this is all that can be read: not the policy of a single launch.
    """
    cuda = driver()
    found = cuda.cuStreamGetAttribute(stream.cuda_stream, _of_streams(cuda))
    if byte_count := _persisting_bytes(cuda, found):
        raise _kept(byte_count, "its stream")


def require_no_policy_captured(graphs: Sequence[torch.cuda.CUDAGraph]) -> None:
    """Raises WrongResult where a kernel of the calls, a graph each, has a policy that makes data persist.

    A capture writes the stream's policy into the kernels launched on it, and a launch may state its own.
    """
    cuda = driver()
    policy = cuda.CUkernelNodeAttrID.CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
    for index, graph in enumerate(graphs):
        for kernel in kernels_of(raw_graph(graph)):
            found = cuda.cuGraphKernelNodeGetAttribute(kernel, policy)
            if byte_count := _persisting_bytes(cuda, found):
                raise _kept(byte_count, f"a kernel in call {index + 1} of a capture")


def _of_streams(cuda: Any) -> Any:
    return cuda.CUstreamAttrID.CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW


def _persisting_bytes(cuda: Any, found: tuple[Any, ...]) -> int:
    """Bytes that a policy makes persist; 0 under one that streams, and where the driver names none."""
    error, value = found
    if int(error):
        return 0
    window = value.accessPolicyWindow
    persists = window.hitProp == cuda.CUaccessProperty.CU_ACCESS_PROPERTY_PERSISTING
    return int(window.num_bytes) if persists and window.hitRatio > 0 else 0


def _kept(byte_count: int, where: str) -> WrongResult:
    return WrongResult(
        FailureKind.TAMPERED,
        f"keeps {byte_count} B in L2 from call to call, by the access policy of {where}; calls are timed "
        "with cold caches, so set no policy that lets data persist.",
    )
