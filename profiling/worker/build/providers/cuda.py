"""CUDA C++: a ``.cu`` compiled by NVRTC through cuda.core, launched by the ``.py`` of its stem.

NVRTC takes 0.04 s where ``load_inline`` takes 30 s, and the user needs no nvcc. A ``.cu`` is compiled once
per dtype: ``SCALAR`` is the element type, and ``SCALAR_IS_FLOAT32`` and so on say which one; each parameter
that the ``.py`` declares is a macro. Its kernels are ``extern "C"``; sizes are ``long long``.

It takes one core: split compilation makes other code, and of some sources (NVRTC 13.2, sm_100a) none.
"""

import ctypes
import functools
import importlib
import importlib.util
import operator
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from roofscope.profiling.devices import host
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.one_file.offers import Offer
from roofscope.profiling.planning.one_file.parts import Entry
from roofscope.profiling.planning.parameters import Parameter, macro_text
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.generated import Code, CodeKind
from roofscope.profiling.results.outcome import BuildInfo, BuiltKernel
from roofscope.profiling.worker.build.bare_launch import bare_launch
from roofscope.profiling.worker.build.contract import (
    BuildRequest,
    Built,
    Tensors,
    double_instructions,
    run_of,
)
from roofscope.profiling.worker.build.device_text import before_device_text, device_text, with_headers
from roofscope.profiling.worker.build.machine_code import Budget, sass_of
from roofscope.profiling.worker.failures import BuildError, Refusal, Unavailable

try:
    core: Any = importlib.import_module("cuda.core")
    if not hasattr(core, "Program"):  # before 0.5 it had another name
        core = importlib.import_module("cuda.core.experimental")
    driver: Any = importlib.import_module("cuda.bindings.driver")  # which cuda.core needs itself
except ImportError as error:
    raise Unavailable("cuda.core is not installed here; install the `cuda-core` package.") from error

_SCALAR = {Dtype.FLOAT32: "float", Dtype.FLOAT16: "__half", Dtype.BFLOAT16: "__nv_bfloat16"}
# Architecture-specific features (wgmma, setmaxnreg, tcgen05) need the `a` target.
_SPECIFIC_FROM = (9, 0)
_OVERLAPS_FROM = (9, 0)
_MOST_BLOCKS = (2**31 - 1, 65535, 65535)
_MOST_TOLD = 16  # kernels of which facts are kept
_SHARED_UNASKED = 40 * 1024  # bytes of dynamic shared memory that any kernel may have, beside 8 KiB
_CLUSTER_UNASKED = 8  # blocks of a cluster that every kernel may have

# A ctypes array is a struct that is passed by value, such as a tensor map.
Argument = torch.Tensor | int | np.generic | ctypes.Array[Any]
Extent = int | tuple[int, ...]


