"""Which values of the parameters a run takes, and a plan's jobs with a variant for each combination."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from roofscope.profiling.planning.parameters import Parameter, Value, combinations, value_text
from roofscope.profiling.planning.plan import Job, PlanError
from roofscope.profiling.planning.spec import Implementation

ALL = "all"
MOST_VARIANTS = 64  # of a job: they are built in one process and timed in turn
_NAMED = 3  # implementations, in a sentence
_SHOWN = 60  # characters of what a user wrote


class Setting(Struct, frozen=True):
    """The values that are wanted of one parameter, as they were written; "" stands for every parameter."""

    name: str
    words: tuple[str, ...]

    def concerns(self, parameter: Parameter) -> bool:
        return not self.name or parameter.name == self.name or parameter.name.lower() == self.name.lower()


def parse_settings(options: Iterable[str]) -> tuple[Setting, ...]:
    """From words such as ``BLOCK=64,128``, ``BLOCK=all`` or ``all``. Raises PlanError."""
    found: list[Setting] = []
    for option in options:
        name, equals, values = (part.strip() for part in option.partition("="))
        if option.strip() == ALL:
            found.append(Setting("", (ALL,)))
            continue
        words = tuple(dict.fromkeys(word.strip() for word in values.split(",")))
        if not (name and equals and all(words)):
            raise PlanError(f"{option[:_SHOWN]!r} sets no parameter; write it like BLOCK=64,128 or all.")
        if any(one.name.lower() == name.lower() for one in found):
            raise PlanError(f"{name} is set twice; write its values in one, as in {name}=64,128.")
        found.append(Setting(name, words))
    return tuple(sorted(found, key=lambda one: bool(one.name)))  # a parameter's own setting comes last


def with_settings(jobs: Sequence[Job], settings: Sequence[Setting]) -> tuple[Job, ...]:
    """The jobs with a variant of each implementation for each combination of the values. Raises PlanError."""
    if not settings:
        return tuple(jobs)
    declaring = {one.key: one for job in jobs for one in job.implementations if one.parameters}
    _require_known(settings, declaring)
    return tuple(_expanded(job, settings) for job in jobs)


def variants(implementation: Implementation, settings: Sequence[Setting]) -> tuple[Implementation, ...]:
    """An implementation in each combination of the values; as it is where it declares none of these names.

    Raises PlanError.
    """
    wanted: dict[str, tuple[Value, ...]] = {}
    for setting in settings:
        for parameter in filter(setting.concerns, implementation.parameters):
            wanted[parameter.name] = _values(implementation, parameter, setting.words)
    if not wanted:
        return (implementation,)
    count = _count(wanted)
    if count > MOST_VARIANTS:
        raise PlanError(_too_many(implementation.key, count, wanted))
    return tuple(map(implementation.with_parameters, combinations(implementation.parameters, wanted)))


def _expanded(job: Job, settings: Sequence[Setting]) -> Job:
    found = [variants(one, settings) for one in job.implementations]
    count = sum(len(each) for each in found if each[0].parameters)
    if count > MOST_VARIANTS:
        raise PlanError(
            f"{job.workload.kernel} comes to {count} variants in a job; {MOST_VARIANTS} are the most. "
            "Name one version, or fewer values, as in BLOCK=64,128."
        )
    return replace(job, implementations=tuple(one for each in found for one in each))


def _values(implementation: Implementation, parameter: Parameter, words: Sequence[str]) -> tuple[Value, ...]:
    if ALL in words:
        return parameter.choices
    found: list[Value] = []
    for word in words:
        value = parameter.choice(word)
        if value is None:
            raise PlanError(
                f"{implementation.stem} declares {parameter.choices_text}; {word[:_SHOWN]!r} is none of them."
            )
        found.append(value)
    return tuple(dict.fromkeys(found))


def _count(wanted: Mapping[str, Sequence[Value]]) -> int:
    count = 1
    for values in wanted.values():
        count *= len(values)
    return count


def _too_many(key: str, count: int, wanted: Mapping[str, Sequence[Value]]) -> str:
    longest = max(wanted, key=lambda name: len(wanted[name]))
    some = ",".join(map(value_text, wanted[longest][:2]))
    product = " x ".join(f"{len(values)} of {name}" for name, values in wanted.items())
    return (
        f"{key} comes to {count} combinations ({product}); {MOST_VARIANTS} are the most in a run. Name fewer "
        f"values, as in {longest}={some}."
    )


def _require_known(settings: Sequence[Setting], declaring: Mapping[str, Implementation]) -> None:
    for setting in settings:
        known = [one for one in declaring.values() if any(map(setting.concerns, one.parameters))]
        if known:
            continue
        if not declaring:
            raise PlanError("None of the versions chosen declares a parameter; `roofscope list` shows those.")
        some = "; ".join(f"{one.stem} has {_names(one)}" for one in list(declaring.values())[:_NAMED])
        raise PlanError(
            f"None of the versions chosen declares a parameter {setting.name[:_SHOWN]!r}: {some}."
        )


def _names(implementation: Implementation) -> str:
    return ", ".join(one.name for one in implementation.parameters)
