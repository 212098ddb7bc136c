"""The operators, one file each, or one for a family; see `opcheck.engine.operators`."""
