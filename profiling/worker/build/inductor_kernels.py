"""Triton's kernels in what Inductor wrote, whichever way they are launched.

A launcher of torch 2.11 to 2.15 keeps no compiled kernel. What its compiler said is in the launcher and in
the result that it was made of; the stages are files in Triton's cache, in a folder named by the kernel's
hash. None of this is a public interface: what a torch does not have is taken for not known.
"""

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from roofscope.profiling.decoding import UnreadableError, decode

_TEXTS = ("ttir", "ttgir", "llir", "ptx")
_BINARY = "cubin"
_MOST_BYTES = 64 << 20  # of one file of the cache
_MOST_FACTS_BYTES = 1 << 20
_LONGEST_STEM = 150  # of a file's name, to which Triton cuts a kernel's
_FACTS = ("name", "shared", "num_warps", "num_stages", "num_ctas", "cluster_dims")


def kernels_of(values: Iterable[object]) -> Iterator[Any]:
    """Of each of Inductor's autotuners among these values the kernel that it launches."""
    for tuner in values:
        launchers = getattr(tuner, "launchers", None)
        if isinstance(launchers, list) and launchers:
            yield _kernel_of(tuner, launchers[0])  # the winner of those tuned


def _kernel_of(tuner: Any, launcher: Any) -> Any:
    """Triton's own where it was kept, else what is left of it."""
    if hasattr(kept := getattr(launcher, "bin", None), "metadata"):
        return kept
    result = _result_of(tuner, launcher)
    kernel = getattr(result, "kernel", None)
    if hasattr(kernel, "metadata"):
        return kernel
    return LaunchedKernel(tuner, launcher, kernel)


def _result_of(tuner: Any, launcher: Any) -> Any:
    """The compilation that the launcher was made of; None where it was dropped."""
    config = getattr(launcher, "config", None)
    results = getattr(tuner, "compile_results", None) or ()
    return next((one for one in results if config is not None and one.config is config), None)


class LaunchedKernel:
    """A kernel by its launcher, with the attributes of Triton's own that are read here."""

    def __init__(self, tuner: Any, launcher: Any, static: Any) -> None:
        """``static`` is the launcher's kernel where it is of torch's own kind; else None."""
        self._folders = list(_folders(tuner, launcher))
        self._launcher, self._static = launcher, static
        self.n_regs = _known("n_regs", launcher, static)
        self.n_spills = _known("n_spills", launcher, static)
        config = getattr(launcher, "config", None)
        constants = getattr(config, "kwargs", None)
        self.src = SimpleNamespace(constants=constants if isinstance(constants, dict) else {})
        name = getattr(static, "name", None) or getattr(getattr(tuner, "fn", None), "__name__", None)
        facts = {fact: _known(fact, static, launcher, config) for fact in _FACTS} | {"name": name}
        recorded = self._recorded(name)
        self.metadata = SimpleNamespace(
            **{fact: facts[fact] if facts[fact] is not None else recorded.get(fact) for fact in _FACTS}
        )

    @cached_property
    def asm(self) -> dict[str, str | bytes]:
        """The stages that are in the cache."""
        found: dict[str, str | bytes] = {}
        for kind in (*_TEXTS, _BINARY):
            content = self._content(kind, self.metadata.name, _MOST_BYTES)
            if content:
                found[kind] = content if kind == _BINARY else content.decode("utf-8", "replace")
        return found

    def _recorded(self, name: object) -> dict[str, Any]:
        """What Triton noted of the kernel beside its stages."""
        try:
            return decode(self._content("json", name, _MOST_FACTS_BYTES), dict[str, Any])
        except UnreadableError:
            return {}

    def _content(self, kind: str, name: object, most_bytes: int) -> bytes:
        """Of the kernel's file of this kind; nothing where it is not there or too long."""
        for folder in self._folders:
            path = folder / f"{str(name)[:_LONGEST_STEM]}.{kind}"
            try:
                if path.is_file() and path.stat().st_size <= most_bytes:
                    return path.read_bytes()
            except (OSError, ValueError):
                continue
        return b""


def _known(name: str, *sources: Any) -> Any:
    """The attribute of the first that has it."""
    found = (getattr(source, name, None) for source in sources)
    return next((value for value in found if value is not None), None)


def _folders(tuner: Any, launcher: Any) -> Iterator[Path]:
    """Where the kernel's stages may lie."""
    key = getattr(launcher, "cache_hash", None)
    if not isinstance(key, str) or not key:
        return
    roots = [os.environ.get("TRITON_CACHE_DIR")]
    try:
        from torch._inductor.runtime.cache_dir_utils import triton_cache_dir

        device = getattr(getattr(tuner, "device_props", None), "index", None)
        roots.append(triton_cache_dir(device or 0))
    except (ImportError, TypeError, OSError):
        pass
    try:
        from triton import knobs

        roots.append(str(knobs.cache.dir))
    except (ImportError, AttributeError):
        pass
    yield from (Path(root) / key for root in dict.fromkeys(roots) if root)
