"""Sums of non-negative numbers over windows, block by block, in either mode.

`parts` divides a pooling into blocks that stay in the cache, `ways` chooses how windows along one
axis of a block are added up, `along` lays that down as calls of NumPy (`calls`), and `sums` puts
the axes together and keeps the memory that it takes.
"""
