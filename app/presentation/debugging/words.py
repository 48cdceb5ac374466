"""The words of a debug run: a line a stage, a paragraph a finding, and the sentence above them."""

from roofscope.app.presentation.formatting import counted_text, time_text
from roofscope.profiling.analysis.mistakes.places import wrong_text
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.debugging import (
    Compared,
    DebugReport,
    DebugStage,
    Finding,
    Line,
    StageEnd,
    StageName,
)

MARKS = {StageEnd.CLEAN: "ok", StageEnd.FOUND: "found", StageEnd.LEFT_OUT: "-", StageEnd.FAILED: "failed"}
MEANINGS = {
    StageName.SOURCE: "The source, as it is read",
    StageName.INTERPRETER: "Triton's interpreter on the CPU, each access checked",
    StageName.INTERPRETED: "What the interpreter computed, beside the float64 reference",
    StageName.BUILD: "Built with the lines of its source",
    StageName.CALL: "One call, each launch waited for, with device asserts",
    StageName.COMPARISON: "What the call computed, beside the float64 reference",
    StageName.MEMCHECK: "compute-sanitizer: accesses out of range or misaligned",
    StageName.RACECHECK: "compute-sanitizer: races in shared memory",
    StageName.INITCHECK: "compute-sanitizer: memory that is read before it is written",
    StageName.SYNCCHECK: "compute-sanitizer: barriers that not all threads reach",
}


def stage_text(stage: DebugStage) -> str:
    """Such as ``interpreter  ok  1 launch of add_kernel ...``."""
    took = f" ({time_text(stage.seconds)})" if stage.seconds else ""
    return f"{stage.name:<18} {MARKS[stage.end]:<7} {one_line(stage.text)}{took}"


def place_of(where: Line | None) -> str:
    """``line 14 of add.py``; "" where it is not known."""
    return f"line {where.number} of {one_line(where.name)}" if where and where.number else ""


def finding_title(finding: Finding) -> str:
    """``No mask, line 14 of add.py``."""
    name = finding.mistake[:1].upper() + finding.mistake[1:]
    return ", ".join(filter(None, (name, place_of(finding.where))))


def finding_lines(finding: Finding) -> tuple[str, ...]:
    """Title, the code, the evidence, the cure."""
    code = f"    {one_line(finding.where.code)}" if finding.where and finding.where.code else ""
    cure = f"  Cure: {one_line(finding.cure)}" if finding.cure else ""
    return tuple(filter(None, (finding_title(finding), code, f"  {one_line(finding.evidence)}", cure)))


def output_text(output: Compared) -> str:
    """Whether an output is right; where it is not, how far and where."""
    if output.is_right:
        return f"{one_line(output.output)} is right: its relative error is {_error(output)}."
    farthest = ""
    if output.largest:
        found, expected = output.largest.found, output.largest.expected
        farthest = f" The farthest is {output.largest.place}: {found:.6g} instead of {expected:.6g}."
    return f"{one_line(wrong_text(output))}{farthest}"


def summary_text(report: DebugReport) -> str:
    """What came of it, in a sentence."""
    if report.is_stopped:
        return f"The debug run of {report.implementation} was stopped."
    subject = f"{report.implementation} at {report.workload}"
    if report.findings:
        names = ", ".join(dict.fromkeys(str(one.mistake) for one in report.findings))
        return f"{counted_text(len(report.findings), 'mistake')} in {subject}: {names}."
    if report.is_clean:
        if not report.has_run:
            return f"Nothing of {subject} could be run here."
        return f"Nothing was found in {subject}."
    return f"{subject} did not come to its end."


def _error(output: Compared) -> str:
    error = f"{output.relative_error:.2g}" if output.relative_error is not None else "not known"
    return f"{error}, and {output.tolerance:.2g} is allowed"
