"""Alerts: what each rule says of each series, and how that turns into pending, firing and closed."""
