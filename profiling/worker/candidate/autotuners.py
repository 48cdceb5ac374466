"""Watches Triton's autotuners while an implementation is called: what each tries, and what it chooses.

Wherever an autotuner is defined, its calls come by ``Autotuner.run``; that is watched during the first calls
alone, so no timed call pays for it. What is read is the same in Triton 3.6 to 3.9: the attributes that
``run`` looks up on the autotuner itself (``prune_configs``, ``_bench``, ``do_bench``, ``cache``).
"""

import math
import sys
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from roofscope.profiling.results.tuning import (
    LONGEST_REASON,
    MOST_CONFIGURATIONS,
    MOST_OPTIONS,
    MOST_TUNINGS,
    Configuration,
    LeftOut,
    Tuning,
    bounded,
    text_of,
)
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.failures import first_line

_MOST_SECONDS = 1e9
_MOST_COUNT = 2**31 - 1
_MOST_KEYS = 32


class _Trial:
    """One tuning as it happens, for one key. Configurations are known by what can be read of them."""

    def __init__(self, offered: Iterable[Any]) -> None:
        self.found = {configuration_of(config): config for config in offered}
        self.offered = tuple(self.found)
        self.seconds: dict[Configuration, float] = {}
        self.left_out: dict[Configuration, tuple[LeftOut, str]] = {}
        self.tuning_s: float | None = None
        self.is_cached = False

    def left(self, kept: Iterable[Any], before: Iterable[Configuration], why: LeftOut, reason: str) -> None:
        """Those of ``before`` that are not kept any more."""
        for config in kept:
            self.found.setdefault(configuration_of(config), config)
        of_kept = {configuration_of(config) for config in kept}
        for one in before:
            if one not in of_kept and one not in self.left_out:
                self.left_out[one] = (why, reason)

    def timed(self, config: Any, found: object, trouble: BaseException | None) -> None:
        """What a benchmark gave, in milliseconds, and what a call raised meanwhile."""
        one = configuration_of(config)
        self.found.setdefault(one, config)
        seconds = _seconds(found)
        if seconds is not None:
            self.seconds[one] = seconds
        elif trouble is not None:
            self.left_out[one] = _why(trouble)
        else:
            self.left_out[one] = (LeftOut.FAILED, "its timer gave no time")


class _NotedCache(dict[Any, Any]):
    """An autotuner's cache that remembers which key was read last: that of the call."""

    last: Any = None

    def __getitem__(self, key: Any) -> Any:
        self.last = key
        return super().__getitem__(key)


class _Launched:
    """An autotuner's choice in a call."""

    def __init__(self, tuner: Any, key: Any, names: tuple[str, ...], trial: _Trial) -> None:
        """``names``: of the arguments whose values the key begins with."""
        self.tuner, self.key, self.names, self.trial = tuner, key, names, trial


