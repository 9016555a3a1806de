"""Find the points where the functions of a score are largest."""
