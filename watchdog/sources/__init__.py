"""Sources stage."""