class CudaProgram:
    """A compiled ``.cu``, for one dtype and device. A launcher gets it as first argument."""

    def __init__(
        self,
        source: Path,
        dtype: Dtype | None,
        architecture: str,
        device: torch.device,
        names: Sequence[str] = (),
        parameters: Sequence[Parameter] = (),
        *,
        has_lines: bool = False,
    ) -> None:
        self.architecture = architecture
        self.device = device
        self.launched: dict[str, Any] = {}
        self._name = source.stem
        self._module, self._ptx = compiled(
            source, dtype, architecture, names, parameters, has_lines=has_lines
        )
        self._functions: dict[str, Any] = {}
        self._shared_bytes: dict[str, int] = {}  # the limit of each kernel that was raised
        self._clusters: dict[str, int] = {}  # blocks of a cluster that a kernel was last launched with
        self._at_once: dict[str, int] = {}  # clusters of a kernel
        core.Device(device.index or 0).set_current()

    @property
    def multiprocessor_count(self) -> int:
        return torch.cuda.get_device_properties(self.device).multi_processor_count

    def launch(
        self,
        name: str,
        grid: Extent,
        block: Extent,
        *arguments: Argument,
        shared_bytes: int = 0,
        overlaps: bool = False,
        cluster: int = 1,
        balanced: bool = False,
    ) -> None:
        """Launch on torch's current stream. An empty grid does nothing. Raises Refusal for one too large.

        Tensors go as pointers, Python ints as ``long long``, numpy scalars and ctypes arrays as they are;
        ``shared_bytes`` is dynamic shared memory, also beyond 48 KiB. A kernel that ``overlaps`` may start
        before the one in front has ended, where the GPU can, and waits for it itself: ``shared/overlap.cuh``.
        ``cluster`` neighbours of the grid are a cluster, where the source declares none; ``balanced``, the
        GPU gives its blocks to the multiprocessors that have least, where it would else keep them apart.
        """
        blocks, threads = _three(grid), _three(block)
        if 0 in blocks:
            return
        if any(map(operator.gt, blocks, _MOST_BLOCKS)):
            raise Refusal(
                f"{name} would need a grid of {' x '.join(map(str, blocks))} blocks; "
                f"CUDA launches {' x '.join(map(str, _MOST_BLOCKS))} at most."
            )
        function = self._functions.get(name) or self._function(name)
        if shared_bytes > self._shared_bytes.get(name, _SHARED_UNASKED):
            _raise_shared_memory(function, shared_bytes)
            self._shared_bytes[name] = shared_bytes
        # Launch by the driver, because core.launch passes no structs.
        cells = [_cell(value) for value in arguments]
        addresses = (ctypes.c_void_p * len(cells))(*map(ctypes.addressof, cells))
        stream = torch.cuda.current_stream(self.device).cuda_stream
        overlaps = overlaps and torch.cuda.get_device_capability(self.device) >= _OVERLAPS_FROM
        if overlaps or cluster > 1:
            if cluster > max(self._clusters.get(name, 1), _CLUSTER_UNASKED):
                _allow_large_clusters(function)
            self._clusters[name] = cluster
            config = _configuration(
                blocks, threads, shared_bytes, stream, overlaps=overlaps, cluster=cluster, balanced=balanced
            )
            (error,) = driver.cuLaunchKernelEx(config, function, ctypes.addressof(addresses), 0)
        else:
            (error,) = driver.cuLaunchKernel(
                function, *blocks, *threads, shared_bytes, stream, ctypes.addressof(addresses), 0
            )
        if error != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"{name} could not be launched: {error.name}.")

    def clusters_at_once(self, name: str, block: Extent, cluster: int, shared_bytes: int = 0) -> int:
        """Clusters of a kernel that the GPU has room for: it depends on where its multiprocessors lie."""
        if name not in self._at_once:
            _, function = self._loaded(name)
            if shared_bytes > _SHARED_UNASKED:
                _raise_shared_memory(function, shared_bytes)
            config = _configuration(
                (cluster, 1, 1), _three(block), shared_bytes, 0, overlaps=False, cluster=cluster
            )
            error, count = driver.cuOccupancyMaxActiveClusters(function, config)
            self._at_once[name] = int(count) if error == driver.CUresult.CUDA_SUCCESS else 0
        return self._at_once[name]

    def _function(self, name: str) -> Any:
        """The driver's handle of a kernel that is launched."""
        self.launched[name], function = self._loaded(name)
        self._functions[name] = function
        return function

    def _loaded(self, name: str) -> tuple[Any, Any]:
        """A kernel, and the driver's handle of it."""
        kernel = self._module.get_kernel(name)
        error, function = driver.cuKernelGetFunction(int(kernel.handle))
        if error != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"{name} could not be loaded: {error.name}.")
        return kernel, function

    def info(self, compile_s: float) -> BuildInfo:
        """Facts of the kernels launched so far, of the heaviest where there are several."""
        attributes = [kernel.attributes for kernel in self.launched.values()]
        if not attributes:
            return BuildInfo(compile_s=compile_s, architecture=self.architecture)
        return BuildInfo(
            compile_s=compile_s,
            registers=max(_fact(a.num_regs) for a in attributes),
            spill_bytes=max(_fact(a.local_size_bytes) for a in attributes),
            shared_bytes=max(_fact(a.shared_size_bytes) for a in attributes),
            architecture=self.architecture,
            double_instructions=double_instructions(self._ptx) if self._ptx else None,
            kernels=tuple(
                _built(name, kernel, self._clusters.get(name, 1))
                for name, kernel in list(self.launched.items())[:_MOST_TOLD]
            ),
        )

    def code(self, budget: Budget) -> Iterator[Code]:
        """PTX and machine code of the whole source: one compilation makes all of its kernels."""
        if self._ptx:
            yield Code(CodeKind.PTX, self._name, self._ptx)
        yield from sass_of(self._name, bytes(self._module.code), budget)


