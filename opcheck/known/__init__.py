"""Ledgers of known failures: those that ship with opcheck, and those that users keep.

Shipped ones excuse known defects of released backends. Those of users are a gate: what is listed
has to fail as listed, and what is not listed has to pass. `places` and `writing` write one.
"""

from opcheck.known.fields import LedgerEntry, LedgerFields, Line, Place, within
from opcheck.known.ledgers import (
    Gate,
    Ledger,
    UserLedger,
    explain,
    load_ledgers,
    load_user_ledgers,
    shipped_ledgers,
)
