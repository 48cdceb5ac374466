"""A kernel's ``reference.py``, which decides what is correct and which a user may have written."""

import traceback

from roofscope.profiling.planning.catalog import Kernel, describe_load_error, load_module
from roofscope.profiling.planning.one_file.parts import REFERENCE
from roofscope.profiling.worker.build.contract import Call, run_of
from roofscope.profiling.worker.build.own_file import entry_module
from roofscope.profiling.worker.failures import BuildError
from roofscope.profiling.worker.inputs import Derive


def load_reference(kernel: Kernel) -> tuple[Call, Derive | None]:
    """Its ``run`` and, where it has one, its ``derive``. Raises BuildError where it cannot be used."""
    entry = kernel.entries.get(REFERENCE)
    try:
        module = entry_module(entry) if entry else load_module(kernel.folder / "reference.py")
    except Exception as error:
        name = "reference" if entry else "reference.py"
        raise BuildError(
            f"its {name} cannot be used: {describe_load_error(error)}", traceback.format_exc()
        ) from error
    run = run_of(module, *(tensor.name for tensor in kernel.spec.inputs))
    return run, getattr(module, "derive", None)
