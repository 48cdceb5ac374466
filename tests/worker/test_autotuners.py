"""What an autotuner tried comes with the outcome, and its winner is timed beside its runner-up."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch

from roofscope.profiling.decoding import decode
from roofscope.profiling.devices.device import DeviceState
from roofscope.profiling.results.outcome import Measured, Method, Outcome
from roofscope.profiling.results.tuning import LeftOut, Tuning
from roofscope.profiling.worker.candidate.autotuners import Autotuners
from roofscope.profiling.worker.candidate.messages import Asked, Block
from roofscope.profiling.worker.inputs import as_tuple
from roofscope.profiling.worker.job import link
from roofscope.profiling.worker.job.candidate_process import Heard, Look, OwnProcess
from roofscope.profiling.worker.timing.block import BlockReading
from roofscope.profiling.worker.timing.rounds import _at_once, _compared  # pyright: ignore[reportPrivateUsage]
from roofscope.profiling.worker.timing.turn import Block as TurnBlock
from roofscope.profiling.worker.timing.turn import Turn
from roofscope.tests.worker.autotuned import measured, source

pytest.importorskip("triton")


def tuning_of(root: Path, text: str, connect: type[OwnProcess] = OwnProcess) -> Tuning:
    [found] = decode(measured(root, text, connect), tuple[Outcome, ...])
    assert isinstance(found, Measured), found
    [tuning] = found.tunings
    return tuning


def namespace(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "tuned"}
    exec(text, names)  # noqa: S102 - as the worker loads it
    return names


def watched(names: dict[str, Any], n: int = 8, calls: int = 1) -> tuple[Autotuners, Tuning]:
    tuners = Autotuners()
    with tuners.watching(0):
        for _ in range(calls):
            names["run"](torch.ones(n))
    [tuning] = tuners.tunings(0)
    return tuners, tuning


class Noting(OwnProcess):
    """Keeps whose blocks were asked for, in their order."""

    asked: ClassVar[list[int]] = []

    def ask(self, asked: Asked, look: Look | None, contents_bytes: int = 0) -> Heard:
        if isinstance(asked.request, Block):
            self.asked.append(asked.request.number)
        return super().ask(asked, look, contents_bytes)


def test_each_configuration_has_its_time_or_a_reason_and_the_runner_up_a_turn(tmp_path: Path) -> None:
    Noting.asked.clear()
    tuning = tuning_of(tmp_path, source(), Noting)
    assert (tuning.kernel, tuning.key) == ("kernel", ("n=65536", "torch.float32"))
    said = [(dict(c.options)["BLOCK"], c.seconds, c.left_out, c.reason) for c in tuning.configurations]
    assert said == [
        ("64", 3e-3, None, ""),
        ("128", 1e-3, None, ""),
        ("256", 2e-3, None, ""),
        ("1024", None, LeftOut.PRUNED, "by few"),
        ("512", None, LeftOut.RESOURCES, "shared memory: 300000 needed, 232448 there"),
        ("512", None, LeftOut.FAILED, "the \\x1b[31mpipeline"),  # one line, and nothing in it acts
        ("32", None, LeftOut.MODEL, ""),
    ]
    assert tuning.winner == 1
    assert tuning.configurations[4].pre_hook == "too_much"
    assert (tuning.configurations[2].warps, tuning.configurations[2].stages) == (8, 2)
    assert tuning.tuning_s is not None
    assert not tuning.is_cached
    assert tuning.timed == (1, 2, 0)
    second = tuning.runner_up
    assert second is not None
    assert (second.configuration, second.missing) == (2, "")
    assert second.time is not None
    winners, seconds = (
        [place for place, number in enumerate(Noting.asked) if number == one] for one in (0, 1)
    )
    assert winners[0] < seconds[-1]  # in turn, whatever blocks other work held up
    assert seconds[0] < winners[-1]


def test_a_runner_up_with_wrong_results_has_no_time(tmp_path: Path) -> None:
    tuning = tuning_of(tmp_path, source("torch.mul(x, 3 if BLOCK == 256 else 2, out=y)"))
    assert tuning.runner_up is not None
    assert tuning.runner_up.time is None
    assert tuning.runner_up.missing.startswith("The runner-up is off by 0.5")


def test_a_runner_up_that_fails_costs_no_result(tmp_path: Path) -> None:
    """It ran while it was tuned, and fails afterwards."""
    work = """torch.mul(x, 2, out=y)
        if BLOCK == 256 and LAST.count(256) > 2:
            raise RuntimeError("not any more")"""
    tuning = tuning_of(tmp_path, source(work))
    assert tuning.winner == 1
    assert tuning.runner_up is not None
    assert tuning.runner_up.time is None
    assert "not any more" in tuning.runner_up.missing


class BreaksAtRunnerUp(OwnProcess):
    """Its runner-up's first block breaks it, once."""

    broken = False

    def ask(self, asked: Asked, look: Look | None, contents_bytes: int = 0) -> Heard:
        if isinstance(asked.request, Block) and asked.request.number == 1:
            assert not BreaksAtRunnerUp.broken, "it is not tried again"
            BreaksAtRunnerUp.broken = True
            raise link.CandidateFailed(
                SimpleNamespace(  # type: ignore[arg-type]
                    outcome=SimpleNamespace(message="It broke."),
                    is_sound=False,
                    refusal="",
                    has_broken_capture=False,
                )
            )
        return super().ask(asked, look, contents_bytes)


