"""The releases that the shipped ledgers were last looked over with.

A later one may mend a known defect or bring a new one. That is for `opcheck run` to tell, not for
the tests of this repository, which must not turn red because of it.
"""

from importlib.metadata import version

import pytest
from packaging.version import Version

_LAST = {"onnxruntime": "1.31.1", "onnx": "1.23.2"}

needs_known_releases = pytest.mark.skipif(
    any(Version(version(package)) > Version(last) for package, last in _LAST.items()),
    reason="a release that the ledgers have not been looked over with",
)
