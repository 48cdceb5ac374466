"""One job from its build to its check."""
