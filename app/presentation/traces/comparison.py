"""What the comparison of traces comes to, in words, and the columns of its table."""

from roofscope.app.presentation.formatting import (
    MISSING,
    count_text,
    counted_text,
    percent_text,
    ratio_text,
    time_text,
)
from roofscope.profiling.traces.comparison import ComparedKernel, ComparedTrace, TraceComparison

_ALIKE = 0.005  # shares below this one are not worth a word
_MANY = 3.0  # times as long: of more, percent do not read


def trace_labels(comparison: TraceComparison) -> tuple[str, ...]:
    """The titles; a letter where two are the same."""
    titles = [trace.title for trace in comparison.traces]
    return tuple(
        title if titles.count(title) == 1 else f"{title} ({trace_letter(at)})"
        for at, title in enumerate(titles)
    )


def comparison_sentences(comparison: TraceComparison) -> tuple[str, ...]:
    """One for each trace but the first: how much faster or slower it is, and by what."""
    labels, first = trace_labels(comparison), comparison.traces[0]
    return tuple(
        comparison_sentence(first, trace, label)
        for label, trace in zip(labels[1:], comparison.traces[1:], strict=True)
    )


def comparison_sentence(first: ComparedTrace, trace: ComparedTrace, label: str) -> str:
    """``b.json takes 4.69 ms instead of 5.34 ms (1.14×): it runs 51 kernels instead of 45, computes ...``."""
    ratio = first.span_s / trace.span_s if trace.span_s else None
    time = f"{time_text(trace.span_s)} instead of {time_text(first.span_s)} ({ratio_text(ratio)})"
    kernels = counted_text(trace.kernels, "kernel")
    instead = "as before" if trace.kernels == first.kernels else f"instead of {first.kernels}"
    parts = [
        f"runs {kernels} {instead}",
        _changed("computes", first.compute_s, trace.compute_s),
        _changed("copies", first.copy_s, trace.copy_s),
        _changed("idles", first.idle_s, trace.idle_s),
    ]
    said = [part for part in parts if part]
    return f"{label} takes {time}: it {', '.join(said[:-1])} and {said[-1]}."


def _changed(verb: str, before_s: float, after_s: float) -> str:
    if not before_s and not after_s:
        return ""
    if not before_s:
        return f"{verb} {time_text(after_s)} instead of nothing"
    change = after_s / before_s - 1
    if abs(change) < _ALIKE:
        return f"{verb} as long"
    if change >= _MANY - 1:
        return f"{verb} {ratio_text(after_s / before_s)} as long"
    return f"{verb} {percent_text(abs(change))} {'less' if change < 0 else 'more'}"


def trace_line(trace: ComparedTrace) -> str:
    """One iteration, from its first work to the end of its last."""
    named = f'"{trace.iteration}" of {counted_text(trace.steps, "step")}' if trace.iteration else "all of it"
    launches = f" by {counted_text(trace.launches, 'call')}" if trace.launches else ""
    return (
        f"{named}, from {time_text(trace.offset_ns * 1e-9)} on: {time_text(trace.span_s)}; "
        f"{time_text(trace.compute_s)} compute, {time_text(trace.copy_s)} copies, {time_text(trace.idle_s)} "
        f"idle in {counted_text(trace.gaps, 'gap')}; {counted_text(trace.kernels, 'kernel')} and "
        f"{trace.copies} copies or fills{launches}"
    )


def kernel_headers(comparison: TraceComparison) -> tuple[str, ...]:
    letters = [trace_letter(at) for at in range(len(comparison.traces))]
    return (
        "kernel",
        *(f"{letter} count" for letter in letters),
        *(f"{letter} total" for letter in letters),
        *(f"{letter} - {letters[0]}" for letter in letters[1:]),
    )


def kernel_cells(kernel: ComparedKernel) -> tuple[str, ...]:
    return (
        f"{kernel.name}, other kernels" if kernel.by_operator else kernel.name,
        *(count_text(count) if count else MISSING for count in kernel.counts),
        *(time_text(total) if total else MISSING for total in kernel.totals_s),
        *(_signed(difference) for difference in kernel.differences_s[1:]),
    )


def _signed(seconds: float) -> str:
    return f"+{time_text(seconds)}" if seconds > 0 else time_text(seconds).replace("-", "−")


def trace_letter(at: int) -> str:
    """By which a table names a trace: ``A`` to ``Z``, then ``A2``."""
    turn, letter = divmod(at, 26)
    return f"{chr(ord('A') + letter)}{turn + 1 if turn else ''}"
