"""A device that is played: clocks that toggle, sag or are capped, and blocks whose times follow them."""

import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import NamedTuple
from unittest import mock

import torch

from roofscope.profiling.devices.device import DeviceState
from roofscope.profiling.results.outcome import Method
from roofscope.profiling.worker.timing import rounds as rounds_module
from roofscope.profiling.worker.timing import turn as turn_module
from roofscope.profiling.worker.timing.block import BlockReading, WhileBusy

FULL_HZ = 1980e6
BLOCK_S = 0.010
NOISE = 0.004  # of a block's time
CLOCK_JITTER = 0.0005
CALLS = 1000
_HEAT, _POWER = "thermal slowdown (software)", "power cap"


class Condition(NamedTuple):
    """What the device does at one moment: its clock as a share of the full one, and the reason it tells."""

    clock: float = 1.0
    reasons: tuple[str, ...] | None = ()
    disturbed: float = 1.0  # factor on the time that is not the clock's
    noise: float = NOISE


class Device:
    """A device whose conditions follow a script while time passes; blocks are work, rests are not."""

    def __init__(self, rng: random.Random, conditions: Callable[["Device"], Iterator[Condition]]) -> None:
        self.rng = rng
        self.now_s = 0.0
        self.busy_s = 0.0
        self.reasons: tuple[str, ...] | None = ()
        self._conditions = conditions(self)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def work(self, seconds: float) -> Condition:
        found = next(self._conditions)
        self.reasons = found.reasons
        self.now_s += seconds
        self.busy_s += seconds
        return found

    def state(self) -> DeviceState:
        return DeviceState(event_reasons=self.reasons)


class PlayedTimer:
    """A call that takes ``seconds`` at the full clock and follows the clock by ``core``: 1 wholly, 0 not."""

    method = Method.CUDA_GRAPH
    reason = ""
    calls_per_block = CALLS

    def __init__(self, device: Device, factor: float = 1.0, core: float = 1.0) -> None:
        self._device, self._factor, self._core = device, factor, core

    def block(self, meanwhile: WhileBusy | None = None) -> BlockReading:
        found = self._device.work(BLOCK_S)
        if meanwhile:
            meanwhile()
        noise = math.exp(self._device.rng.gauss(0, found.noise)) * found.disturbed
        jitter = math.exp(self._device.rng.gauss(0, CLOCK_JITTER))
        seconds = self._factor * noise * found.clock**-self._core * BLOCK_S / CALLS
        return BlockReading(seconds, FULL_HZ * found.clock * jitter)

    def call_on_first_set(self) -> tuple[torch.Tensor, ...]:
        raise NotImplementedError("nothing is verified here")


def calm(_: Device) -> Iterator[Condition]:
    while True:
        yield Condition()


def neighbours_alike(device: Device) -> Iterator[Condition]:
    """AR(1), rho 0.8; the clock has no part in it."""
    return _wandering(device, 0.8, 0.0)


def alike_under_noise(device: Device) -> Iterator[Condition]:
    """The same, with the usual noise of a block on top."""
    return _wandering(device, 0.8, NOISE)


def slow_wandering(device: Device) -> Iterator[Condition]:
    """AR(1), rho 0.95: about as slow as a quick measurement is long."""
    return _wandering(device, 0.95, 0.0)


def _wandering(device: Device, rho: float, noise: float) -> Iterator[Condition]:
    value = device.rng.gauss(0, NOISE)
    while True:
        yield Condition(disturbed=math.exp(value), noise=noise)
        value = rho * value + device.rng.gauss(0, NOISE * math.sqrt(1 - rho * rho))


