"""The roofline as a scene that the window paints and an SVG holds."""
