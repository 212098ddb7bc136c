"""The files for CI systems are gates: their steps are run in folders such as these systems give."""

import json
import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from opcheck.report import store
from tests.shell import ROOT, shell
from tests.wording import lines_with

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="POSIX signals and terminals"),
    pytest.mark.processes,
]

WORKFLOW = yaml.load((ROOT / ".github/workflows/opcheck.yml").read_text("utf-8"), yaml.BaseLoader)
SPEC, TEMPLATE = (ROOT / "examples/ci/gitlab.yml").read_text("utf-8").split("\n---\n")
DOCKERFILE = (ROOT / "examples/ci/Dockerfile").read_text("utf-8").replace("\\\n", "")

PAGE = (ROOT / "docs/gate.md").read_text("utf-8")
CALL, INCLUDE = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]

CASES = """\
op: Hardmax
opset: 13
dtype: float32
attrs: {axis: 1}
cases:
- {name: ties, inputs: {input: [[3, 3, 1]]}, expect: {output: [[1, 0, 0]]}}
"""
CASE = "- {name: most_NUMBER, inputs: {input: [[NUMBER, 2, 9]]}, expect: {output: [[0, 0, 1]]}}\n"
MORE = """\
from tests.cli.fakes import Fake, falls_back, lacks_float32

IDLE, LOST = Fake(lacks_float32, "idle"), Fake(falls_back, "lost")
"""
INSTALL = 'pip install "$OPCHECK"'


@pytest.fixture(autouse=True)
def repository(tmp_path: Path) -> Path:
    """A repository with six cases and profiles of backends."""
    folder = tmp_path / "repository"
    folder.mkdir()
    cases = CASES + "".join(CASE.replace("NUMBER", str(number)) for number in range(5))
    (folder / "my.yaml").write_text(cases, encoding="utf-8")
    (folder / "more.py").write_text(MORE, encoding="utf-8")
    addresses = {"wrong": "tests.cli.fakes:LAST_OF_TIES", "gone": "nowhere"}
    addresses |= dict.fromkeys(("mine", "other"), "tests.cli.fakes:RIGHT")
    addresses |= {name: f"more:{name.upper()}" for name in ("idle", "lost")}
    profiles = [f'[backends.{name}]\naddress = "py:{place}"' for name, place in addresses.items()]
    # Right in all core cases of an operator, as --require wants.
    profiles += [f'[backends.{name}]\naddress = "numpy"' for name in ("exact", "precise")]
    (folder / "opcheck.toml").write_text("\n".join(profiles), encoding="utf-8")
    return folder


def named(text: str, context: Mapping[str, str]) -> str:
    """A text in which GitHub's expressions, all of them names, are replaced."""
    return re.sub(r"\$\{\{ (\S+) \}\}", lambda found: context[found[1]], text)


class GitHub:
    """Runs the jobs of the workflow, each in a new workspace."""

    def __init__(self, folder: Path, backends: list[str], **inputs: str) -> None:
        declared = WORKFLOW["on"]["workflow_call"]["inputs"]
        given = {name: each.get("default", "") for name, each in declared.items()}
        given |= CALL["jobs"]["conformance"]["with"] | {"backends": "\n".join(backends)} | inputs
        assert given.keys() == declared.keys()
        self.folder, self.artifacts, self.failed = folder, folder / "artifacts", False
        self.context = {f"inputs.{name}": str(value) for name, value in given.items()}

    def job(self, name: str, **matrix: str) -> tuple[int, str]:
        """Exit status of the first step that fails, and what steps print."""
        workspace = Path(self.folder / "workspaces" / " ".join([name, *matrix.values()]))
        workspace.parent.mkdir(exist_ok=True)
        workspace.mkdir()
        context = {**self.context, **{f"matrix.{key}": text for key, text in matrix.items()}}
        status, printed = 0, ""
        for step in WORKFLOW["jobs"][name]["steps"]:
            if (status and step.get("if") != "always()") or "inputs" in step.get("if", ""):
                assert step.get("if") in (None, "always()", "inputs.artifact != ''")
                continue
            action = step.get("uses", "").removeprefix("actions/").partition("@")[0]
            given = {key: named(text, context) for key, text in step.get("with", {}).items()}
            if action == "checkout":
                shutil.copytree(self.folder / "repository", workspace, dirs_exist_ok=True)
            elif action == "upload-artifact":
                files = [workspace / path for path in given["path"].split()]
                target = self.artifacts / given["name"]
                target.mkdir(parents=True)  # the name of an artifact is used once
                [shutil.copy(file, target) for file in files if file.exists()]
            elif action == "download-artifact":
                for artifact in self.artifacts.glob(given["pattern"]):
                    shutil.copytree(artifact, workspace, dirs_exist_ok=True)
            elif step.get("name") == "install":
                assert step["run"].startswith(INSTALL)
            elif action != "setup-python":
                assert "${{" not in step["run"]
                env = {key: named(text, context) for key, text in step.get("env", {}).items()}
                env |= {file: f"{workspace}/{file}" for file in ("GITHUB_STEP_SUMMARY", "output")}
                env["GITHUB_OUTPUT"] = env.pop("output")
                ended, said = steps(workspace, env, step["run"])
                status, printed = status or ended, printed + said
        return status, printed

    def shards(self, without: int = -1) -> list[int]:
        """Exit statuses of the shards' jobs; the one `without` the runner got lost."""
        assert self.job("plan")[0] == 0
        planned = (self.folder / "workspaces" / "plan" / "output").read_text()
        matrix = json.loads(planned.removeprefix("matrix="))["include"]
        shard = WORKFLOW["jobs"]["shard"]
        assert shard["strategy"]["matrix"] == "${{ fromJSON(needs.plan.outputs.matrix) }}"
        assert (shard["needs"], shard["strategy"]["fail-fast"]) == ("plan", "false")
        parts = [part for number, part in enumerate(matrix) if number != without]
        found = [self.job("shard", **part)[0] for part in parts]
        is_well = without < 0 and not any(found)
        self.context["needs.shard.result"] = "success" if is_well else "failure"
        return found

    def gate(self) -> tuple[int, str]:
        """Exit status, and what is printed."""
        # GitHub skips a job whose needs failed, and counts that as passed.
        assert [WORKFLOW["jobs"]["gate"][key] for key in ("needs", "if")] == ["shard", "always()"]
        return self.job("gate")


