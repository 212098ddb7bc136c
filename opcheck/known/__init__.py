"""Ledgers of known failures: those that ship with opcheck, and those that users keep."""

from opcheck.known.fields import LedgerEntry, LedgerFields, Line, Place, within
from opcheck.known.ledgers import (
    Gate,
    Ledger,
    UserLedger,
    explain,
    load_user_ledgers,
    shipped_ledgers,
)
