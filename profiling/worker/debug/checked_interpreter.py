"""Triton's interpreter with a check before each access: no element beyond a tensor is touched, each is noted.

A pointer keeps the tensor that it came from through all arithmetic, so that an address that happens to lie in
another tensor counts as out of range too. Written for Triton 3.6 to 3.9, whose builders differ in their last
arguments only. TRITON_INTERPRET must be set before Triton is imported.
"""

import functools
import inspect
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from triton.runtime import interpreter

from roofscope.profiling.results.debugging import AccessKind, Argument, Seen
from roofscope.profiling.worker.debug.fresh_memory import PATTERNS, FreshMemory
from roofscope.profiling.worker.debug.user_lines import UserLines
from roofscope.profiling.worker.debug.watched_launch import Home, WatchedLaunch

_native: Any = interpreter._interpreter  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
_ITEM_PATTERNS = {
    1: (),
    2: (PATTERNS[torch.float16][1], PATTERNS[torch.bfloat16][1], PATTERNS[torch.int16][1]),
    4: (PATTERNS[torch.float32][1], PATTERNS[torch.int32][1]),
    8: (PATTERNS[torch.float64][1], PATTERNS[torch.int64][1]),
}
_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {"create_mul": np.multiply, "create_add": np.add}
_HOME = "roofscope.home"


