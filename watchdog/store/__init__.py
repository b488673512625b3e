"""Store stage."""
