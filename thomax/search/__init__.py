"""Find the maxima of scores."""
