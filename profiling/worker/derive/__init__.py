"""A process of its own that derives a workload's compulsory work from its reference and its tensors."""
