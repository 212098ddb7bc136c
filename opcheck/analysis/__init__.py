"""Pure functions that analyze stored runs: one by one, compared, and merged.

`status` makes an exit code of a run, `comparing` holds one run against another, `causes` sums up
its failures, and `merging` joins the parts of one, or finds what one that was cut short need not be
asked again.
"""