class Autotuners:
    """Of the implementations of one process."""

    def __init__(self) -> None:
        self._trials: dict[tuple[int, Any], _Trial] = {}  # by autotuner and key
        self._kept: list[Any] = []  # autotuners by whose ``id`` trials are known
        self._launched: dict[int, list[_Launched]] = {}  # by implementation, of its last call

    @contextmanager
    def watching(self, number: int) -> Generator[None]:
        """Watch a call of this implementation, or several: the last one counts."""
        module: Any = sys.modules.get("triton.runtime.autotuner")
        kind = getattr(module, "Autotuner", None)
        if not isinstance(kind, type):
            yield
            return
        original: Any = kind.run  # type: ignore[attr-defined]
        launched: list[_Launched] = []
        self._launched[number] = launched

        def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            return self._run(original, launched, tuner, args, kwargs)

        kind.run = run  # type: ignore[attr-defined]
        try:
            yield
        finally:
            kind.run = original  # type: ignore[attr-defined]

    def tunings(self, number: int) -> tuple[Tuning, ...]:
        """Of the implementation's watched calls, in the order of their launches."""
        return bounded(_tuning(each) for each in self._launched.get(number, ())[:MOST_TUNINGS])

    def with_choice(self, number: int, place: int, chosen: Configuration, call: Call) -> Call:
        """The call with another configuration chosen by the autotuner of its tuning ``place``.

        Raises LookupError where there is no such choice.
        """
        launched = self._launched[number][place]
        plain = replace(chosen, seconds=None, left_out=None, reason="")
        tuner, key, config = launched.tuner, launched.key, launched.trial.found[plain]

        def forced(*inputs: Any) -> Any:
            cache, winner = tuner.cache, tuner.cache[key]
            cache[key] = config
            try:
                return call(*inputs)
            finally:
                cache[key] = tuner.best_config = winner

        return forced

    def _run(
        self, original: Callable[..., Any], launched: list[_Launched], tuner: Any, args: Any, kwargs: Any
    ) -> Any:
        cache = tuner.cache
        noted = _NotedCache(cache)
        tuner.cache = noted
        trials: list[_Trial] = []
        started = time.perf_counter()
        try:
            with _watched(tuner, trials):
                found = original(tuner, *args, **kwargs)
        finally:
            cache.update(noted)
            tuner.cache = cache
        if noted.last is None:  # a single configuration: nothing is looked up
            trial = _Trial(tuner.configs)
        elif trials:
            trial = trials[-1]
            _complete(trial, tuner, time.perf_counter() - started)
        else:
            trial = self._trials.get((id(tuner), noted.last)) or _Trial(tuner.configs)
        if (id(tuner), noted.last) not in self._trials or trials:
            self._kept.append(tuner)
            self._trials[id(tuner), noted.last] = trial
        present = {*tuner.arg_names[: len(args)], *kwargs}
        names = tuple(str(name) for name in tuner.keys if name in present)
        launched[:] = [each for each in launched if each.tuner is not tuner or each.key != noted.last]
        launched.append(_Launched(tuner, noted.last, names, trial))
        return found


@contextmanager
def _watched(tuner: Any, trials: list[_Trial]) -> Generator[None]:
    """While it runs, the autotuner's own steps are ours, which carry out its own and note what they gave."""
    prune, bench = tuner.prune_configs, tuner._bench

    def pruned(kwargs: Any) -> Any:
        trial = _Trial(tuner.configs)
        trials.append(trial)
        early, before = getattr(tuner, "early_config_prune", None), trial.offered

        def early_kept(configs: Any, *args: Any, **named: Any) -> Any:
            nonlocal before
            assert early is not None
            kept = early(configs, *args, **named)
            trial.left(kept, before, LeftOut.PRUNED, f"by {text_of(getattr(early, '__name__', ''))}")
            before = tuple(one for one in trial.found if one not in trial.left_out)
            return kept

        with _replaced(tuner, **({"early_config_prune": early_kept} if early else {})):
            kept = prune(kwargs)
        trial.left(kept, before, LeftOut.MODEL, "")
        return kept

    def benched(*args: Any, config: Any, **meta: Any) -> Any:
        trial = trials[-1] if trials else _Trial(tuner.configs)
        timer, troubles = tuner.do_bench, list[BaseException]()

        def timed(call: Callable[[], Any], *rest: Any, **named: Any) -> Any:
            def noted() -> Any:
                try:
                    return call()
                except Exception as error:
                    troubles.append(error)
                    raise

            return timer(noted, *rest, **named)

        found: object = None
        try:
            with _replaced(tuner, do_bench=timed):
                found = bench(*args, config=config, **meta)
        except Exception as error:
            troubles.append(error)
            raise
        finally:
            trial.timed(config, found, troubles[0] if troubles else None)
        return found

    with _replaced(tuner, prune_configs=pruned, _bench=benched):
        yield


@contextmanager
def _replaced(owner: Any, **attributes: Any) -> Generator[None]:
    """Attributes of the object itself for a while, in front of those of its class."""
    own = vars(owner)
    before = {name: own[name] for name in attributes if name in own}
    own.update(attributes)
    try:
        yield
    finally:
        for name in attributes:
            own.pop(name, None)
        own.update(before)


def _complete(trial: _Trial, tuner: Any, wall_s: float) -> None:
    """A tuning that was on disk has times and no trials; the last timings are that one's."""
    if trial.seconds or trial.left_out.keys() >= set(trial.offered):
        trial.tuning_s = min(wall_s, _MOST_SECONDS)
        return
    timings = getattr(tuner, "configs_timings", None)
    if not isinstance(timings, dict) or len(trial.found) - len(trial.left_out) == 1:
        return
    trial.is_cached = True
    for config, found in timings.items():
        trial.timed(config, found, None)
        if (one := configuration_of(config)) in trial.left_out:
            trial.left_out[one] = (LeftOut.NOT_TIMED, "the tuning kept on disk does not say why")


