"""Pages that people look at: one file each, which opens anywhere and asks nothing of any network.

`run_page` is a run, with its totals in `overview`; `bench_page` is a benchmark. `page` renders
templates and keeps texts from outside what they are, `plots` draws. Everything but the list of all
results can be read without scripts.
"""
