"""Pure functions on stored runs: exit codes, causes of failures, comparison and merging."""
