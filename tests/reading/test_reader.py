import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from opcheck import reading
from opcheck.errors import CaseFileError, Problem
from tests.expecting import error_of
from tests.reading.trees import read
from tests.wording import Wording

both_parsers = pytest.mark.usefixtures("parser")
per_parser = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
DEEP_ALIASES = "\n".join(["- &a0 []", *(f"- &a{n} [*a{n - 1}]" for n in range(1, 80))])


def attempt(text: str) -> tuple[reading.FileNode | None, list[Problem]]:
    problems = reading.Problems()
    return reading.read_text(text, "f.yaml", problems), list(problems)


def the_problem(text: str) -> Problem:
    """The one problem of a text that has exactly one."""
    _, problems = attempt(text)
    assert len(problems) == 1, [str(problem) for problem in problems]
    return problems[0]


def stops_at(text: str, line: int, column: int) -> str:
    """The message of the problem that makes a text unusable, found at this place."""
    problem = the_problem(text)
    assert attempt(text)[0] is None
    assert (problem.file, problem.line, problem.column) == ("f.yaml", line, column), str(problem)
    return f"{problem.message} ({problem.hint})"


def attempt_file(path: Path) -> Problem:
    """The one problem of a file that cannot be used."""
    problems = reading.Problems()
    assert reading.read_file(path, problems) is None
    (problem,) = problems
    assert problem.file == str(path)
    return problem


@both_parsers
@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a: 1\nb: [x, 2.5]\n", {"a": 1, "b": ["x", 2.5]}),
        ("- a: 1\n  b:\n- - 3\n", [{"a": 1, "b": None}, [3]]),
        ("just words", "just words"),
        ("[]", []),
        ("{}", {}),
        ("--- 7\n", 7),
        ("---\n", None),
        ("%YAML 1.2\n--- 7\n", 7),
        ("a: |\n  two\n  lines\nb: >-\n  one\n  line\n", {"a": "two\nlines\n", "b": "one line"}),
        ("\ufeffa: 1", {"a": 1}),
        ("a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
        ('{"a":1,"b":[true,null]}', {"a": 1, "b": [True, None]}),
        ("{text: a\u00e4\U0001f600}", {"text": "a\u00e4\U0001f600"}),
        (r'"\u00e4\t\e"', "\u00e4\t\x1b"),
    ],
)
def test_a_text_is_read_as_data(text: str, want: object) -> None:
    node, problems = attempt(text)
    assert problems == []
    assert node is not None
    assert node.plain() == want


@both_parsers
def test_quotes_make_strings_of_what_would_be_numbers() -> None:
    node = read("['1', \"1e-3\", 'true', '', '~', '<<', ! 12]")
    assert node.plain() == ["1", "1e-3", "true", "", "~", "<<", "12"]


@both_parsers
def test_the_core_tags_are_honoured() -> None:
    plain = "[!!str 1, !!int '7', !!bool true, !!null '', !!seq [1], !!map {a: 1}]"
    assert read(plain).plain() == ["1", 7, True, None, [1], {"a": 1}]
    assert repr(read("[!!float 3, !!float .inf]").plain()) == "[3.0, inf]"


finite = st.floats(allow_nan=False, allow_infinity=False)
# No surrogates, and nothing that YAML counts as a line break where JSON does not.
words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Co", "Cn"]), max_size=20)
data = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | words,
    lambda inner: st.lists(inner) | st.dictionaries(words, inner),
    max_leaves=20,
)


@both_parsers
@per_parser
@given(data, st.booleans(), st.sampled_from([None, 1, 4]))
@example([-0.0, 1e-07, 5e-324, 1.7976931348623157e308, 10**30], False, None)
@example({"<<": 1, "1": 2, "": 3, "null": None}, False, None)
def test_json_is_read_as_json(value: object, escape_all: bool, indent: int | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=escape_all)
    if escape_all and any(ord(char) > 0xFFFF for char in json.dumps(value, ensure_ascii=False)):
        return  # JSON writes these as two escapes, which YAML does not join
    assert repr(read(text).plain()) == repr(value)


