"""A provider of ONNX Runtime from a plugin library, and what it does not fall back to."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime
import pytest

from opcheck.backends import connect
from opcheck.backends.adapters import onnxruntime as adapter
from opcheck.backends.address import names_code, parse, profiles
from opcheck.backends.trust import UntrustedCode
from opcheck.errors import BackendUnavailable, UsageError
from opcheck.model import Declined, NotRun, Outcome, Produced
from tests import asking
from tests.asking import task_of
from tests.expecting import error_of, of_type
from tests.wording import Wording

X = np.array([[3, 3, 1], [3, 0, 3]], np.float32)
RELU = task_of("Relu", 14, {}, X)
CPU = "CPUExecutionProvider"


def part(provider: str, *operators: str) -> Any:
    """What a session reports of the nodes that it gave to a provider."""
    nodes = [SimpleNamespace(op_type=name) for name in operators]
    return SimpleNamespace(ep_name=provider, get_nodes=lambda: nodes)


@dataclass
class Library:
    """A plugin library's stand-in: its providers' devices, and the sessions made on them."""

    path: Path
    #: The providers of its devices, in order.
    providers: list[str]
    #: What sessions report; None for all nodes on the provider asked for.
    assigned: list[Any] | None = None
    #: Of each session: the device, the provider's options, the session's settings.
    sessions: list[Any] = field(default_factory=list)
    registered: bool = False

    def devices(self) -> list[Any]:
        own = [
            SimpleNamespace(
                ep_name=name,
                device=SimpleNamespace(type=SimpleNamespace(name="NPU"), vendor=f"maker {n}"),
            )
            for n, name in enumerate(self.providers)
        ]
        cpu = SimpleNamespace(ep_name=CPU)
        return [cpu, *own] if self.registered else [cpu]

    def register(self, name: str, path: str) -> None:
        assert (name, path) == (self.path.stem, str(self.path))
        assert not self.registered
        self.registered = True

    def session(self, _: Any, options: Any, providers: Any = None, **rest: Any) -> Any:
        assert providers is None  # they would take the place of the device
        assert rest == {"enable_fallback": 0, "disabled_optimizers": ["ConstantFolding"]}
        ((device,), own) = options.device
        self.sessions.append((device, own, options.entries))
        assigned = [part(device.ep_name, "Relu")] if self.assigned is None else self.assigned
        return SimpleNamespace(
            get_providers=lambda: [device.ep_name, CPU],
            get_provider_graph_assignment_info=lambda: assigned,
            get_inputs=list,
            get_outputs=list,
            run=lambda _, feed: [np.maximum(0, next(iter(feed.values())))],
        )


class Options:
    """Session options that keep what they are given."""

    def __init__(self) -> None:
        self.entries: dict[str, str] = {}
        self.device: Any = None

    def add_session_config_entry(self, name: str, value: str) -> None:
        self.entries[name] = value

    def add_provider_for_devices(self, devices: Any, options: Any) -> None:
        self.device = (devices, options)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A plugin with two devices of one provider."""
    path = tmp_path / "libnpu_ep.so"
    path.touch()
    fake = Library(path, ["NpuProvider", "NpuProvider"])
    monkeypatch.setattr(onnxruntime, "get_ep_devices", fake.devices)
    monkeypatch.setattr(onnxruntime, "register_execution_provider_library", fake.register)
    monkeypatch.setattr(onnxruntime, "InferenceSession", fake.session)
    monkeypatch.setattr(onnxruntime, "SessionOptions", Options)
    return fake


def outcome(library: Library, options: str = "") -> Outcome:
    return asking.outcome_of(connect(f"onnxruntime?ep_library={library.path}{options}"), RELU, X)


def test_a_plugin_runs_on_its_first_device_or_the_one_of_this_number(library: Library) -> None:
    of_type(Produced, outcome(library))
    of_type(Produced, outcome(library, "&device=1"))
    makers = [device.device.vendor for device, _, _ in library.sessions]
    assert makers == ["maker 0"] * 2 + ["maker 1"] * 2  # one to see if it works, one for the model


def test_its_address_names_the_provider_and_its_devices_are_listed(library: Library) -> None:
    info = connect(f"onnxruntime?ep_library={library.path}&device=1").info
    assert info.address == f"onnxruntime:NpuProvider?device=1&ep_library={library.path}"
    assert [text.partition(":")[0] for text in info.devices] == ["device 1", "device 0"]
    assert info.threads == 1


def test_options_that_begin_with_ep_are_the_provider_s(library: Library) -> None:
    outcome(library, "&ep.precision=f16&ep.cache=off&threads=2")
    assert [own for _, own, _ in library.sessions] == [{"cache": "off", "precision": "f16"}] * 2


def test_a_profile_states_library_device_and_options(library: Library) -> None:
    (library.path.parent / "opcheck.toml").write_text(
        f"""
        [backends.npu]
        address = "onnxruntime"
        options = {{ ep_library = "{library.path}", device = 1, "ep.precision" = "f16" }}
        """
    )
    profile = profiles(library.path.parent)["npu"]
    assert connect(str(profile.address)).info.address.startswith("onnxruntime:NpuProvider?")
    with pytest.raises(UntrustedCode):
        profile.require_trust()


