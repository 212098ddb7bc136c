"""What of a machine changes verdicts is looked at, and reported only where it matters."""

import pytest

from opcheck import machine

#: An Intel processor of 2023, and an Arm processor, as Linux describes them.
INTEL = "model name : x\nflags : fpu sse2 avx2 avx512f avx512_bf16 avx512_fp16 amx_bf16\n"
ARM = "processor : 0\nFeatures : fp asimd asimdhp bf16\n"


@pytest.mark.parametrize(
    ("text", "features"),
    [
        (INTEL, ["AVX2", "AVX-512", "AVX-512 BF16", "AVX-512 FP16", "AMX BF16"]),
        (ARM, ["NEON FP16", "NEON BF16"]),
        ("processor : 0\n", []),
    ],
    ids=["Intel", "Arm", "unknown"],
)
def test_features_that_change_answers_are_those_of_the_kernel(tmp_path, text, features):
    (tmp_path / "cpuinfo").write_text(text)
    assert machine.processor_features(tmp_path / "cpuinfo") == features


def test_a_system_without_cpuinfo_has_no_known_feature(tmp_path) -> None:
    assert machine.processor_features(tmp_path / "none") == []


@pytest.mark.skipif("sys.platform != 'linux'")
def test_the_locale_of_c_is_there_and_a_name_of_nothing_is_not() -> None:
    assert machine.has_locale("C")
    assert not machine.has_locale("xx_XX.nothing")


@pytest.mark.parametrize(
    ("kinds", "operators", "words"),
    [
        ({"onnxruntime"}, {"StringNormalizer", "Add"}, ["en_US.UTF-8"]),
        ({"onnxruntime"}, {"Add"}, []),
        ({"reference"}, {"StringNormalizer"}, []),
        ({"openvino"}, {"Add"}, ["bfloat16"]),
        ({"onnxruntime", "openvino"}, {"StringNormalizer"}, ["en_US.UTF-8", "bfloat16"]),
    ],
)
def test_only_what_matters_for_a_run_is_remarked_on(monkeypatch, kinds, operators, words):
    monkeypatch.setattr(machine, "has_locale", lambda: False)
    monkeypatch.setattr(machine, "processor_features", lambda: ["AMX BF16"])
    remarks = machine.remarks(kinds, operators)
    assert len(remarks) == len(words)
    assert all(word in remark for word, remark in zip(words, remarks, strict=True))


def test_a_machine_that_has_everything_is_not_remarked_on(monkeypatch):
    monkeypatch.setattr(machine, "has_locale", lambda: True)
    monkeypatch.setattr(machine, "processor_features", lambda: ["AVX2"])
    assert machine.remarks({"onnxruntime", "openvino"}, {"StringNormalizer"}) == ()
    assert machine.look()["locale"] == "en_US.UTF-8 is there"
    assert machine.look()["bfloat16"] == "not computed"
