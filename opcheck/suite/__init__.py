"""Case files in, concrete cases out: read, validate, expand, select, fill with data."""

from opcheck.suite.load import check_case_files, load, load_all, load_bench
from opcheck.suite.select import Selection, case_digest, choose, select, shard, suite_digest
from opcheck.suite.tensors import materialize, unrounded
