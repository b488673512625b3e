"""History stage."""
