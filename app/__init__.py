"""The window. Never imports torch."""
