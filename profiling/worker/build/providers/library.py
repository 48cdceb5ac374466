"""Other people's kernels: a file's ``run`` calls Liger-Kernel, cuDNN or another library to compare with.

Only a candidate's process loads the file: some of these packages start CUDA where they are imported, which
neither the server of such processes nor the referee may do for them.
"""

from importlib.util import find_spec

from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.results.outcome import BuildInfo
from roofscope.profiling.worker.build.contract import BuildRequest, Built, FirstCall, run_of
from roofscope.profiling.worker.failures import Unavailable

# What the extra `peers` installs, by import name. Others put modules into flash_attn and cuda as well.
_PEERS = {
    "liger_kernel": "Liger-Kernel",
    "quack": "QuACK",
    "flash_attn.cute": "FlashAttention-4",
    "cuda.compute": "CUB for Python (cuda-cccl)",
    "cutlass": "The CuTe DSL (nvidia-cutlass-dsl)",
}


def build(request: BuildRequest) -> Built:
    """Load the file. The first call's time includes what the library compiles or looks up.

    Raises Unavailable where the file imports a package that is not here.
    """
    try:
        module = load_module(
            request.folder / f"{request.implementation.stem}.py", request.implementation.parameters
        )
    except ModuleNotFoundError as error:
        sentence = _missing(error.name or "")
        if not sentence:  # the package is here, and broken in itself
            raise
        raise Unavailable(sentence) from error
    call = FirstCall(run_of(module, *request.inputs))
    return Built(call, lambda: BuildInfo(compile_s=call.seconds))


def _missing(module: str) -> str:
    """One sentence where a module's package is not here, "" where it is."""
    package = module.partition(".")[0]
    if not package or (module not in _PEERS and find_spec(package)):
        return ""
    for peer, name in _PEERS.items():
        if peer.partition(".")[0] == package:
            return f"{name} is not installed; install the `peers` extra."
    return f"The package {package} is not installed here."
