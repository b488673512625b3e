"""Incidents stage."""
