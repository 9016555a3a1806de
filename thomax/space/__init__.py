"""Names and values of parameters to points of a cube, and back."""
