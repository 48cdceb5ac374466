"""What came out, as values and as a file: outcomes, proofs, sessions, traces."""
