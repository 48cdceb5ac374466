"""What both faces say of profiler traces."""