def _tuning(launched: _Launched) -> Tuning:
    tuner, trial = launched.tuner, launched.trial
    config = tuner.configs[0] if launched.key is None else tuner.cache[launched.key]
    winner = configuration_of(config)
    trial.found.setdefault(winner, config)
    order = list(trial.found)
    if order.index(winner) >= MOST_CONFIGURATIONS:
        order.insert(0, order.pop(order.index(winner)))
    kept = [_with_time(one, trial) for one in order[:MOST_CONFIGURATIONS]]
    return Tuning(
        kernel=text_of(getattr(getattr(tuner, "base_fn", None), "__name__", "kernel")),
        key=_key(launched.names, launched.key),
        configurations=tuple(kept),
        winner=order.index(winner),
        tuning_s=trial.tuning_s,
        is_cached=trial.is_cached,
        more=len(order) - len(kept),
    )


def _with_time(one: Configuration, trial: _Trial) -> Configuration:
    if one in trial.seconds:
        return replace(one, seconds=trial.seconds[one])
    why, reason = trial.left_out.get(one, (LeftOut.NOT_TIMED, ""))
    return replace(one, left_out=why, reason=reason)


def configuration_of(config: Any) -> Configuration:
    """What can be read of a ``triton.Config``, without time or reason."""
    options = getattr(config, "kwargs", None)
    pairs = options.items() if isinstance(options, dict) else ()
    hook = getattr(config, "pre_hook", None)
    return Configuration(
        options=tuple((text_of(name), text_of(value)) for name, value in [*pairs][:MOST_OPTIONS]),
        warps=_count(getattr(config, "num_warps", None)),
        stages=_count(getattr(config, "num_stages", None)),
        ctas=_count(getattr(config, "num_ctas", None)),
        most_registers=_count(getattr(config, "maxnreg", None)),
        pre_hook="" if hook is None else text_of(getattr(hook, "__name__", type(hook).__name__)),
    )


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= _MOST_COUNT else None


def _key(names: tuple[str, ...], key: tuple[object, ...] | None) -> tuple[str, ...]:
    """Values by the names of the arguments; after these come the dtypes of its tensors."""
    if key is None:
        return ()
    named = [f"{name}={text_of(value)}" for name, value in zip(names, key, strict=False)]
    dtypes = dict.fromkeys(text_of(value) for value in key[len(named) :])
    return tuple(text_of(each) for each in [*named, *dtypes][:_MOST_KEYS])


def _seconds(found: object) -> float | None:
    """Of milliseconds, or of a median and its quantiles; None for what is no time."""
    first = found[0] if isinstance(found, list | tuple) and found else found
    try:
        seconds = float(first) / 1e3  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return seconds if math.isfinite(seconds) and 0 <= seconds <= _MOST_SECONDS else None


def _why(trouble: BaseException) -> tuple[LeftOut, str]:
    """By the names of Triton's errors: its classes moved between modules."""
    kinds = {kind.__name__ for kind in type(trouble).__mro__}
    if "OutOfResources" in kinds:
        name, needed, limit = (getattr(trouble, each, "") for each in ("name", "required", "limit"))
        return LeftOut.RESOURCES, text_of(f"{name}: {needed} needed, {limit} there", LONGEST_REASON)
    if "CompilationError" in kinds:  # which quotes the kernel first, from its beginning
        said, line = getattr(trouble, "error_message", None), getattr(trouble, "node", None)
        at = getattr(line, "lineno", None)
        where = f"line {at} of the kernel: " if isinstance(at, int) else ""
        words = str(said).strip() if said else type(trouble).__name__
        return LeftOut.COMPILE_ERROR, text_of(f"{where}{words.splitlines()[0]}", LONGEST_REASON)
    reason = text_of(first_line(trouble), LONGEST_REASON)
    return LeftOut.COMPILE_ERROR if "PTXASError" in kinds else LeftOut.FAILED, reason
