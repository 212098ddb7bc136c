"""Looking for a small input that shows something.

`drawing` makes nodes at random, and `search_space` tries them on the mutants of one operator
version on one dtype, makes smaller what it found, and makes a case of it.
"""
