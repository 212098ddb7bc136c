"""Statistics on the samples of `opcheck.model.timing`, with their certainty.

`ratios` is about one run, also over all its cases, and defines which samples are independent;
`comparing` compares two runs. SciPy takes long to import, so functions import it.
"""
