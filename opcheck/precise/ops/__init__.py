"""One file or folder an operator, found by its being here."""
