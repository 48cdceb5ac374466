"""What the results say: intervals, comparisons, verdicts, limits of the self-test, exports."""