@both_parsers
def test_every_value_and_key_knows_its_line_and_column() -> None:
    text = "# note\nop: Hardmax\ncases:\n- name: first\n  shape: [2,  3]\n  attrs: {axis: -1}\n"
    node = read(text)
    assert node.mark == reading.Mark(2, 1)
    assert node.keys == {"op": reading.Mark(2, 1), "cases": reading.Mark(3, 1)}
    assert node.at(["op"]) == reading.Mark(2, 5)
    assert node.at(["cases"]) == reading.Mark(4, 1)
    assert node.at(["cases", 0, "shape"]) == reading.Mark(5, 10)
    assert node.at(["cases", 0, "shape", 1]) == reading.Mark(5, 15)
    assert node.at(["cases", 0, "attrs", "axis"]) == reading.Mark(6, 17)
    assert node.at(["cases", 0, "attrs", "axis"], key=True) == reading.Mark(6, 11)


@both_parsers
def test_columns_count_characters_not_bytes() -> None:
    assert read('{"\u00e4\U0001f600": [\u20ac, x]}').at(["\u00e4\U0001f600", 1]) == reading.Mark(
        1, 12
    )


@both_parsers
def test_a_byte_order_mark_takes_no_column(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read(path).keys == {"a": reading.Mark(1, 1)}


@both_parsers
def test_every_duplicate_key_is_reported_with_both_places() -> None:
    node, problems = attempt("a: 1\nb: {c: 1, c: 2}\n'a': 2\na: 3\n")
    assert [(p.line, p.column) for p in problems] == [(2, 11), (3, 1), (4, 1)]
    assert "'c'" in problems[0].message
    assert "line 2, column 5" in problems[0].message
    assert all("line 1, column 1" in problem.message for problem in problems[1:])
    assert node is not None
    assert node.plain() == {"a": 1, "b": {"c": 1}}, "the first one is kept"


@both_parsers
@pytest.mark.parametrize("key", ["13", "-1.5", "null", "~", "true", ".nan", "!!int '1'"])
def test_a_key_that_is_no_word_is_refused_and_its_value_dropped(key: str, wording: Wording) -> None:
    node, (problem,) = attempt(f"a: 1\n{key}: {{b: 2}}\nc: 3\n")
    assert (problem.line, problem.column) == (2, 1)
    assert problem.message == wording
    assert "quotes" in str(problem.hint)
    assert node is not None
    assert node.plain() == {"a": 1, "c": 3}


@both_parsers
def test_a_missing_key_is_refused() -> None:
    assert "null" in the_problem("a: 1\n?\n: 2\n").message


@both_parsers
@pytest.mark.parametrize(
    ("text", "column", "kind"),
    [("{[a]: 1}", 2, "list"), ("? {a: 1}\n: 2", 3, "mapping"), ("{{ axis }}", 2, "mapping")],
)
def test_a_list_or_mapping_as_key_ends_the_reading(text: str, column: int, kind: str) -> None:
    message = stops_at(text, 1, column)
    assert f"not a {kind}" in message
    assert "quotes" in message


@both_parsers
def test_merge_keys_are_refused_and_a_quoted_one_is_a_word() -> None:
    node, (problem,) = attempt("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n'<<': 3\n")
    assert (problem.line, problem.column) == (3, 3)
    assert "'<<' does not merge" in problem.message
    assert node is not None
    assert node.plain() == {"a": {"b": 1}, "c": {"d": 2}, "<<": 3}


@both_parsers
def test_numbers_that_no_float64_or_integer_holds_are_reported_each() -> None:
    words = ["1e309", "-1e309", "9" * 5000, f"0x{'f' * 5000}", "1e999999999999"]
    _, problems = attempt("".join(f"- {word}\n" for word in [*words, f"!!float {'9' * 400}"]))
    assert [problem.line for problem in problems] == [1, 2, 3, 4, 5, 6]
    assert problems[0].message == "'1e309' is outside float64"
    assert all("outside float64" in problem.message for problem in problems[4:])
    assert problems[0].hint == "write .inf for infinity"
    assert problems[1].hint == "write -.inf for infinity"
    assert "5000 characters" in problems[2].message
    assert all(len(str(problem)) < 200 for problem in problems)


@both_parsers
@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("!!python/object/apply:os.system ['true']", "!!python/object/apply:os.system"),
        ("!!python/name:os.system ''", "!!python/name:os.system"),
        ("!foo {a: 1}", "!foo"),
        ("!!binary aGVsbG8=", "!!binary"),
        ("!!timestamp 2001-01-01", "!!timestamp"),
        ("!!set {a, b}", "!!set"),
        ("!<x:y> 1", "!<x:y>"),
        ("!!evil%1bx 1", "!!evil\\x1bx"),
    ],
)
def test_any_other_tag_is_refused_by_name_and_nothing_is_constructed(
    text: str, tag: str, wording: Wording
) -> None:
    problem = the_problem(f"a: {text}\n")
    assert tag in problem.message
    assert problem.message == wording
    assert (problem.line, problem.column) == (1, 4)


