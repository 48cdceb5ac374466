"""CUDA C++ extensions of PyTorch: a ``.cu`` with a host function ``run``, built by nvcc and ninja.

It takes sources as PyTorch's tutorials have them, ``torch::Tensor run(torch::Tensor x)``. The build takes
half a minute and is kept for the next time. The ``cuda`` provider needs no nvcc and is the better choice
where it suffices.
"""

import fcntl
import functools
import hashlib
import os
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.utils import cpp_extension

from roofscope.profiling.devices import host
from roofscope.profiling.paths import cache_folder
from roofscope.profiling.results.outcome import BuildInfo
from roofscope.profiling.worker.build.contract import BuildRequest, Built, Call
from roofscope.profiling.worker.build.machine_code import code_of_library
from roofscope.profiling.worker.failures import BuildError, Unavailable

# An operator in a namespace of its own builds in half a minute; pybind11 behind nvcc takes minutes.
_UNIT = """\
#include "{source}"
#include <torch/library.h>
TORCH_LIBRARY({name}, library) {{ library.def("run", &run); }}
"""


def build(request: BuildRequest) -> Built:
    """Build now, or load what was built before. Raises Unavailable without the tools, and BuildError."""
    source = request.folder / f"{request.implementation.stem}.cu"
    capability = torch.cuda.get_device_capability(request.device)
    started = time.perf_counter()
    cache = cache_folder("extensions")
    run = build_extension(source, capability, cache)
    compile_s = time.perf_counter() - started
    architecture = "sm_{}{}".format(*capability)
    library = library_of(source, capability, cache)
    return Built(
        run,
        lambda: BuildInfo(compile_s=compile_s, architecture=architecture),
        lambda budget: code_of_library(source.name, library, budget),
    )


def build_extension(source: Path, capability: tuple[int, int], cache: Path) -> Call:
    """The source's ``run``. Needs no GPU. Each state of source and headers is built once, into ``cache``."""
    return _build(source.resolve(), capability, _folder(source, capability, cache))


def library_of(source: Path, capability: tuple[int, int], cache: Path) -> Path:
    """The shared object that a source is built into."""
    folder = _folder(source, capability, cache)
    return folder / f"{_name(folder)}.so"


def _name(folder: Path) -> str:
    return f"roofscope_{folder.name}"


def _folder(source: Path, capability: tuple[int, int], cache: Path) -> Path:
    """Of one state of source and headers."""
    parts = [str(source), str(capability), torch.__version__]
    parts += [path.read_text() for path in (source, *sorted(source.parent.glob("*.cuh")))]
    state = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return cache / state


@functools.cache
def _build(source: Path, capability: tuple[int, int], folder: Path) -> Call:
    toolkit, ninja = _tools()
    cpp_extension.CUDA_HOME = str(toolkit)
    if not shutil.which("ninja"):  # torch searches only the PATH
        os.environ["PATH"] = os.pathsep.join([str(Path(ninja).parent), os.environ["PATH"]])
    folder.mkdir(parents=True, exist_ok=True)
    name = _name(folder)
    unit = folder / "unit.cu"
    with _locked(folder):
        if not unit.exists():  # ninja rebuilds what is newer than its result
            unit.write_text(_UNIT.format(source=source, name=name))
        try:
            cpp_extension.load(
                name=name,
                sources=[str(unit)],
                extra_cuda_cflags=["-O3", "-gencode=arch=compute_{0}{1},code=sm_{0}{1}".format(*capability)],
                build_directory=str(folder),
                with_cuda=True,
                is_python_module=False,
            )
        except RuntimeError as error:
            raise BuildError("nvcc refused the source; its log says where.", str(error)) from None
    return getattr(torch.ops, name).run


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """Allow one build at a time. Torch's own lock, at least up to 2.11, outlives a build that is killed."""
    with (folder / "building").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        (folder / "lock").unlink(missing_ok=True)
        yield


def _tools() -> tuple[Path, str]:
    """The CUDA toolkit's folder and ninja. Raises Unavailable."""
    toolkit, ninja = host.cuda_toolkit(), host.ninja()
    if toolkit is None:
        raise Unavailable(
            "CUDA extensions need nvcc; install the CUDA toolkit, or set CUDA_HOME to where it is."
        )
    if ninja is None:
        raise Unavailable("CUDA extensions need ninja; install the `ninja` package.")
    return toolkit, ninja
