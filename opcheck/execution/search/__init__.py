"""Looking for a small input that shows something.

`drawing` makes nodes at random, and `ground` tries them on the mistakes of one operator version on
one dtype, makes smaller what it found, and makes a case of it.
"""
