"""What to measure: kernels, their specs and sizes, and the plan that names the jobs."""
