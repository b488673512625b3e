"""Delivery stage."""
