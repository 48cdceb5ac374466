"""Machine code of CUDA versions that was compiled before, in the user's cache: for other clones as well."""

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from platformdirs import user_cache_path

from roofscope.profiling.devices.host import package_version
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.spec import Dtype, Parameter

Compile = Callable[..., Any]
FOLDER = user_cache_path("roofscope-tests") / "nvrtc"
_COMPILERS = ("nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "cuda-core", "cuda-bindings")
_OWN_INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
_KEPT_FOR_S = 14 * 24 * 3600  # since it was last asked for


def keeping(compile_source: Compile, provider: Path, folder: Path) -> Compile:
    """Takes from the folder what the same text, headers, options and compiler gave; errors are not kept."""
    folder.mkdir(parents=True, exist_ok=True)
    _remove_what_nobody_asks_for(folder)
    versions = [f"{name} {package_version(name)}" for name in _COMPILERS]
    # The provider chooses the options.
    given = hashlib.sha256("\n".join(versions).encode() + provider.read_bytes())

    def keep(
        source: Path, dtype: Dtype | None, architecture: str, parameters: Sequence[Parameter] = ()
    ) -> Any:
        key = given.copy()
        key.update(repr((source.name, dtype, architecture, tuple(parameters))).encode())
        for name, text in _read_by_the_compiler(source):
            key.update(f"\n{name} {len(text)}\n".encode() + text)
        kept = folder / f"{key.hexdigest()}.cubin"
        with suppress(FileNotFoundError):
            code = kept.read_bytes()
            os.utime(kept)
            return SimpleNamespace(code=code)
        made = compile_source(source, dtype, architecture, parameters)
        part = kept.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(made.code)
        part.replace(kept)  # in one step: pytest-xdist's other processes read it
        return made

    return keep


def _read_by_the_compiler(source: Path) -> Iterator[tuple[str, bytes]]:
    """The source and our headers in it, and in these, each once. Those of CUDA belong to a version."""
    waiting, seen = [(source.name, source)], set[str]()
    while waiting:
        name, path = waiting.pop()
        if name in seen or not path.is_file():
            continue
        seen.add(name)
        text = path.read_bytes()
        yield name, text
        waiting += [(header, LIBRARY / header) for header in map(bytes.decode, _OWN_INCLUDE.findall(text))]


def _remove_what_nobody_asks_for(folder: Path) -> None:
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # by another process
            if time.time() - path.stat().st_mtime > _KEPT_FOR_S:
                path.unlink()
