"""Nsight Compute's command line on this machine: where it is, and what to do where it may not count."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

MISSING = (
    "There is no ncu here; install Nsight Compute (the package nsight-compute of NVIDIA's repository, or the "
    "CUDA toolkit) and put its folder on the PATH."
)
# https://developer.nvidia.com/ERR_NVGPUCTRPERM
NOT_PERMITTED = (
    "This driver does not permit counters to this user (ERR_NVGPUCTRPERM): run Roofscope as root or with "
    "CAP_SYS_ADMIN (in a container: --cap-add=SYS_ADMIN), or put the line "
    "`options nvidia NVreg_RestrictProfilingToAdminUsers=0` into a file of /etc/modprobe.d and restart."
)
_PLACES = ("/usr/local/cuda/bin", "/opt/nvidia/nsight-compute")
_LONGEST = 300  # characters of what it said
_UNKNOWN = re.compile(r"^==ERROR== Failed to find metric (?:regex:\^?)?([\w.]+)", re.MULTILINE)


def find_ncu() -> str | None:
    """From the PATH, the CUDA toolkit or Nsight Compute's own folder, newest first."""
    if found := shutil.which("ncu"):
        return found
    for place in _PLACES:
        for path in sorted(Path(place).glob("ncu"), reverse=True) or sorted(
            Path(place).glob("*/ncu"), reverse=True
        ):
            return str(path)
    return None


def report_module_folders() -> tuple[Path, ...]:
    """Where Nsight Compute has its module `ncu_report`: extras/python beside it.

    The ncu of a toolkit's bin is a link or a script that starts the one in its folder nsight-compute-*.
    """
    ncu = find_ncu()
    beside = [Path(ncu).parent, Path(ncu).resolve().parent] if ncu else []
    places = [*beside, *(Path(place) for place in _PLACES)]
    found = [
        folder
        for place in places
        for pattern in ("extras/python", "*/extras/python", "../nsight-compute-*/extras/python")
        for folder in sorted(place.glob(pattern), reverse=True)
    ]
    return tuple(dict.fromkeys(folder.resolve() for folder in found))


def why_refused(code: int, lines: Sequence[str]) -> str:
    """Why ncu ended with this code after it printed these lines, as one sentence."""
    if any("ERR_NVGPUCTRPERM" in line for line in lines):
        return NOT_PERMITTED
    said = next((line for line in lines if line.startswith("==ERROR==")), "")
    last = next((line for line in reversed(lines) if line.strip()), "it printed nothing")
    words = (said.removeprefix("==ERROR==") or last).strip().rstrip(".")[:_LONGEST]
    return f"ncu ended with code {code}: {words}."


def unknown_metric(text: str) -> str:
    """The metric without its suffix that this ncu said it does not know; "" where it said none."""
    found = _UNKNOWN.search(text)
    return found[1].split(".")[0] if found else ""
