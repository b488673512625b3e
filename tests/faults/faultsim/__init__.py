"""A seeded simulator of the whole service under faults, on a virtual clock.

The engine, the loop, the senders, the receivers, the Baseten source and the store (a real SQLite file) are the real
ones; only time and the wire are simulated. One seed is one history: what the jobs do, what goes wrong, where the
process dies. Run one again with ``python -m faultsim --first SEED --seeds 1`` in ``tests/faults``.
"""