class GitLab:
    """Runs the jobs of the template, each in a clone of the repository."""

    def __init__(self, folder: Path, backends: list[str], **inputs: str) -> None:
        declared = yaml.safe_load(SPEC)["spec"]["inputs"]
        given = {name: each.get("default", "") for name, each in declared.items()}
        given |= INCLUDE["include"][0]["inputs"] | {"backends": backends} | inputs
        assert given.keys() == declared.keys()
        text = re.sub(r"\$\[\[ inputs\.(\S+) \]\]", lambda name: _text(given[name[1]]), TEMPLATE)
        self.folder, self.jobs = folder, yaml.safe_load(text)
        self.artifacts = folder / "artifacts"

    def job(self, name: str, **variables: str) -> tuple[int, str]:
        """Exit status, and what is printed."""
        job, clone = self.jobs[name], self.folder / "clones" / "-".join([name, *variables.values()])
        shutil.copytree(self.folder / "repository", clone)
        for artifacts in self.artifacts.glob("*") if "needs" in job else ():
            shutil.copytree(artifacts, clone, dirs_exist_ok=True)
        assert job["before_script"][0] == INSTALL
        status, printed = steps(clone, job["variables"] | variables, *job["script"])
        assert job["artifacts"]["when"] == "always"
        for file in [file for path in job["artifacts"]["paths"] for file in clone.glob(path)]:
            target = self.artifacts / clone.name.replace("/", "-")
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
        return status, printed

    def shards(self, without: int = -1) -> list[int]:
        """Exit statuses of the shards' jobs; the one `without` the runner got lost."""
        (matrix,) = self.jobs["opcheck-shard"]["parallel"]["matrix"]
        pairs = [(backend, shard) for backend in matrix["BACKEND"] for shard in matrix["SHARD"]]
        found = []
        for number, (backend, shard) in enumerate(pairs):
            numbers = {"CI_NODE_INDEX": str(number + 1), "CI_NODE_TOTAL": str(len(pairs))}
            if number != without:
                (self.folder / "clones").mkdir(exist_ok=True)
                asked = {"BACKEND": backend, "SHARD": shard, **numbers}
                found.append(self.job("opcheck-shard", **asked)[0])
        return found

    def gate(self) -> tuple[int, str]:
        """Exit status, and what is printed."""
        gate = self.jobs["opcheck"]
        assert (gate["needs"], gate["when"]) == (["opcheck-shard"], "always")
        return self.job("opcheck")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def steps(folder: Path, env: Mapping[str, str], *commands: str) -> tuple[int, str]:
    """Run as both systems do: they stop at the first error, also in a pipe."""
    # One operator is asked about, since all take a minute.
    script = "\n".join(commands).replace("opcheck support ", "opcheck support --op Hardmax ")
    exports = [f"export {name}={shlex.quote(value)}" for name, value in env.items()]
    return shell(folder, "\n".join([*exports, "export CI=true", "set -eo pipefail", script]))


systems = pytest.mark.parametrize("system", [GitHub, GitLab])