@both_parsers
@pytest.mark.parametrize(
    "text",
    [
        *("!!int x", "!!int 1.5", "!!int 1.0", "!!int true", "!!float x", "!!float 0x10"),
        *("!!bool yes", "!!bool 1", "!!null 0", "!!seq x", "!!map x", "!!map [1]", "!!str {a: 1}"),
    ],
)
def test_a_tag_that_its_value_does_not_fit_is_reported(text: str) -> None:
    assert the_problem(text).message.endswith("is not a " + text.split()[0])


@both_parsers
def test_half_a_surrogate_pair_is_reported() -> None:
    assert the_problem(r'a: "\ud83d"').line == 1


@both_parsers
def test_an_alias_is_the_value_it_names() -> None:
    node = read("a: &x [1, 2]\nb: *x\nc: {d: *x}\ne: &y word\nf: [*y]\n&k key: *k\n")
    lists = {"a": [1, 2], "b": [1, 2], "c": {"d": [1, 2]}}
    assert node.plain() == {**lists, "e": "word", "f": ["word"], "key": "key"}


@both_parsers
def test_an_anchor_given_again_names_the_later_value() -> None:
    assert read("[&x 1, *x, &x 2, *x]").plain() == [1, 1, 2, 2]
    assert read("[&x [&x 1, *x], *x]").plain() == [[1, 1], 1]


@both_parsers
def test_an_alias_may_be_a_key_if_it_is_a_word(wording: Wording) -> None:
    assert read("[&x word, {*x : 1}]").plain() == ["word", {"word": 1}]
    assert the_problem("[&x 3, {*x : 1}]").message == wording
    assert "is a list" in the_problem("[&x [3], {*x : 1}]").message


@both_parsers
def test_an_alias_bomb_ends_the_reading_quickly() -> None:
    lines = ["a0: &a0 [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]"]
    lines += [f"a{n}: &a{n} [{', '.join(10 * [f'*a{n - 1}'])}]" for n in range(1, 60)]
    start = time.perf_counter()
    problem = the_problem("\n".join(lines))
    assert time.perf_counter() - start < 0.5
    assert "1,000,000 values" in problem.message
    assert problem.line == 6


@both_parsers
def test_each_alias_counts_as_much_as_what_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    # The root, the list with its two items, and three more for each alias.
    monkeypatch.setattr(reading, "NODE_LIMIT", 10)
    assert len(read("[&a [1, 2], *a, *a]").plain()) == 3
    assert "more than 10 values" in the_problem("[&a [1, 2], *a, *a, 3]").message
    assert "more than 10 values" in stops_at("[&a [1, 2], *a, *a, *a]", 1, 21)


