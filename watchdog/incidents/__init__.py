"""Incidents: alerts grouped into one story each, routed, and told when there is something to tell."""