class CheckedInterpreter:
    """While it is ``entered`` each launch is watched; ``seen`` is what came of all of them so far."""

    def __init__(self, lines: UserLines, memory: FreshMemory) -> None:
        self._lines = lines
        self._memory = memory
        self._launch: WatchedLaunch | None = None
        self._has_mask = True
        self._seen: list[Seen] = []

    @property
    def seen(self) -> tuple[Seen, ...]:
        return (*self._seen, *(self._launch.seen() if self._launch else ()))

    @property
    def launched(self) -> bool:
        return bool(self._seen)

    @contextmanager
    def entered(self) -> Generator[None]:
        builder: Any = interpreter.InterpreterBuilder
        before: list[tuple[Any, str, Any]] = []

        def put(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
            if (own := vars(owner).get(name)) is not None:
                before.append((owner, name, own))
                setattr(owner, name, make(own))

        own_makers = [name for name in vars(builder) if name.startswith("create_")]
        for name in own_makers:
            put(builder, name, self._keeps_home)
        for name in _OPERATIONS:
            put(builder, name, functools.partial(self._checks_overflow, name))
        for name in ("create_load", "create_store"):
            put(builder, name, self._without_mask)
        put(builder, "create_masked_load", self._loads)
        put(builder, "create_masked_store", self._stores)
        put(builder, "create_atomic_rmw", self._adds)
        put(builder, "create_atomic_cas", self._exchanges)
        put(interpreter, "_implicit_cvt", self._converts)
        put(interpreter.GridExecutor, "__call__", self._launches)
        try:
            yield
        finally:
            for owner, name, own in reversed(before):
                setattr(owner, name, own)

    def _keeps_home(self, own: Any) -> Any:
        """What is made of a pointer belongs to the tensor of that pointer."""

        @functools.wraps(own)
        def create(builder: Any, *args: Any, **kwargs: Any) -> Any:
            made = own(builder, *args, **kwargs)
            if isinstance(made, interpreter.TensorHandle) and _is_pointer(made) and _HOME not in made.attr:
                for one in (*args, *kwargs.values()):
                    if isinstance(one, interpreter.TensorHandle) and _HOME in one.attr:
                        made.attr[_HOME] = one.attr[_HOME]
                        break
            return made

        return create

    def _checks_overflow(self, name: str, own: Any) -> Any:
        operation = _OPERATIONS[name]

        @functools.wraps(own)
        def create(builder: Any, lhs: Any, rhs: Any, *args: Any, **kwargs: Any) -> Any:
            made = own(builder, lhs, rhs, *args, **kwargs)
            if made.data.dtype == np.int32 and lhs.dtype.scalar == tl.int32 and self._launch:
                wide = operation(lhs.data.astype(np.int64), rhs.data.astype(np.int64))
                beyond = (wide > 2**31 - 1) | (wide < -(2**31))
                if beyond.any():
                    self._launch.note_overflow(name.removeprefix("create_"), int(wide[beyond].flat[0]))
            return made

        return create

    def _without_mask(self, own: Any) -> Any:
        @functools.wraps(own)
        def create(builder: Any, *args: Any, **kwargs: Any) -> Any:
            self._has_mask = False
            try:
                return own(builder, *args, **kwargs)
            finally:
                self._has_mask = True

        return create

    def _loads(self, own: Any) -> Any:
        @functools.wraps(own)
        def create(builder: Any, ptrs: Any, mask: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
            mask = _as_handle(mask)
            checked = self._checked(builder, AccessKind.LOAD, ptrs, mask)
            if checked is None:
                return own(builder, ptrs, mask, other, *args, **kwargs)
            launch, home, mask = checked
            made = own(builder, ptrs, mask, other, *args, **kwargs)
            if home is not None and mask.data.any():
                addresses = _whole(ptrs.data, mask.data)
                launch.note_load(home, addresses[mask.data])
                launch.note_unset(AccessKind.LOAD, home, addresses, _unset(made.data) & mask.data)
            return made

        return create

    def _stores(self, own: Any) -> Any:
        @functools.wraps(own)
        def create(builder: Any, ptrs: Any, value: Any, mask: Any, *args: Any, **kwargs: Any) -> Any:
            mask = _as_handle(mask)
            checked = self._checked(builder, AccessKind.STORE, ptrs, mask)
            if checked is None:
                return own(builder, ptrs, value, mask, *args, **kwargs)
            launch, home, mask = checked
            is_watched = home is not None and mask.data.any()
            if not is_watched:
                return own(builder, ptrs, value, mask, *args, **kwargs)
            stored = np.broadcast_to(np.asarray(value.data), mask.data.shape)
            lay = self._held(ptrs, mask, stored)
            made = own(builder, ptrs, value, mask, *args, **kwargs)
            chosen = _whole(ptrs.data, mask.data)[mask.data]
            launch.note_store(home, chosen, _differs(lay, stored)[mask.data])
            left = self._held(ptrs, mask, stored)
            launch.note_twice(home, chosen, _differs(left, stored)[mask.data])
            return made

        return create

    def _adds(self, own: Any) -> Any:
        @functools.wraps(own)
        def create(
            builder: Any, operation: Any, ptr: Any, val: Any, mask: Any, *args: Any, **kwargs: Any
        ) -> Any:
            checked = self._checked(builder, AccessKind.ATOMIC, ptr, mask)
            if checked is None:
                return own(builder, operation, ptr, val, mask, *args, **kwargs)
            launch, home, mask = checked
            made = own(builder, operation, ptr, val, mask, *args, **kwargs)
            if home is not None and mask.data.any():
                addresses = _whole(ptr.data, mask.data)
                launch.note_atomic(home, addresses[mask.data])
                launch.note_unset(AccessKind.ATOMIC, home, addresses, _unset(made.data) & mask.data)
            return made

        return create

    def _exchanges(self, own: Any) -> Any:
        @functools.wraps(own)
        def create(builder: Any, ptr: Any, *args: Any, **kwargs: Any) -> Any:
            home = ptr.attr.get(_HOME)
            if self._launch and home is not None:
                everywhere = np.ones(ptr.data.shape, bool)
                self._where(builder)
                allowed = self._launch.inside(
                    AccessKind.ATOMIC, home, ptr.data, everywhere, home.itemsize, has_mask=False
                )
                if allowed.all():
                    self._launch.note_atomic(home, ptr.data.reshape(-1))
            return own(builder, ptr, *args, **kwargs)

        return create

    def _checked(self, builder: Any, kind: AccessKind, ptrs: Any, mask: Any) -> Any:
        """The launch, the tensor and the mask of what may be touched; None where nothing is watched."""
        launch = self._launch
        if launch is None:
            return None
        self._where(builder)
        shape = np.broadcast_shapes(ptrs.data.shape, mask.data.shape)
        wanted = np.broadcast_to(np.asarray(mask.data, bool), shape)
        addresses = np.broadcast_to(ptrs.data, shape)
        home = ptrs.attr.get(_HOME) or launch.home_of(addresses, wanted)
        width = max(1, ptrs.get_element_ty().primitive_bitwidth // 8)
        allowed = launch.inside(kind, home, addresses, wanted, width, has_mask=self._has_mask)
        if allowed is wanted:
            return launch, home, mask
        return launch, home, interpreter.TensorHandle(np.ascontiguousarray(allowed), tl.int1)

    def _where(self, builder: Any) -> None:
        assert self._launch
        self._launch.program, self._launch.grid = builder.grid_idx, builder.grid_dim

    def _held(self, ptrs: Any, mask: Any, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What lies in memory now."""
        kind = interpreter._get_np_dtype(ptrs.get_element_ty())  # pyright: ignore[reportPrivateUsage]
        nothing = np.zeros(ptrs.data.shape, dtype=kind)
        found = _native.load(ptrs.data, mask.data, nothing, kind)
        return np.broadcast_to(found, like.shape)

    def _converts(self, own: Any) -> Any:
        """An argument of a launch becomes a pointer here."""

        def convert(arg: Any) -> Any:
            made = own(arg)
            if self._launch and hasattr(arg, "untyped_storage") and isinstance(made, tl.tensor):
                home = self._launch.homes.get(arg.untyped_storage().data_ptr())
                if home is not None:
                    made.handle.attr[_HOME] = home
            return made

        return convert

    def _launches(self, own: Any) -> Any:
        def call(executor: Any, *args: Any, **kwargs: Any) -> Any:
            self._launch = self._begin(executor, args, kwargs)
            own_builder: Any = interpreter.interpreter_builder
            try:
                return own(executor, *args, **kwargs)
            finally:
                self._launch.grid = tuple(getattr(own_builder, "grid_dim", (1, 1, 1)))
                self._seen += self._launch.seen()
                self._launch = None

        return call

    def _begin(self, executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> WatchedLaunch:
        signature = inspect.signature(executor.fn)
        named = {name: value for name, value in kwargs.items() if name in signature.parameters}
        try:
            bound = signature.bind(*args, **named)
            bound.apply_defaults()
            given = bound.arguments
        except TypeError:  # the interpreter itself says what is missing
            given = {}
        tensors = {name: one for name, one in _flat(given) if isinstance(one, torch.Tensor)}
        homes: dict[int, Home] = {}
        for name, tensor in tensors.items():
            storage = tensor.untyped_storage()
            start = storage.data_ptr()
            homes.setdefault(
                start,
                Home(
                    start,
                    start + storage.nbytes(),
                    tensor.data_ptr(),
                    tensor.element_size(),
                    tensor.numel(),
                    name,
                    self._memory.is_fresh(start),
                    self._memory.made_at(start),
                ),
            )
        arguments = tuple(self._argument(name, tensor) for name, tensor in tensors.items())
        integers = tuple((name, one) for name, one in given.items() if type(one) is int)
        return WatchedLaunch(
            executor.fn.__name__, self._lines.here(), self._lines.here, homes, arguments, integers
        )

    def _argument(self, name: str, tensor: torch.Tensor) -> Argument:
        return Argument(
            name,
            tuple(tensor.shape),
            tuple(tensor.stride()),
            str(tensor.dtype).removeprefix("torch."),
            tensor.is_contiguous(),
            self._memory.is_of_host(tensor),
        )


def _flat(given: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Arguments by name, also those in tuples and in tensor descriptors."""
    for name, one in given.items():
        if isinstance(one, tuple):
            yield from _flat({f"{name}[{at}]": part for at, part in enumerate(one)})
        elif (
            hasattr(one, "base")
            and isinstance(getattr(one, "base", None), torch.Tensor)
            and not isinstance(one, torch.Tensor)
        ):
            yield name, one.base
        else:
            yield name, one


def _as_handle(mask: Any) -> Any:
    """Triton 3.6 gives plain arrays where a descriptor or a block pointer makes the mask."""
    return interpreter.TensorHandle(mask, tl.int1) if isinstance(mask, np.ndarray) else mask


def _is_pointer(handle: Any) -> bool:
    return isinstance(getattr(handle.dtype, "scalar", handle.dtype), tl.pointer_type)


def _whole(addresses: np.ndarray[Any, Any], mask: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.broadcast_to(addresses, mask.shape)


def _unset(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Where values are the pattern of memory that was never written."""
    patterns = _ITEM_PATTERNS.get(values.dtype.itemsize, ())
    bits = _bits(values)
    found = np.zeros(values.shape, bool)
    for pattern in patterns:
        found |= bits == bits.dtype.type(pattern)
    return found


def _differs(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return _bits(one) != _bits(other.astype(one.dtype, copy=False))


def _bits(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    whole = np.ascontiguousarray(values)
    return whole.view(np.dtype(f"u{whole.dtype.itemsize}")) if whole.dtype != bool else whole.view(np.uint8)


VERSION: str = triton.__version__
