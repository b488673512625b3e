"""Alerts stage."""
