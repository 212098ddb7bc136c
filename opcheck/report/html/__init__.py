"""Pages that people look at: one file each, which opens anywhere and asks nothing of any network.

`run_page` is a run, `bench_page` a benchmark. `page` renders templates and keeps texts from outside
what they are, `plots` draws. Everything but the list of all results can be read without scripts.
"""
