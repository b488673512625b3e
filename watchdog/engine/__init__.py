"""The engine: polls in, changes out. Live, ``once``, backtest and test are this engine on different clocks."""
