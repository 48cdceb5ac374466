"""The timeline of a profiler trace: a canvas, its keys and pointer, and what it says of slices."""
