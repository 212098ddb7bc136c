"""Rounding to a format, once: one number from an enclosure, or many from a double-double."""