@pytest.mark.sampled(5, evenly=True)
@both_parsers
@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("[" * 20_000, 65),
        ("- " * 20_000, 129),
        ("{a: " * 20_000, 257),
        ("[" * 20_000 + "]" * 20_000, 65),
        ("{" * 20_000, 2),
        ("? " * 20_000, 3),
        ("!!seq [" * 20_000, 449),
    ],
    ids=lambda value: value[:8] if isinstance(value, str) else "",
)
def test_deep_nesting_gives_one_message_at_the_place(text: str, column: int, parser: str) -> None:
    start = time.perf_counter()
    stops_at(text, 1, column)
    assert time.perf_counter() - start < 10


@both_parsers
def test_the_depth_limit_itself_is_allowed() -> None:
    depth = reading.DEPTH_LIMIT
    assert read("[" * depth + "]" * depth).plain()
    stops_at("[" * (depth + 1) + "]" * (depth + 1), 1, depth + 1)


@both_parsers
def test_the_number_of_values_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "NODE_LIMIT", 4)
    assert read("{a: 1, b: [2]}").plain() == {"a": 1, "b": [2]}
    assert "more than 4 values" in the_problem("{a: 1, b: [2], c: 3}").message


@both_parsers
def test_the_number_of_problems_is_limited() -> None:
    _, problems = attempt("{" + "a: 1, " * 5000 + "}")
    assert len(problems) == reading.PROBLEM_LIMIT + 1
    assert "more than 1,000 problems" in problems[-1].message


def test_a_file_of_the_largest_size_is_read_and_a_larger_one_is_not(tmp_path, monkeypatch, wording):
    path = tmp_path / "f.yaml"
    path.write_bytes(b"a: 1\n" + b"#" * (reading.FILE_LIMIT - 5))
    assert read(path).plain() == {"a": 1}
    path.write_bytes(b"[" * (10 * 2**20))
    # By its size alone: to read ten million lists takes half a minute.
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", None)
        problem = attempt_file(path)
    assert problem.message == wording


def test_a_long_text_is_refused_like_a_large_file() -> None:
    assert "more than 2 MiB" in stops_at(" " * (reading.FILE_LIMIT + 1), 1, 1)


def test_many_tag_directives_are_refused() -> None:
    directives = "".join(f"%TAG !a{n}! b\n" for n in range(100_000))
    start = time.perf_counter()
    assert "%TAG" in stops_at(directives + "--- 1\n", 1, 1)
    assert time.perf_counter() - start < 1


@pytest.mark.gate
def test_many_small_cases_take_seconds_at_most_and_the_collector_stays_as_it_was() -> None:
    case = "- name: x\n  attrs: {axis: 1}\n  inputs: {X: [[1.5, 1e-3], [0, .inf]]}\n  rule: must\n"
    start = time.perf_counter()
    assert len(read(case * 10_000).plain()) == 10_000
    assert time.perf_counter() - start < 10
    assert gc.isenabled()


@pytest.mark.parametrize("text", ["a: 1", "[", "[*a]"])
@pytest.mark.parametrize("collecting", [True, False])
def test_the_collector_is_left_as_it_was(text: str, collecting: bool) -> None:
    was = gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        attempt(text)
        assert gc.isenabled() is collecting
    finally:
        (gc.enable if was else gc.disable)()


@both_parsers
@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        *((text, 1, 1) for text in ("", "\n\n", "# nothing\n", "\ufeff")),
        ("a: 1\n---\nb: 2\n", 2, 1),
        ("a: 1\n---\n", 2, 1),
        ("a: 1\n--- [\n", 2, 1),
        ("a: 1\nb: *no\nc: &no 3\n", 2, 4),
        ("&a [*a]", 1, 5),
        ("&a {b: &b [1, *a]}", 1, 15),
        # Aliases cannot stack up depth.
        (DEEP_ALIASES, 64, 9),
    ],
)
def test_a_text_that_is_no_tree_ends_the_reading(text, line, column, wording):
    assert stops_at(text, line, column) == wording


@both_parsers
@pytest.mark.parametrize(
    "version", ["1.1", "1.3", "2.0", "1.99999999999999999999", f"1.{'9' * 5000}"]
)
def test_another_version_of_yaml_is_refused(version: str) -> None:
    problem = the_problem(f"%YAML {version}\n---\na: 1\n")
    assert "another version of YAML" in problem.message
    assert problem.line == 1


