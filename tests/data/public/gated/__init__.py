"""Gated activations for networks."""
