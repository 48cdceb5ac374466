"""Exceptions of foreign code become outcomes, whatever their classes and texts are."""

import msgspec
import pytest
import torch

from roofscope.profiling.results.outcome import Failed, FailureKind, SkipKind, Skipped, Stage
from roofscope.profiling.worker.failures import BuildError, Refusal, classify, first_line


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("nor this")

    __repr__ = __str__


class Numbered(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]  # noqa: PLE0307


HOSTILE = {
    "a surrogate": (ValueError("lone \ud800"), "lone \\ud800"),
    "unprintable": (Unprintable(), "Unprintable, which cannot be printed"),
    "no text": (Numbered(), "Numbered, which cannot be printed"),
    "nothing": (ValueError(), "ValueError"),
    "only newlines": (ValueError("\n\n"), "ValueError"),
}


@pytest.mark.parametrize(("error", "said"), HOSTILE.values(), ids=HOSTILE)
def test_what_cannot_be_printed_or_sent_is_said_all_the_same(error: Exception, said: str) -> None:
    outcome = classify(error, what="toy", stage=Stage.VERIFY, device_is_sound=True)
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.LAUNCH_ERROR
    assert said in outcome.message
    assert msgspec.msgpack.encode(outcome)
    assert msgspec.json.encode(first_line(error))


def test_a_block_that_needs_more_than_the_gpu_has_is_left_out_in_one_sentence() -> None:
    errors = pytest.importorskip("triton.runtime.errors")
    for error, said in (
        (
            errors.OutOfResources(98304, 65536, "shared memory"),
            "96 KiB of shared memory a block, and this GPU has 64 KiB.",
        ),
        (errors.OutOfResources(2048, 1024, "threads"), "2048 threads a block, and this GPU has 1024."),
    ):
        outcome = classify(error, what="toy", stage=Stage.VERIFY, device_is_sound=True)
        assert outcome == Skipped(SkipKind.UNSUPPORTED, f"toy needs {said}")


def test_full_memory_is_told_by_its_name() -> None:
    with pytest.raises(RuntimeError) as full:
        torch.empty(2**50)
    for error, said in (
        (full.value, "the host's memory"),
        (MemoryError(), "the host's memory"),
        (torch.cuda.OutOfMemoryError("2 GiB"), "device memory"),
    ):
        outcome = classify(error, what="toy", stage=Stage.VERIFY, device_is_sound=True)
        assert isinstance(outcome, Failed)
        assert (outcome.kind, outcome.message) == (
            FailureKind.OUT_OF_MEMORY,
            f"toy ran out of {said}; choose smaller sizes.",
        )


def test_a_kernels_own_refusal_and_build_error_can_be_sent() -> None:
    refused = classify(Refusal("\udcff"), what="toy", stage=Stage.BUILD, device_is_sound=True)
    assert isinstance(refused, Skipped)
    failed = classify(BuildError("\udcff", "\ud800"), what="toy", stage=Stage.BUILD, device_is_sound=True)
    assert msgspec.msgpack.encode([refused, failed])