@both_parsers
def test_what_was_found_before_a_syntax_error_is_reported_too() -> None:
    _, problems = attempt("a: 1\na: 2\nb: [1\n")
    assert [problem.line for problem in problems] == [2, 4]


@both_parsers
@pytest.mark.parametrize("char", ["\0", "\x01", "\x1b", "\x7f", "\x9f", "\ud800", "\ufffe"])
def test_control_characters_are_refused_at_their_place(char: str) -> None:
    message = stops_at(f"a: 1\nbc: 'x{char}'\n", 2, 7)
    assert f"U+{ord(char):04X}" in message
    assert char not in message


@both_parsers
def test_a_control_character_may_be_written_as_an_escape() -> None:
    assert read(r'"\x01\x7f"').plain() == "\x01\x7f"


def test_what_is_no_file_is_a_problem(tmp_path: Path) -> None:
    circle = tmp_path / "link.yaml"
    circle.symlink_to(circle)
    assert "no such file" in attempt_file(tmp_path / "none.yaml").message
    assert "folder" in attempt_file(tmp_path).message
    assert "NUL" in attempt_file(Path("a\0b")).message
    for path in (Path("x" * 5000), circle):
        assert "cannot be read" in attempt_file(path).message


@pytest.mark.parametrize(
    ("error", "want"),
    [
        (PermissionError(13, "Permission denied"), "permission denied"),
        (OSError(5, "Input/output error"), "Input/output error"),
    ],
)
def test_a_file_that_cannot_be_opened_is_a_problem(tmp_path, monkeypatch, error, want):
    path = tmp_path / "f.yaml"
    path.write_text("a: 1")

    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Path, "open", refuse)
    assert want in attempt_file(path).message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        assert "no regular file" in attempt_file(path).message


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        (b"a: 1\nb\0", (2, 2), "binary file"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", (3, 1), "binary file"),
        (b"\x7fELF\x02\x01\x01\0", (1, 8), "binary file"),
        ("a: 1".encode("utf-16"), (1, 1), "UTF-16"),
        ("a: 1".encode("utf-16-be"), (1, 1), "UTF-16"),
        ("a: 1".encode("utf-16-le"), (1, 1), "UTF-16"),
        (b"a: 1\n\0", (2, 1), "binary file"),
        ("a: 1".encode("utf-32"), (1, 1), "UTF-16"),
        ("a: \u00e4".encode() + b"\nb: \xe4 c\n", (2, 4), "not UTF-8 (byte 0xe4)"),
        (b"a: \xed\xa0\x80", (1, 4), "not UTF-8"),
        (b"a: \xc0\xaf", (1, 4), "not UTF-8"),
        (b"a: 1\xe2\x82", (1, 5), "not UTF-8"),
        (b"a: \x1b[31m", (1, 4), "U+001B"),
    ],
)
def test_bytes_that_are_no_text_are_refused_at_their_place(tmp_path, content, place, words):
    path = tmp_path / "f.yaml"
    path.write_bytes(content)
    problem = attempt_file(path)
    assert words in problem.message
    assert (problem.line, problem.column) == place


