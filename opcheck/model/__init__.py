"""Frozen dataclasses that all other modules share: cases, questions to backends, and results."""

from opcheck.model.case import *
from opcheck.model.question import *
from opcheck.model.result import *
