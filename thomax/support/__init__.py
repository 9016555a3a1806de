"""What every package may use: checks, spelling, warnings, shared types, compilation."""
