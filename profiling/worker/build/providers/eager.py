"""Plain PyTorch: the file's ``run``, as it is, of ``eager.py`` or of another way to write it."""

from roofscope.profiling.results.outcome import BuildInfo
from roofscope.profiling.worker.build.contract import BuildRequest, Built, run_of
from roofscope.profiling.worker.build.own_file import module_of


def build(request: BuildRequest) -> Built:
    """Nothing is compiled, so the compile time is 0."""
    module = module_of(request, f"{request.implementation.stem}.py")
    return Built(run_of(module, *request.inputs), lambda: BuildInfo(compile_s=0.0))
