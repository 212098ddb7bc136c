"""Every backend works in processes of its own; whatever it does to them, this one goes on.

In the parent, `pool` asks: its `slot`s have one `process` after the other, and a job each for
every question under way. `worker` sets such a process up, and `answering` is what it does then.
Between both there is a `channel`, and `wire` is what goes over it. `cleanup` sees to it that
nothing is left.
"""
