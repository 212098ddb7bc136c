"""Every backend works in processes of its own, which may crash or hang without ending this one.

In the parent, `pool` asks questions and times calls, each by a `process`. There, `worker` prepares
the process, and `answering` connects to the backend and answers. `wire` has their messages.
`cleanup` removes all processes and files.
"""
