"""The roofline chart: what paints the scene, and what the pointer does with it."""