def build(request: BuildRequest) -> Built:
    """Compile now. Raises Refusal where the launcher needs a newer device, and BuildError."""
    if request.entry and request.entry.offer:
        return _build_own(request, request.entry, request.entry.offer)
    stem = request.implementation.stem
    launcher = load_module(request.folder / f"{stem}.py", request.implementation.parameters)
    run = run_of(launcher, *(("program", *request.inputs) if request.inputs else ()))
    capability = torch.cuda.get_device_capability(request.device)
    needed: tuple[int, int] = getattr(launcher, "MINIMUM_COMPUTE_CAPABILITY", (7, 5))
    if capability < needed:
        raise Refusal(
            f"{request.implementation.key} needs compute capability {needed[0]}.{needed[1]}; "
            f"this GPU has {capability[0]}.{capability[1]}."
        )
    started = time.perf_counter()
    program = CudaProgram(
        request.folder / f"{stem}.cu",
        request.workload.dtype,
        architecture_of(capability),
        request.device,
        parameters=request.implementation.parameters,
        has_lines=request.has_lines,
    )
    compile_s = time.perf_counter() - started

    def call(*inputs: torch.Tensor) -> Tensors:
        return run(program, *inputs)

    return Built(call, lambda: program.info(compile_s), program.code)


def _build_own(request: BuildRequest, entry: Entry, offer: Offer) -> Built:
    """A user's bare kernel, by the launch that its form states. Raises BuildError."""
    parameters = request.implementation.parameters
    launch = bare_launch(entry, offer, request.workload.dtype, parameters)
    capability = torch.cuda.get_device_capability(request.device)
    started = time.perf_counter()
    program = CudaProgram(
        Path(entry.file),
        None,
        architecture_of(capability),
        request.device,
        [launch.kernel],
        parameters,
        has_lines=request.has_lines,
    )
    compile_s = time.perf_counter() - started

    def call(*inputs: torch.Tensor) -> Tensors:
        return launch.run(program, *inputs)

    return Built(call, lambda: program.info(compile_s), program.code)


def architecture_of(capability: tuple[int, int]) -> str:
    """NVRTC's name of the exact target, such as ``sm_90a``."""
    suffix = "a" if capability >= _SPECIFIC_FROM else ""
    return f"sm_{capability[0]}{capability[1]}{suffix}"


def compile_source(
    source: Path, dtype: Dtype | None, architecture: str, parameters: Sequence[Parameter] = ()
) -> Any:
    """Compile a ``.cu`` to a cubin; needs no GPU. Raises BuildError with NVRTC's log.

    Without a dtype ``SCALAR`` is not defined: the source names its own types.
    """
    return compiled(source, dtype, architecture, (), parameters)[0]


def compiled(
    source: Path,
    dtype: Dtype | None,
    architecture: str,
    names: Sequence[str] = (),
    parameters: Sequence[Parameter] = (),
    *,
    has_lines: bool = False,
) -> tuple[Any, str]:
    """The module, and the PTX that was made on the way to it; "" where NVRTC gives none.

    With ``names`` the source is one that was written for nvcc, and these are its kernels. Each parameter is a
    macro of its name.
    """
    macros: list[str | tuple[str, str]] = [(one.name, macro_text(one.value)) for one in parameters]
    if dtype:
        macros += [("SCALAR", _SCALAR[dtype]), f"SCALAR_IS_{dtype.upper()}"]
    folders = [cuda_include_folder()]
    if names:
        folders += [*_cccl_folders(folders[0]), source.parent]
    options = core.ProgramOptions(
        name=source.name,  # by which errors name it
        arch=architecture,
        std="c++17",
        include_path=[str(LIBRARY), *map(str, folders)],
        lineinfo=has_lines or None,
        define_macro=macros or None,
    )
    try:
        text = source.read_text()
        if names:
            text = device_text(with_headers(text, source), folders)
            text = before_device_text(text) + text
        program = core.Program(text, "c++", options)
        module = program.compile("cubin", tuple(names))
    except Exception as error:
        message = f"{source.name} does not compile for {architecture}{f' in {dtype}' if dtype else ''}."
        raise BuildError(message, str(error).replace("\0", "")) from error
    return module, _ptx(program)


def _ptx(program: Any) -> str:
    """The PTX that NVRTC has made on the way to machine code; "" where it gives none."""
    try:
        nvrtc: Any = importlib.import_module("cuda.bindings.nvrtc")
        handle = nvrtc.nvrtcProgram(int(program.handle))
        _, size = nvrtc.nvrtcGetPTXSize(handle)
        text = b" " * size
        nvrtc.nvrtcGetPTX(handle, text)
    except (ImportError, AttributeError, TypeError, ValueError):  # cuda.core before 1.0 has other handles
        return ""
    return text.decode(errors="replace").rstrip("\0")


@functools.cache
def cuda_include_folder() -> Path:
    """The CUDA headers that come with torch. Raises Unavailable."""
    spec = importlib.util.find_spec("nvidia")
    for base in spec.submodule_search_locations or [] if spec else []:
        for folder in sorted(Path(base).glob("cu*/include"), reverse=True):
            if (folder / "cuda_fp16.h").exists():
                return folder
    raise Unavailable("The CUDA headers are missing; install the `nvidia-cuda-runtime` package.")


