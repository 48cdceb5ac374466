"""Why an implementation cannot run on the chosen device, as far as is known before trying."""

import functools
from collections.abc import Callable, Iterable

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.host import package_version
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.providers import Facts, Family, Provider
from roofscope.profiling.results.outcome import Failed, Outcome, SkipKind, Skipped

_LANGUAGES = dict.fromkeys(one.facts.language for one in Provider if one.facts.is_examined)
_NEED_GPU = (
    f"{', '.join(_LANGUAGES)} and library kernels need an NVIDIA GPU; "
    "\u201cGPU code\u201d checks all but the last without one."
)


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
        facts = implementation.provider.facts
        is_on_cpu = device.kind is DeviceKind.CPU
        if is_on_cpu and facts.needs_gpu and not (is_examined and facts.is_examined):
            return _why_not_on_cpu(facts, is_examined=is_examined)
        for package in () if is_on_cpu else facts.packages:
            if self._version(package.distribution) is None:
                return f"{package.name} is not installed here; see Help, Doctor."
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


def _why_not_on_cpu(facts: Facts, *, is_examined: bool) -> str:
    if is_examined and facts.family is Family.PEERS:
        return f"{facts.language} kernels are compiled already, and need an NVIDIA GPU to run."
    return _NEED_GPU  # one sentence for all: the library shows each once, in a narrow pane


def _key(device: Device, implementation: Implementation) -> tuple[str, str, str]:
    return device.uuid, implementation.source_hash, implementation.values
