"""Service stage."""
