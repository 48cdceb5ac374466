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
from collections.abc import Generator, Iterable, Sequence
from contextlib import chdir, contextmanager, suppress
from pathlib import Path

import torch
from torch.utils import cpp_extension

from roofscope.profiling.devices import host
from roofscope.profiling.paths import cache_folder
from roofscope.profiling.planning.one_file.call_text import is_direct
from roofscope.profiling.planning.one_file.offers import Kind, Offer
from roofscope.profiling.planning.parameters import Parameter, macro_text
from roofscope.profiling.results.outcome import BuildInfo
from roofscope.profiling.worker.build.contract import BuildRequest, Built, Call, run_of
from roofscope.profiling.worker.build.extension_unit import as_called, unit_text
from roofscope.profiling.worker.build.machine_code import code_of_library
from roofscope.profiling.worker.build.own_file import call_in, module_of
from roofscope.profiling.worker.failures import BuildError, Unavailable

NO_GPU = (0, 0)  # in the place of a compute capability


def build(request: BuildRequest) -> Built:
    """Build now, or load what was built before. Raises Unavailable without the tools, and BuildError."""
    entry = request.entry
    if entry and entry.offer and entry.offer.kind is Kind.INLINE:
        return _build_inline(request)
    source = Path(entry.file) if entry else request.folder / f"{request.implementation.stem}.cu"
    is_on_gpu = request.device.type == "cuda"
    capability = torch.cuda.get_device_capability(request.device) if is_on_gpu else NO_GPU
    started = time.perf_counter()
    cache = cache_folder("extensions-with-lines" if request.has_lines else "extensions")
    offer = as_called(entry.offer, entry.call) if entry and entry.offer else None
    parameters = request.implementation.parameters
    run = build_extension(source, capability, cache, offer, parameters)
    compile_s = time.perf_counter() - started
    architecture = "sm_{}{}".format(*capability) if is_on_gpu else None
    library = library_of(source, capability, cache, offer, parameters)
    if entry and offer and not is_direct(entry, offer.name):
        names = {offer.name: run, "torch": torch, **{one.name: one.value for one in parameters}}
        call = call_in(entry, names, request.workload.dtype)
    else:
        call = run
    return Built(
        call,
        lambda: BuildInfo(compile_s=compile_s, architecture=architecture),
        lambda budget: code_of_library(source.name, library, budget),
    )


def _build_inline(request: BuildRequest) -> Built:
    """What a Python file compiles itself, by load_inline, when it is loaded."""
    _with_tools(with_cuda=True)
    started = time.perf_counter()
    folder = Path(request.entry.file).parent if request.entry else request.folder
    with chdir(folder):  # where a build_directory or sources that it names lie
        run = run_of(module_of(request, ""), *request.inputs)
    compile_s = time.perf_counter() - started
    architecture = "sm_{}{}".format(*torch.cuda.get_device_capability(request.device))
    return Built(run, lambda: BuildInfo(compile_s=compile_s, architecture=architecture))


def build_extension(
    source: Path,
    capability: tuple[int, int],
    cache: Path,
    offer: Offer | None = None,
    parameters: Sequence[Parameter] = (),
) -> Call:
    """The source's ``run``, or what it offers. Needs no GPU.

    Each state of source, headers and parameters is built once, into ``cache``. What is no ``.cu`` needs no
    nvcc.
    """
    folder = _folder(source, capability, cache, offer, parameters)
    text = _defines(parameters) + unit_text(str(source.resolve()), _name(folder), offer)
    return _build(text, capability, folder, source.suffix)


def library_of(
    source: Path,
    capability: tuple[int, int],
    cache: Path,
    offer: Offer | None = None,
    parameters: Sequence[Parameter] = (),
) -> Path:
    """The shared object that a source is built into."""
    folder = _folder(source, capability, cache, offer, parameters)
    return folder / f"{_name(folder)}.so"


def _name(folder: Path) -> str:
    return f"roofscope_{folder.name}"


def _defines(parameters: Iterable[Parameter]) -> str:
    return "".join(f"#define {one.name} {macro_text(one.value)}\n" for one in parameters)


def _folder(
    source: Path,
    capability: tuple[int, int],
    cache: Path,
    offer: Offer | None,
    parameters: Iterable[Parameter],
) -> Path:
    """Of one state of source, headers and parameters."""
    parts = [str(source), str(capability), torch.__version__, _defines(parameters) + unit_text("", "", offer)]
    headers = sorted(path for path in source.parent.iterdir() if path.suffix in (".cuh", ".h", ".hpp"))
    parts += [path.read_text() for path in (source, *headers)]
    state = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return cache / state


@functools.cache
def _build(text: str, capability: tuple[int, int], folder: Path, suffix: str) -> Call:
    with_cuda = suffix in (".cu", ".cuh")
    _with_tools(with_cuda=with_cuda)
    folder.mkdir(parents=True, exist_ok=True)
    name = _name(folder)
    unit = folder / f"unit{'.cu' if with_cuda else suffix}"
    with _locked(folder):
        if not unit.exists():  # ninja rebuilds what is newer than its result
            unit.write_text(text)
        try:
            cpp_extension.load(
                name=name,
                sources=[str(unit)],
                extra_cuda_cflags=["-O3", "-gencode=arch=compute_{0}{1},code=sm_{0}{1}".format(*capability)],
                build_directory=str(folder),
                with_cuda=with_cuda,
                is_python_module=False,
            )
        except RuntimeError as error:
            compiler = "nvcc" if with_cuda else "The C++ compiler"
            raise BuildError(f"{compiler} refused the source; its log says where.", str(error)) from None
    return getattr(torch.ops, name).run


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """Allow one build at a time. Torch's own lock, at least up to 2.11, outlives a build that is killed."""
    with (folder / "building").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        (folder / "lock").unlink(missing_ok=True)
        yield


def _with_tools(*, with_cuda: bool) -> None:
    """Lets torch find what it compiles with. Raises Unavailable."""
    if with_cuda:
        toolkit, ninja = _tools()
        cpp_extension.CUDA_HOME = str(toolkit)
        _know_headers(toolkit)
    else:
        ninja = _ninja()
    if not shutil.which("ninja"):  # torch searches only the PATH
        os.environ["PATH"] = os.pathsep.join([str(Path(ninja).parent), os.environ["PATH"]])


def _know_headers(toolkit: Path) -> None:
    """Of cuSPARSE and its like, which PyTorch's headers include: torch brings what a toolkit has not."""
    flags = os.environ.get("NVCC_APPEND_FLAGS", "")
    if (toolkit / "include" / "cusparse.h").exists() or "-idirafter" in flags:
        return
    with suppress(Unavailable):
        from roofscope.profiling.worker.build.providers.cuda import cuda_include_folder

        after = f"-Xcompiler -idirafter -Xcompiler {cuda_include_folder()}"
        os.environ["NVCC_APPEND_FLAGS"] = f"{flags} {after}".strip()


def _tools() -> tuple[Path, str]:
    """The CUDA toolkit's folder and ninja. Raises Unavailable."""
    toolkit = host.cuda_toolkit()
    if toolkit is None:
        raise Unavailable(
            "CUDA extensions need nvcc; install the CUDA toolkit, or set CUDA_HOME to where it is."
        )
    return toolkit, _ninja()


def _ninja() -> str:
    """Raises Unavailable."""
    ninja = host.ninja()
    if ninja is None:
        raise Unavailable("C++ extensions need ninja; install the `ninja` package.")
    return ninja
