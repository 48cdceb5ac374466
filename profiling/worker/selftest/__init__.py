"""Proofs that the engine's number is the true one, carried out on the user's own device."""
