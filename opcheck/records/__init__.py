"""What stored runs amount to, one by one, against each other, and together: pure functions.

`status` makes an exit code of a run, `comparing` holds one run against another, `causes` sums up
its failures, and `merging` joins the parts of one, or finds what one that was cut short need not be
asked again.
"""
