"""Measuring from Python: scripts, notebooks, prompts and tests."""
