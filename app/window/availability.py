"""Why an implementation cannot run on the chosen device, as far as is known before trying."""

import functools
from collections.abc import Callable, Iterable

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.host import package_version
from roofscope.profiling.planning.plan import EXAMINED_PROVIDERS
from roofscope.profiling.planning.spec import Implementation, Provider
from roofscope.profiling.results.outcome import Failed, Outcome, SkipKind, Skipped

_ON_GPU_ONLY = (Provider.CUDA, Provider.CUDA_EXT, Provider.TRITON, Provider.LIBRARY)


class Availability:
    """Facts of this machine, and what runs of this window have shown."""

    def __init__(self, version: Callable[[str], str | None] = package_version) -> None:
        # Asked for every row of the library at every repaint: reading the packages' files took 0.4 s of a
        # theme switch. What is installed while the window is open counts from its next start.
        self._version = functools.cache(version)
        self._refused: dict[tuple[str, str, str], str] = {}  # by device, source and values

    def reason(
        self, implementation: Implementation, device: Device | None, *, is_examined: bool = False
    ) -> str:
        """One sentence; "" when nothing speaks against it, or it is to be examined without its GPU."""
        if device is None:
            return ""
        if self._version("torch") is None:
            return "PyTorch is not installed here, so nothing can be measured; see Help, Doctor."
        if is_examined and device.kind is DeviceKind.CPU and implementation.provider in EXAMINED_PROVIDERS:
            return self._refused.get(_key(device, implementation), "")
        if is_examined and implementation.provider is Provider.LIBRARY and device.kind is DeviceKind.CPU:
            return "Library kernels are compiled already, and need an NVIDIA GPU to run."
        if implementation.provider in _ON_GPU_ONLY and device.kind is DeviceKind.CPU:
            return (
                "CUDA, Triton and library kernels need an NVIDIA GPU; "
                "\u201cGPU code\u201d checks the first two without one."
            )
        if implementation.provider is Provider.TRITON and self._version("triton") is None:
            return "Triton is not installed here; see Help, Doctor."
        return self._refused.get(_key(device, implementation), "")

    def forget(self, implementations: Iterable[Implementation]) -> None:
        """The user wants these tried again, whatever runs have shown."""
        hashes = {implementation.source_hash for implementation in implementations}
        self._refused = {key: why for key, why in self._refused.items() if key[1] not in hashes}

    def learn(self, device: Device, implementation: Implementation, outcome: Outcome) -> bool:
        """Remember a refusal that holds until the files change; tell whether there was one."""
        match outcome:
            case Skipped(kind=SkipKind.UNAVAILABLE | SkipKind.PAUSED, message=message):
                pass
            case Failed(kind=kind, message=message) if kind.pauses:
                message = f"{message} It is paused until its file changes, or until you try it again."
            case _:
                return False
        self._refused[_key(device, implementation)] = message
        return not implementation.values


def _key(device: Device, implementation: Implementation) -> tuple[str, str, str]:
    return device.uuid, implementation.source_hash, implementation.values