def toggling(
    dwell_s: float, step: float = 0.025, slow_share: float = 0.3
) -> Callable[[Device], Iterator[Condition]]:
    """Two clocks; ``dwell_s`` is the mean time at the slower one."""

    def conditions(device: Device) -> Iterator[Condition]:
        is_slow = device.rng.random() < slow_share
        until_s = device.now_s
        while True:
            while device.now_s >= until_s:
                is_slow = not is_slow if until_s else is_slow
                mean_s = dwell_s if is_slow else dwell_s * (1 - slow_share) / slow_share
                until_s = max(until_s, 1e-9) + device.rng.expovariate(1 / mean_s)
            yield Condition(1 / (1 + step) if is_slow else 1.0)

    return conditions


def sagging(reasons: tuple[str, ...] | None) -> Callable[[Device], Iterator[Condition]]:
    """After 0.05 to 0.5 s of work the clock falls by 2 to 14 %, over 0.05 to 0.5 s; rests do not help."""

    def conditions(device: Device) -> Iterator[Condition]:
        begin_s, tau_s = device.rng.uniform(0.05, 0.5), device.rng.uniform(0.05, 0.5)
        depth = device.rng.uniform(0.02, 0.14)
        while True:
            fallen = 1 - math.exp(-max(device.busy_s - begin_s, 0.0) / tau_s)
            yield Condition(1 - depth * fallen, reasons if fallen else () if reasons else reasons)

    return conditions


def hot(share: float, jitter: float = 0.004) -> Callable[[Device], Iterator[Condition]]:
    """A thermal steady state: the clock wanders round 0.9 of the full one; a share of blocks reports it."""

    def conditions(device: Device) -> Iterator[Condition]:
        value = device.rng.gauss(0, jitter)
        while True:
            told = device.rng.random() < share
            yield Condition(0.9 * math.exp(value) if told else 0.96, (_HEAT,) if told else ())
            value = 0.9 * value + device.rng.gauss(0, jitter * math.sqrt(1 - 0.81))

    return conditions


def power_capped(device: Device) -> Iterator[Condition]:
    """615 to 800 W at full clock under a cap of 600 W, with a time constant of 0.1 to 0.5 s; rests help."""
    wanted, tau_s = device.rng.uniform(615, 800), device.rng.uniform(0.1, 0.5)
    clock, power_w, then_s, busy_s = 1.0, 100.0, 0.0, 0.0
    while True:
        idle_s = max(device.now_s - then_s - (device.busy_s - busy_s), 0.0)
        power_w += (100.0 - power_w) * -math.expm1(-idle_s / tau_s)
        power_w += (wanted * clock**2 - power_w) * -math.expm1(-BLOCK_S / tau_s)
        then_s, busy_s = device.now_s, device.busy_s
        is_capped = power_w > 600
        clock = max(clock * 0.985, 0.6) if is_capped else min(clock * 1.015, 1.0)
        yield Condition(clock, (_POWER,) if is_capped or clock < 1.0 else ())


STREAMS: dict[str, Callable[[Device], Iterator[Condition]]] = {
    "white noise": calm,
    "neighbours alike, AR(1) 0.8": neighbours_alike,
    "the same under white noise": alike_under_noise,
    "slow wandering, AR(1) 0.95": slow_wandering,
    **{
        f"clock toggles by 2.5 %, {dwell_s:g} s at once": toggling(dwell_s)
        for dwell_s in (0.04, 0.2, 0.6, 2.0)
    },
    "sag of 2 to 14 %, reasons say nothing": sagging(()),
    "sag of 2 to 14 %, no reasons read": sagging(None),
    "slowed by heat, always": hot(1.0),
    "slowed by heat, 90 % of the blocks": hot(0.9),
    "power cap, reported": power_capped,
}


@contextmanager
def played(device: Device) -> Iterator[None]:
    """The engine's clocks are the device's while this lasts."""
    clock = SimpleNamespace(
        sleep=device.sleep, perf_counter=lambda: device.now_s, monotonic=lambda: device.now_s
    )
    with mock.patch.object(rounds_module, "time", clock), mock.patch.object(turn_module, "time", clock):
        yield
