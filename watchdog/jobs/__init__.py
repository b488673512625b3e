"""Which jobs and sources there are, what state they are in, and the series that follow from that."""
