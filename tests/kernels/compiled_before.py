"""Machine code of CUDA versions that was compiled before, in pytest's cache: --cache-clear empties it."""

import hashlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from roofscope.profiling.devices.host import package_version
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.spec import Dtype, Parameter

Compile = Callable[..., Any]
_COMPILERS = ("nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "cuda-core", "cuda-bindings")


def keeping(compile_source: Compile, provider: Path, folder: Path) -> Compile:
    """Takes from the folder what the same text, headers, options and compiler gave; errors are not kept.

    What other headers gave is removed: each takes some dozen megabytes.
    """
    versions = [f"{name} {package_version(name)}" for name in _COMPILERS]
    # Every header, because an include in a header counts too; and the provider, which chooses the options.
    headers = [provider, *sorted(path for path in LIBRARY.rglob("*.cu*") if path.suffix != ".cu")]
    given = hashlib.sha256("\n".join(versions).encode())
    for path in headers:
        given.update(f"\n{path} {path.stat().st_size}\n".encode() + path.read_bytes())
    now = folder / given.hexdigest()
    for other in set(folder.iterdir()) - {now}:
        shutil.rmtree(other, ignore_errors=True)
    now.mkdir(exist_ok=True)

    def keep(
        source: Path, dtype: Dtype | None, architecture: str, parameters: Sequence[Parameter] = ()
    ) -> Any:
        asked = repr((str(source), dtype, architecture, tuple(parameters))).encode()
        key = hashlib.sha256(asked + source.read_bytes())
        kept = now / f"{key.hexdigest()}.cubin"
        if kept.exists():
            return SimpleNamespace(code=kept.read_bytes())
        made = compile_source(source, dtype, architecture, parameters)
        part = kept.with_suffix(f".{hashlib.sha256(made.code).hexdigest()[:8]}.part")
        part.write_bytes(made.code)
        part.replace(kept)  # in one step: pytest-xdist's other processes read it
        return made

    return keep
