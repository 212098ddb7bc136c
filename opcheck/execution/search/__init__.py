"""Search for small inputs that kill a mutant."""
