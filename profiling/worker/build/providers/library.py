"""Other people's kernels: a file's ``run`` calls Liger-Kernel, cuDNN or another library to compare with."""

from importlib.util import find_spec

from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.results.outcome import BuildInfo
from roofscope.profiling.worker.build.contract import BuildRequest, Built, FirstCall, run_of
from roofscope.profiling.worker.failures import Unavailable

_PEERS = {"liger_kernel": "Liger-Kernel"}  # what the extra `peers` installs, by import name


def build(request: BuildRequest) -> Built:
    """Load the file. The first call's time includes what the library compiles or looks up.

    Raises Unavailable where the file imports a package that is not here.
    """
    try:
        module = load_module(
            request.folder / f"{request.implementation.stem}.py", request.implementation.parameters
        )
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if not package or find_spec(package):  # the package is here, and broken in itself
            raise
        raise Unavailable(_missing(package)) from error
    call = FirstCall(run_of(module, *request.inputs))
    return Built(call, lambda: BuildInfo(compile_s=call.seconds))


def _missing(package: str) -> str:
    if name := _PEERS.get(package):
        return f"{name} is not installed; install the `peers` extra."
    return f"The package {package} is not installed here."
