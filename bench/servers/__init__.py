"""Servers to measure against: as fast as the standard library allows, so that what is measured is the client."""
