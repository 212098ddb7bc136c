"""Statistics on the samples of `opcheck.model.timing`, with their certainty.

`ratios` holds one backend against another of the same run and sums that up over cases; it says what
counts as independent in all of them. `comparing` holds one run against another, `spread` tells how
trustworthy samples are and `scaling` how they grow with the size of the input.
SciPy is imported where it is needed only: it takes longer to import than most commands run.
"""