def test_a_runner_up_that_breaks_its_process_is_left_out_of_the_next(tmp_path: Path) -> None:
    tuning = tuning_of(tmp_path, source(), BreaksAtRunnerUp)
    assert BreaksAtRunnerUp.broken
    assert tuning.runner_up is not None
    assert tuning.runner_up.missing == "The runner-up could not be timed: It broke."


def test_another_choice_is_forced_for_its_calls_alone() -> None:
    names = namespace(source())
    tuners, tuning = watched(names)
    call = tuners.with_choice(0, 0, tuning.configurations[2], names["run"])
    names["LAST"].clear()
    x = torch.ones(8)
    assert torch.equal(as_tuple(call(x))[0], 2 * x)
    assert names["LAST"] == [256]
    assert names["double"].best_config.kwargs["BLOCK"] == 128  # which tells of the winner still
    names["run"](x)
    assert names["LAST"] == [256, 128]


def test_nothing_is_left_on_the_autotuner() -> None:
    names = namespace(source())
    tuner: Any = names["double"]
    before: dict[str, Any] = dict(tuner.__dict__)
    run = names["Autotuner"].run
    watched(names)
    after: dict[str, Any] = dict(tuner.__dict__)
    for name in ("cache", "early_config_prune"):
        assert after[name] is before[name]
    assert after["do_bench"] is names["bench"]
    assert not {"_bench", "prune_configs"} & after.keys()
    assert names["Autotuner"].run is run
    assert type(tuner.cache) is dict


def test_the_record_is_that_of_the_key_called_last() -> None:
    """It was tuned at two sizes; the second was tuned in an earlier call."""
    names = namespace(source())
    tuners = Autotuners()
    for n in (16, 8, 16):
        with tuners.watching(0):
            names["run"](torch.ones(n))
    [tuning] = tuners.tunings(0)
    assert tuning.key == ("n=16", "torch.float32")
    assert tuning.timed == (1, 2, 0)


def test_times_on_disk_are_marked_as_such() -> None:
    names = namespace(source())
    tuner = names["double"]

    def check_disk_cache(key: Any, configs: list[Any], _bench: object) -> bool:
        tuner.cache[key] = configs[0]
        infinite = [float("inf")] * 3
        tuner.configs_timings = dict.fromkeys(configs, infinite) | {configs[0]: [0.5, 0.4, 0.6]}
        return True

    tuner.cache_results, tuner.check_disk_cache = True, check_disk_cache
    _, tuning = watched(names)
    assert tuning.is_cached
    assert tuning.tuning_s is None
    assert tuning.configurations[0].seconds == 5e-4
    assert tuning.configurations[1].reason == "the tuning kept on disk does not say why"
    assert tuning.configurations[3].left_out is LeftOut.PRUNED


def test_a_single_choice_is_no_tuning_and_is_kept() -> None:
    names = namespace(source(configurations='triton.Config({"BLOCK": 64})'))
    _, tuning = watched(names)
    assert [c.left_out for c in tuning.configurations] == [LeftOut.NOT_TIMED]
    assert tuning.runner_up is None


def test_hostile_texts_and_counts_are_bounded() -> None:
    class Loud:
        def __str__(self) -> str:
            raise RuntimeError("no")

    names = namespace(source())
    names["double"].configs[0].kwargs.update({"A\nB": "\u202e" * 10_000, "C": Loud()})
    names["double"].configs[0].num_warps = 10**30
    for number in range(3000):
        config = names["double"].configs[3]
        names["double"].configs.append(type(config)({"BLOCK": 1025 + number}))
    _, tuning = watched(names)
    first = tuning.configurations[0]
    assert (len(tuning.configurations), tuning.more) == (1024, 3007 - 1024)
    assert first.warps is None
    assert [name for name, _ in first.options] == ["BLOCK", "A B", "C"]
    assert first.options[1][1] == "\\u202e" * 20 + "…" or len(first.options[1][1]) <= 120
    assert first.options[2][1] == "Loud"


def test_what_tells_of_it_costs_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise SystemExit(3)

    monkeypatch.setattr(Autotuners, "tunings", broken)
    [found] = decode(measured(tmp_path, source()), tuple[Outcome, ...])
    assert isinstance(found, Measured)
    assert found.tunings == ()


def test_a_runner_up_is_compared_with_its_winner_alone() -> None:
    """Else it would keep a job going, and widen the intervals of those that are compared."""

    def turn(seconds: float, beside: Turn | None = None) -> Turn:
        timer: Any = SimpleNamespace(calls_per_block=1, method=Method.WALL_CLOCK)
        made = Turn(timer, beside=beside)
        made.blocks = [_block(number, seconds) for number in range(8)]
        return made

    winner, other = turn(1.0), turn(2.0)
    turns = [winner, turn(1.1, winner), other]
    assert _at_once(turns) == 1
    assert len(list(_compared(turns, 1))) == 2
    assert len(list(_compared([winner, other], 1))) == 1
    assert len(list(_compared([turns[1], other], 1))) == 0


def _block(number: int, seconds: float) -> TurnBlock:
    return TurnBlock(number, BlockReading(seconds * (1 + number / 100), None, 0.0), DeviceState())
