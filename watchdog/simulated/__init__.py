"""Simulated stage."""
