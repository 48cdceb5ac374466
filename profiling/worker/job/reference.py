"""A kernel's ``reference.py``, which decides what is correct and which a user may have written."""

import importlib
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from roofscope.profiling.planning.catalog import Kernel, describe_load_error, load_module
from roofscope.profiling.planning.one_file.parts import REFERENCE
from roofscope.profiling.worker.build.contract import Call, run_of
from roofscope.profiling.worker.build.own_file import entry_module
from roofscope.profiling.worker.candidate.torch_state import OwnSettings
from roofscope.profiling.worker.failures import BuildError
from roofscope.profiling.worker.inputs import Derive

_OURS = __name__.partition(".")[0]
_INSTALLED = frozenset(("site-packages", "dist-packages"))
Value = TypeVar("Value")


def load_reference(kernel: Kernel) -> tuple[Call, Derive | None]:
    """Its ``run`` and, where it has one, its ``derive``. Raises BuildError where it cannot be used."""
    entry = kernel.entries.get(REFERENCE)
    surroundings = Surroundings(Path(entry.file).parent if entry else kernel.folder)
    try:
        with surroundings.entered():
            module = entry_module(entry) if entry else load_module(kernel.folder / "reference.py")
    except Exception as error:
        name = "reference" if entry else "reference.py"
        raise BuildError(
            f"its {name} cannot be used: {describe_load_error(error)}", traceback.format_exc()
        ) from error
    run = run_of(module, *(tensor.name for tensor in kernel.spec.inputs))
    derive: Derive | None = getattr(module, "derive", None)
    return surroundings.around(run), surroundings.around(derive) if derive else None


class Surroundings:
    """What a reference does to this process, which outlives it: there while it runs, and for it alone.

    That is where Python searches, what it has imported from the user's own folders, and torch's settings.
    Another reference may have a helper of the same name, and this one's may be edited before the next job.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: list[str] | None = None
        self._modules: dict[str, ModuleType] = {}
        self._settings = OwnSettings()

    def around(self, function: Callable[..., Value]) -> Callable[..., Value]:
        """The function, run in these surroundings."""

        def call(*inputs: Any) -> Value:
            with self.entered():
                return function(*inputs)

        return call

    @contextmanager
    def entered(self) -> Generator[None]:
        """While the reference is loaded or called."""
        paths, writes = sys.path[:], sys.dont_write_bytecode
        hidden = {name: sys.modules.pop(name) for name in self._modules if name in sys.modules}
        loaded = set(sys.modules)
        if self._paths is None:
            importlib.invalidate_caches()
        else:
            sys.path[:] = self._paths
        sys.modules.update(self._modules)
        sys.dont_write_bytecode = True  # it would stand for any text of the same second and length
        try:
            with self._settings.applied():
                yield
        finally:
            self._paths = sys.path[:]
            folders = self._folders(set(self._paths) - set(paths))
            for name in set(sys.modules) - loaded:
                if name in self._modules or _is_of(sys.modules[name], name, folders):
                    self._modules[name] = sys.modules.pop(name)
            sys.modules.update(hidden)
            sys.path[:] = paths
            sys.dont_write_bytecode = writes

    def _folders(self, added: set[str]) -> list[Path]:
        home = self._folder
        while (home / "__init__.py").exists():
            home = home.parent
        return [home.resolve(), *(Path(path).resolve() for path in added)]


def _is_of(module: object, name: str, folders: list[Path]) -> bool:
    """Whether a module comes from one of these folders, and is not installed there."""
    if name.partition(".")[0] == _OURS:
        return False
    packages = getattr(module, "__path__", None)
    file = getattr(module, "__file__", None) or next(iter(packages or ()), None)
    if not isinstance(file, str):
        return False
    path = Path(file).resolve()
    return any(path.is_relative_to(folder) and not _INSTALLED & {*path.parts} for folder in folders)