def test_a_session_may_not_fall_back_to_the_cpu(library: Library) -> None:
    outcome(library)
    *_, (_, _, entries) = library.sessions
    assert entries["session.disable_cpu_ep_fallback"] == "1"


@pytest.mark.parametrize(
    "assigned",
    [
        [part(CPU, "Relu")],
        [part("NpuProvider", "Mul"), part(CPU, "Relu")],
    ],
    ids=["all", "one of two"],
)
def test_a_node_on_the_cpu_is_not_run_although_the_session_was_made(
    library: Library, assigned: list[Any]
) -> None:
    library.assigned = assigned
    assert outcome(library) == NotRun(f"asked for NpuProvider, got Relu on {CPU}")


def test_a_model_of_which_no_node_is_left_for_the_provider_is_declined(library: Library) -> None:
    library.assigned = []
    assert "NpuProvider" in of_type(Declined, outcome(library)).reason


@pytest.mark.skipif(
    "AzureExecutionProvider" not in onnxruntime.get_available_providers(),
    reason="this onnxruntime has no second provider to try",
)
def test_a_node_of_constants_is_not_computed_on_the_cpu_in_silence() -> None:
    constant = task_of("Relu", 14, {}, X, initializer=True)
    assert isinstance(asking.outcome_of(connect("onnxruntime"), constant), Produced)
    backend = connect("onnxruntime:AzureExecutionProvider")
    assert "default CPU EP" in of_type(Declined, asking.outcome_of(backend, constant)).reason


def test_the_device_of_a_built_in_provider_is_its_device_id(monkeypatch) -> None:
    providers: list[Any] = []

    def make(_: Any, __: Any, asked: list[Any], **___: Any) -> Any:
        providers.extend(asked)
        return SimpleNamespace(get_providers=lambda: ["CUDAExecutionProvider"])

    here = ["CUDAExecutionProvider", CPU]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: here)
    monkeypatch.setattr(onnxruntime, "InferenceSession", make)
    adapter.connect("CUDAExecutionProvider", {"device": "1", "ep.use_tf32": "0"})
    assert providers == [("CUDAExecutionProvider", {"device_id": "1", "use_tf32": "0"})]


@pytest.mark.parametrize(
    ("detail", "options"),
    [
        ("NpuProvidr", {}),
        (None, {"ep_library": "libnpu_epp.so"}),
        (None, {"ep_library": ""}),
        (None, {"device": "one"}),
        (None, {"device": "-1"}),
        (None, {"ep_libary": "x"}),
    ],
)
def test_a_wrong_value_is_a_usage_error(
    library: Library, monkeypatch, detail, options, wording: Wording
) -> None:
    monkeypatch.chdir(library.path.parent)
    given = {"ep_library": str(library.path), **options}
    error = error_of(UsageError, adapter.connect, detail, given)
    assert str(error).replace(str(library.path.parent), "FOLDER") == wording
    assert (error.hint or "").replace(str(library.path.parent), "FOLDER") == wording


def test_one_of_several_providers_is_to_be_named(library: Library) -> None:
    library.providers = ["NpuProvider", "NpuProvider.AUTO"]
    given = {"ep_library": str(library.path)}
    error = error_of(UsageError, adapter.connect, None, given)
    for name in library.providers:
        assert f"onnxruntime:{name}?ep_library=" in (error.hint or "")
    found = adapter.connect("NpuProvider.AUTO", given)
    assert found.info.address == "onnxruntime:NpuProvider.AUTO"


@pytest.mark.parametrize(("providers", "device"), [([], None), (["NpuProvider"], "1")])
def test_a_device_that_is_not_here_cannot_be_used(library: Library, providers, device) -> None:
    library.providers = providers
    given = {"ep_library": str(library.path), **({"device": device} if device else {})}
    error_of(BackendUnavailable, adapter.connect, None, given)


def test_a_file_that_is_no_plugin_cannot_be_used(tmp_path: Path) -> None:
    file = tmp_path / "libnone.so"
    file.write_text("no library")
    error = error_of(BackendUnavailable, adapter.connect, None, {"ep_library": str(file)})
    assert str(file) in error.message


@pytest.mark.parametrize("options", [{"device": "0"}, {"ep.precision": "f16"}])
def test_the_cpu_s_provider_has_neither_devices_nor_options(options) -> None:
    error_of(UsageError, adapter.connect, None, options)


@pytest.mark.parametrize(
    ("address", "is_code"),
    [
        ("onnxruntime?threads=2", False),
        ("onnxruntime:CUDAExecutionProvider?device=1", False),
        ("onnxruntime?ep_library=plugin.so", True),
        ("onnxruntime:QNNExecutionProvider?ep.backend_path=libQnnHtp.so", True),
    ],
)
def test_a_library_in_an_address_is_code(address: str, is_code: bool) -> None:
    assert names_code(parse(address)) == is_code
