"""Kernels of others: a file's ``run`` calls Liger-Kernel, cuDNN or another library, to compare ours with."""

from importlib.util import find_spec

from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.results.outcome import BuildInfo
from roofscope.profiling.worker.build.contract import BuildRequest, Built, FirstCall, run_of
from roofscope.profiling.worker.failures import Unavailable

_PEERS = {"liger_kernel": "Liger-Kernel"}  # what the group `peers` installs, by the name it is imported by


def build(request: BuildRequest) -> Built:
    """Load the file. What the library compiles or looks up at the first call is that call's time.

    Raises Unavailable where the file imports a package that is not here.
    """
    try:
        module = load_module(request.folder / f"{request.implementation.stem}.py")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if not package or find_spec(package):  # it is here, and broken in itself
            raise
        raise Unavailable(_missing(package)) from error
    call = FirstCall(run_of(module, *request.inputs))
    return Built(call, lambda: BuildInfo(compile_s=call.seconds))


def _missing(package: str) -> str:
    if name := _PEERS.get(package):
        return f"{name} is not installed; install the `peers` group."
    return f"The package {package} is not installed here."
