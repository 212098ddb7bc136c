import pytest

from opcheck.model import Source, Verdict
from opcheck.report import formatting
from tests.report.made import result


@pytest.mark.parametrize(
    ("verdict", "flag"),
    [
        (Verdict.FAIL, None),
        (Verdict.CRASH, None),
        (Verdict.WARN, "--strict"),
        (Verdict.UNSUPPORTED, "--require-supported"),
    ],
)
def test_what_is_red_by_an_option_alone_is_repeated_with_it(verdict, flag):
    command = formatting.repeat(result(verdict))
    assert [word for word in command.split() if word in ("--strict", "--require-supported")] == (
        [flag] if flag else []
    )


@pytest.mark.parametrize(("file", "said"), [("-d.yaml", "./-d.yaml"), ("a-d.yaml", "a-d.yaml")])
def test_a_file_is_repeated_as_a_file_and_not_as_an_option(file, said):
    assert formatting.repeat(result(source=Source(file, 1, 1))).startswith(
        f"opcheck run {said} --case "
    )
