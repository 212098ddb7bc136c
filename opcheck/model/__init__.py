"""The vocabulary: frozen dataclasses that every other module speaks, and no behaviour beyond them.

`case` is what is written, `question` what a backend is asked and what it did, `result` what that is
worth and what is stored of it: all that these three define is offered here.
"""

from opcheck.model.case import *
from opcheck.model.question import *
from opcheck.model.result import *
