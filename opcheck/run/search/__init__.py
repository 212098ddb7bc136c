"""Looking for a small input that shows something.

`drawing` makes nodes at random, `cases` makes cases of them, and `ground` tries them on the
mistakes of one operator version on one dtype, and makes smaller what it found.
"""
