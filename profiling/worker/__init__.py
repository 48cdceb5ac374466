"""The child process that owns the device; with `kernels/`, the only importer of torch."""
