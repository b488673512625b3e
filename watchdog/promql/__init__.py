"""PromQL: parse, check, evaluate."""