def test_read_raises_with_every_problem(tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "f.yaml"
    path.write_text("a: 1\na: 2\nb: !x 1\n13: 4\n")
    assert [problem.line for problem in error_of(CaseFileError, read, path).problems] == [2, 3, 4]
    with pytest.raises(CaseFileError) as raised:
        read("")
    assert raised.value == wording


def test_importing_the_package_does_not_import_yaml() -> None:
    code = "import sys, opcheck.reading; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


characters = [*"[]{},:?-&*!|>'\"%@`#~<=. \n\t\rab01\\\x85\u2028\ufeff\U0001f600"]
words_of_yaml = ["- ", ": ", "? ", "\n  ", "---\n", "...\n", "&a ", "*a", "!!str ", "!!map ", "!!x"]
rare_words = ["<<: ", "1e999", "%TAG ! x\n", "%YAML 1.2\n", '"\\U0011ffff"', "|2\n", ">-\n"]
rare_words += ['"\\x', "!<"]
yaml_bits = st.sampled_from([*characters, *words_of_yaml, *rare_words])


@both_parsers
@per_parser
@given(st.lists(yaml_bits, max_size=40).map("".join) | st.text(max_size=60))
def test_any_text_gives_a_tree_or_problems(text: str) -> None:
    start = time.perf_counter()
    node, problems = attempt(text)
    assert time.perf_counter() - start < 5
    assert node is not None or problems
    lines = len(text.splitlines()) + 1
    for problem in problems:
        assert 1 <= problem.line <= lines
        assert 1 <= problem.column <= len(text) + 1
        assert str(problem).isprintable()
    if node is not None:
        node.plain()


@both_parsers
@per_parser
@given(content=st.binary(max_size=60))
def test_any_bytes_give_a_tree_or_problems(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content)
    problems = reading.Problems()
    assert reading.read_file(path, problems) is not None or problems


#: What Python prints of a value, and the plain words that are it.
PLAIN = """\
None: ~ null Null NULL
True: true True TRUE
False: false False FALSE
0: 0 +0
12: 12 012
-7: -7
7: +7
15: 0o17
31: 0x1F
0.001: 1e-3
1000.0: 1E+3
3.4e+38: 3.4e38
1.0: 1.
0.5: .5
-5.0: -.5e1
0.0: +0.0
-0.0: -0.0
1.5: 01.5
5e-324: 5e-324
inf: .inf +.Inf
-inf: -.INF
nan: .nan .NaN"""


@pytest.mark.parametrize("line", [*PLAIN.splitlines(), f"{'9' * 400}: {'9' * 400}"])
def test_these_words_are_this_value(line: str) -> None:
    want, words = line.split(": ")
    assert {repr(reading.resolve(word)) for word in words.split()} == {want}
    assert reading.resolve("") is None


yaml_1_1 = ["on", "off", "yes", "no", "y", "1:30", "1_000", "0b11", "2001-01-01", "=", "<<"]
near_words = ["tRUE", "nULL", "inf", "-inf", "nan", "Infinity", "-.nan", "13+", "1 2", "1\n"]
near_numbers = ["0o8", "0xg", "-0x1", "+0o7", "1e", ".", "-", "+", "1.2.3", "--1", ".e5", "\u0663"]


@pytest.mark.parametrize("word", [*yaml_1_1, *near_words, *near_numbers])
def test_these_words_are_strings(word: str) -> None:
    assert reading.resolve(word) == word


@given(st.integers())
def test_every_integer_is_read_back_as_python_writes_it(number: int) -> None:
    assert reading.resolve(str(number)) == number
    if number >= 0:
        assert reading.resolve(hex(number)) == reading.resolve(oct(number)) == number


def test_the_longest_number_is_the_exact_decimal_of_any_float64() -> None:
    assert reading.resolve(f"{5e-324:.1074f}") == 5e-324
    assert reading.resolve("1" * reading.NUMBER_LENGTH) == int("1" * reading.NUMBER_LENGTH)
    for word in (
        "1" * (reading.NUMBER_LENGTH + 1),
        "0." + "1" * reading.NUMBER_LENGTH,
        "1" * 100_000,
    ):
        with pytest.raises(reading.BadScalar, match="characters"):
            reading.resolve(word)


@pytest.mark.parametrize("word", ["-0", "-00"])
def test_minus_zero_without_a_point_would_lose_its_sign_and_is_refused(
    word: str, wording: Wording
) -> None:
    with pytest.raises(reading.BadScalar) as caught:
        reading.resolve(word)
    assert caught.value == wording
    assert caught.value.hint == "write 0, or -0.0"
    assert repr(reading.tagged("tag:yaml.org,2002:float", word)) == "-0.0"
    assert reading.resolve("-01") == -1
