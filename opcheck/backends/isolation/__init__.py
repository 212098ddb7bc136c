"""Every backend works in processes of its own, which may crash or hang without ending this one."""
