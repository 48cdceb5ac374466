"""Profiler traces, from here or from anywhere: reading, lanes, summaries, comparison. No torch, no Qt."""