def _cccl_folders(include: Path) -> list[Path]:
    """libcu++ and its like, which cooperative_groups.h includes: torch's, else an installed toolkit's."""
    toolkit = host.cuda_toolkit()
    beside = [include, *([toolkit / "include"] if toolkit else [])]
    found = (folder / "cccl" for folder in beside if (folder / "cccl" / "nv" / "target").exists())
    return list(islice(found, 1))


def _raise_shared_memory(function: Any, shared_bytes: int) -> None:
    """Allow a kernel this much dynamic shared memory. Raises Refusal where the GPU has less."""
    attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    (error,) = driver.cuFuncSetAttribute(function, attribute, shared_bytes)
    if error != driver.CUresult.CUDA_SUCCESS:
        raise Refusal(f"This GPU gives a block less than the {shared_bytes} B of shared memory asked for.")


def _allow_large_clusters(function: Any) -> None:
    """Allow a kernel clusters of more blocks than every GPU with clusters has. Raises Refusal."""
    attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
    (error,) = driver.cuFuncSetAttribute(function, attribute, 1)
    if error != driver.CUresult.CUDA_SUCCESS:
        raise Refusal(f"This GPU has no clusters of more than {_CLUSTER_UNASKED} blocks.")


def _configuration(
    blocks: tuple[int, ...],
    threads: tuple[int, ...],
    shared_bytes: int,
    stream: int,
    *,
    overlaps: bool,
    cluster: int,
    balanced: bool = False,
) -> Any:
    """The driver's configuration of a programmatic dependent launch, of one by clusters, or of both."""
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = blocks
    config.blockDimX, config.blockDimY, config.blockDimZ = threads
    config.sharedMemBytes, config.hStream = shared_bytes, stream
    attributes: list[Any] = []
    if overlaps:
        early = driver.CUlaunchAttribute()
        early.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        early.value.programmaticStreamSerializationAllowed = 1
        attributes.append(early)
    if cluster > 1:
        together = driver.CUlaunchAttribute()
        together.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        extents = together.value.clusterDim
        extents.x, extents.y, extents.z = cluster, 1, 1
        attributes.append(together)
    if balanced:
        where = driver.CUlaunchAttribute()
        where.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
        policy = driver.CUclusterSchedulingPolicy.CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING
        where.value.clusterSchedulingPolicyPreference = policy
        attributes.append(where)
    config.attrs, config.numAttrs = attributes, len(attributes)
    return config


def _built(name: str, kernel: Any, cluster: int) -> BuiltKernel:
    """``cluster``: its blocks where the launch has said so."""
    attributes = kernel.attributes
    return BuiltKernel(
        name,
        registers=_fact(attributes.num_regs),
        spill_bytes=_fact(attributes.local_size_bytes),
        shared_bytes=_fact(attributes.shared_size_bytes),
        cluster=(cluster, 1, 1) if cluster > 1 else _cluster(kernel),
    )


def _cluster(kernel: Any) -> tuple[int, int, int] | None:
    """As the source declares it; None for a kernel without clusters, and where the driver does not say."""
    error, function = driver.cuKernelGetFunction(int(kernel.handle))
    if error != driver.CUresult.CUDA_SUCCESS:
        return None
    extents: list[int] = []
    for axis in ("WIDTH", "HEIGHT", "DEPTH"):
        attribute: Any = getattr(
            driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_{axis}", None
        )
        if attribute is None:
            return None
        error, extent = driver.cuFuncGetAttribute(attribute, function)
        if error != driver.CUresult.CUDA_SUCCESS or not extent:
            return None
        extents.append(int(extent))
    x, y, z = extents
    return x, y, z


def _fact(value: Any) -> int:
    # It is a property since cuda-core 1.2, and was a method before.
    return cast(int, value() if callable(value) else value)


def _cell(value: Argument) -> Any:
    """The argument as C holds it."""
    if isinstance(value, torch.Tensor):
        return ctypes.c_void_p(value.data_ptr())
    if isinstance(value, int):
        return ctypes.c_longlong(value)
    if isinstance(value, np.generic):
        ctype: Any = np.ctypeslib.as_ctypes_type(cast(Any, value.dtype))
        return ctype(value.item())
    return value


def _three(extent: Extent) -> tuple[int, ...]:
    sizes = extent if isinstance(extent, tuple) else (extent,)
    return (*sizes, 1, 1)[:3]
