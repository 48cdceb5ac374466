"""The launchers of CUDA C++ versions, and their sources: for tests of what they choose."""

from types import ModuleType

from roofscope.profiling.planning.catalog import load_module
from roofscope.tests.kernels.cases import CATALOG


def launcher(kernel: str, stem: str) -> ModuleType:
    found = CATALOG.kernel(kernel)
    assert found is not None
    return load_module(found.folder / f"{stem}.py")


def source(kernel: str, stem: str) -> str:
    found = CATALOG.kernel(kernel)
    assert found is not None
    return (found.folder / f"{stem}.cu").read_text()
