"""The rules file."""
