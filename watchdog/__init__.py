"""Watches GPU training jobs and tells people in Slack when something is wrong or wasted."""

__version__ = "0.1.0"