@systems
def test_right_backends_pass_and_all_their_results_are_joined(system, tmp_path, wording):
    ci = system(tmp_path, ["exact", "precise"], require="Hardmax@13+:float32")
    assert ci.shards() == [0, 0, 0, 0]
    status, printed = ci.gate()
    assert status == 0
    assert printed.splitlines()[-1] == wording
    kept = tmp_path / "artifacts" / "opcheck"
    assert store.read(kept / "run.jsonl").header.paths == ("my.yaml",)
    assert "<html" in (kept / "run.html").read_text("utf-8")


@pytest.mark.sampled(1)
@systems
def test_a_wrong_backend_is_red_and_every_failure_is_told(system, tmp_path, wording):
    ci = system(tmp_path, ["mine", "wrong"])
    assert ci.shards() == [0, 0, 0, 0]
    status, printed = ci.gate()
    assert (status, printed.splitlines()[-1]) == (1, wording)
    if system is GitHub:
        assert "::error file=my.yaml,line=6" in printed
        (summary,) = tmp_path.rglob("GITHUB_STEP_SUMMARY")
        assert "1 fail" in summary.read_text("utf-8")
    else:
        (junit,) = tmp_path.rglob("run.xml")
        assert 'failures="1"' in junit.read_text("utf-8")


@pytest.mark.sampled(1)
@systems
def test_a_shard_that_is_missing_is_loud_and_the_rest_is_shown(system, tmp_path, wording):
    ci = system(tmp_path, ["mine", "other"])
    assert ci.shards(without=2) == [0, 0, 0]
    status, printed = ci.gate()
    assert status == 4
    assert lines_with(printed, "shard 1 of 2") == wording
    assert lines_with(printed, "gate: of 4 jobs") == wording
    assert len([*tmp_path.glob("artifacts/opcheck/run.html")]) == 1


@pytest.mark.sampled(2)
@systems
@pytest.mark.parametrize(
    ("backends", "statuses", "code", "said"),
    [
        (["mine", "gone"], [0, 0, 2, 2], 4, "gate: of 4 jobs"),
        (["gone"], [2, 2], 4, "gate: no shard"),
        (["mine", "lost"], [0, 0, 4, 4], 4, "exit 4: "),
        (["mine", "idle"], [0, 0, 0, 0], 5, "exit 5: "),
    ],
    ids=["gone", "nothing", "lost", "idle"],
)
def test_a_backend_that_never_ran_is_not_green(
    system, backends, statuses, code, said, tmp_path, wording
):
    ci = system(tmp_path, backends)
    assert ci.shards() == statuses
    status, printed = ci.gate()
    assert status == code
    assert lines_with(printed, said) == wording


@pytest.mark.sampled(1)
@systems
def test_words_that_opcheck_refuses_end_each_shard(system, tmp_path):
    ci = system(tmp_path, ["mine"], options="--expect-cases 5")
    assert ci.shards() == [2, 2]
    assert ci.gate()[0] == 4


@pytest.mark.sampled(1)
@systems
def test_what_is_required_but_not_right_is_red_though_all_cases_pass(system, tmp_path, wording):
    ci = system(tmp_path, ["mine"], require="Hardmax@11:float32")
    assert ci.shards() == [1, 0]  # which is enough for GitLab, where pipelines are judged
    status, printed = ci.gate()
    if system is GitHub:
        assert status == 1
        assert printed.splitlines()[-1] == wording


def test_the_image_is_made_of_what_the_wheel_is_made_of_and_its_entry_is_a_gate(repository):
    lines = [line.partition(" ") for line in DOCKERFILE.splitlines() if line[:1].isalpha()]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    copied = {Path(word) for name, _, rest in lines if name == "COPY" for word in rest.split()[:-1]}
    assert {*map(Path, [*wheel, "pyproject.toml", "README.md", "LICENSE"])} == copied
    build, install = [rest for name, _, rest in lines if name == "RUN"]
    assert build == "pip wheel --no-deps --wheel-dir /wheel /opcheck"
    assert install.endswith(
        "from=build,source=/wheel,target=/wheel pip install --no-cache-dir /wheel/*.whl"
    )
    # No shell comes between Docker and the command, whose exit code is the container's.
    (entry,) = [json.loads(rest) for name, _, rest in lines if name == "ENTRYPOINT"]
    home = {"HOME": "/nowhere"}
    (shown,) = re.findall(r"^docker run .* opcheck-gate (.*)", PAGE, re.MULTILINE)
    for backend, code in (("mine", 0), ("wrong", 1), ("lost", 4), ("idle", 1)):
        words = f"{shlex.join(entry)} {shown.replace('mine', backend)}"
        assert steps(repository, home, words)[0] == code, backend
        assert store.read(repository / "run.jsonl").header.backends[0].address == backend
        (repository / "run.html").unlink()
