"""Statistics on the samples of `opcheck.model.timing`, with their certainty.

`ratios` compares backends of the same run, also over all cases, and defines which samples are
independent. `comparing` compares two runs, `spread` has the quality of samples, and `scaling` their
growth with the size of the input. SciPy takes long to import, so functions import it.
"""
