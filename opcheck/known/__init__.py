"""Ledgers of known failures: those that ship with opcheck, and those that users keep."""

from opcheck.known.ledgers import (
    Gate,
    Ledger,
    LedgerEntry,
    LedgerFields,
    Line,
    Place,
    UserLedger,
    explain,
    load_user_ledgers,
    shipped_ledgers,
    within,
)
