"""Receivers stage."""
