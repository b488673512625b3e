"""The long-lived process: threads, signals, logging and the HTTP server around the engine."""
