"""Execution providers of ONNX Runtime, built in or from a plugin library, each on one device.

A session that was asked for one falls back to the CPU in several ways, and each is looked for here:
the whole session, single nodes, and nodes of constants, which ONNX Runtime computes itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from onnx import parser

from opcheck.errors import BackendUnavailable, NotSupported, UsageError, did_you_mean

CPU = "CPUExecutionProvider"
#: How the names of options begin that are for the provider itself.
OPTION = "ep."


@dataclass(frozen=True)
class Provider:
    """An execution provider on one of its devices."""

    name: str
    #: What is offered here, the one in use first.
    devices: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    #: The device of a plugin library, as ONNX Runtime has it; None for a built-in provider.
    plugin_device: Any = None

    def session(self, ort: Any, model: str | bytes, threads: int) -> Any:
        """Return a session on this provider only, with its defaults but for the threads.

        Raises BackendUnavailable if ONNX Runtime moves any of it to another provider, and
        NotSupported if no node is left for this one.
        """
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        if self.name != CPU:
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
            options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        session = self._unchecked(ort, model, options)
        names = session.get_providers()
        if names[:1] != [self.name]:
            raise BackendUnavailable(f"asked for {self.name}, got {', '.join(names)}")
        if self.name != CPU:
            self._require_nodes(session)
        return session

    def require_works(self, ort: Any) -> None:
        """Raise BackendUnavailable for a provider without its device or libraries."""
        # ONNX Runtime would hand all nodes to the CPU, which is then said to lack their kernels.
        head = '<ir_version: 8, opset_import: ["": 13]>'
        text = f"{head} g (float[1] x) => (float[1] y) {{ y = Identity(x) }}"
        model = parser.parse_model(text).SerializeToString()
        hint = (
            "its device or libraries are missing: an InferenceSession with it in Python prints why"
        )
        try:
            # It may lack this operator, so the CPU may step in.
            names = self._unchecked(ort, model, ort.SessionOptions()).get_providers()
        except Exception as error:
            raise BackendUnavailable(f"{self.name} does not work here: {error}", hint) from error
        if names[:1] != [self.name]:
            raise BackendUnavailable(
                f"{self.name} does not work here: got {', '.join(names)}", hint
            )

    def _unchecked(self, ort: Any, model: str | bytes, options: Any) -> Any:
        """Return a session that is asked for this provider, whatever comes of it."""
        # Left enabled, `enable_fallback` moves a session that fails to the CPU in silence.
        if self.name == CPU:
            return ort.InferenceSession(model, options, [CPU], enable_fallback=0)
        providers: list[Any] | None = None
        if self.plugin_device is not None:
            options.add_provider_for_devices([self.plugin_device], dict(self.options))
        elif self.options:
            providers = [(self.name, dict(self.options))]
        else:
            providers = [self.name]
        # Nodes of constants would be computed on the CPU while the model is loaded.
        without = ["ConstantFolding"]
        return ort.InferenceSession(
            model, options, providers, enable_fallback=0, disabled_optimizers=without
        )

    def _require_nodes(self, session: Any) -> None:
        """Raise BackendUnavailable for a node of another provider, NotSupported for no node."""
        parts = session.get_provider_graph_assignment_info()
        strays = [
            f"{node.op_type} on {part.ep_name}"
            for part in parts
            if part.ep_name != self.name
            for node in part.get_nodes()
        ]
        if strays:
            raise BackendUnavailable(f"asked for {self.name}, got {', '.join(strays)}")
        if not parts:
            raise NotSupported(f"ONNX Runtime leaves no node of this model to {self.name}")


def built_in(ort: Any, name: str, device: int | None, options: Mapping[str, str]) -> Provider:
    """Return a provider of this onnxruntime; `device` is its own option `device_id`.

    Raises UsageError for an unknown provider, and for a device or options of the CPU's, and
    BackendUnavailable for a provider that this build lacks, or that does not work.
    """
    known = ort.get_all_providers()
    here = ort.get_available_providers()
    if name not in known:
        others = f"it has {', '.join(here)}; one of a plugin library needs ?ep_library=FILE"
        hint = did_you_mean(name, known) or others
        raise UsageError(f"onnxruntime has no execution provider {name!r}", hint)
    if name not in here:
        hint = f"it has {', '.join(here)}; install the onnxruntime package that carries {name}"
        raise BackendUnavailable(f"this onnxruntime is built without {name}", hint)
    given = dict(options)
    if device is not None:
        given["device_id"] = str(device)
    if given and name == CPU:
        hint = "name another provider, onnxruntime:NAME, or a plugin library, ?ep_library=FILE"
        raise UsageError(f"{CPU} has neither devices nor options", hint)
    provider = Provider(name, (name, *(other for other in here if other != name)), given)
    if name != CPU:
        provider.require_works(ort)
    return provider


def of_library(
    ort: Any, file: str, name: str | None, device: int | None, options: Mapping[str, str]
) -> Provider:
    """Return the provider `name` of a plugin library, on its device number `device`, or its first.

    `name` may be None if the library has one provider. Raises UsageError for a file or provider
    that is not there, and BackendUnavailable for a library that does not load, or a device that is
    not there or does not work.
    """
    offered = _devices_of(ort, _existing(file))
    names = list(dict.fromkeys(one.ep_name for one in offered))
    if not names:
        hint = "its hardware or driver is missing, or it needs another release of onnxruntime"
        raise BackendUnavailable(f"ep_library={file} finds no device here", hint)
    if name is None and len(names) > 1:
        hint = "name one: " + ", ".join(f"onnxruntime:{one}?ep_library={file}" for one in names)
        raise UsageError(f"ep_library={file} has several execution providers", hint)
    chosen = names[0] if name is None else name
    if chosen not in names:
        hint = did_you_mean(chosen, names) or f"it has {', '.join(names)}"
        raise UsageError(f"ep_library={file} has no execution provider {chosen!r}", hint)
    devices = [one for one in offered if one.ep_name == chosen]
    number = 0 if device is None else device
    if number >= len(devices):
        shown = ", ".join(_described(n, one) for n, one in enumerate(devices))
        raise BackendUnavailable(f"{chosen} finds no device {number} here", f"it finds {shown}")
    others = [n for n in range(len(devices)) if n != number]
    shown_devices = tuple(_described(n, devices[n]) for n in (number, *others))
    provider = Provider(chosen, shown_devices, options, devices[number])
    provider.require_works(ort)
    return provider


def _existing(file: str) -> Path:
    """Return the absolute path of a file; raise UsageError, with a similar name, without one."""
    path = Path(file).absolute()
    if path.is_file():
        return path
    neighbors = []
    if path.parent.is_dir():
        neighbors = [other.name for other in path.parent.iterdir()]
    hint = did_you_mean(path.name, neighbors) or "write the path of the plugin's shared library"
    raise UsageError(f"backend 'onnxruntime': ep_library={file}: there is no such file", hint)


@cache
def _devices_of(ort: Any, file: Path) -> list[Any]:
    """Load a plugin library, once in a process, and return the devices that come with it."""
    before = {one.ep_name for one in ort.get_ep_devices()}
    try:
        ort.register_execution_provider_library(file.stem, str(file))
    except Exception as error:
        hint = "it must be an execution provider for this release of onnxruntime"
        raise BackendUnavailable(f"ep_library={file} cannot be loaded: {error}", hint) from error
    return [one for one in ort.get_ep_devices() if one.ep_name not in before]


def _described(number: int, one: Any) -> str:
    """Return a device's number, kind and maker, such as `device 0: GPU of NVIDIA`."""
    return f"device {number}: {one.device.type.name} of {one.device.vendor or 'unknown make'}"
