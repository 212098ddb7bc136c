"""Sixty further reports, and the lot that parted them before any of them was planted.

`working` bugs are for the work on names. What `held_out` bugs are called is to be seen once, when
that work is done.
"""

from collections.abc import Mapping
from hashlib import sha256

#: What the lot was drawn with.
SEED = "2026-11-30"
#: Where each bug was reported.
REPORTS: Mapping[str, str] = {
    "argmax_takes_the_first": "ROCm/AMDMIGraphX#556",
    "average_pool_begins_for_both_ends": "microsoft/onnxruntime#29631",
    "batch_normalization_always_trains": "apache/tvm#18704",
    "batch_normalization_by_running_averages": "microsoft/onnxruntime#29790",
    "batch_normalization_with_the_other_momentum": "FluxML/ONNX.jl#57",
    "bits_shifted_by_the_remainder": "microsoft/onnxruntime#28262",
    "conv_needs_its_kernel_shape": "apache/tvm#7899",
    "conv_transpose_without_auto_pad": "apache/tvm#19450",
    "conv_transpose_without_output_padding": "apache/tvm#18601",
    "cross_entropy_over_ignored_labels": "llvm/torch-mlir#3585",
    "cumsum_backwards_dies_of_one_element": "microsoft/onnxruntime#13174",
    "cumsum_must_be_inclusive": "apache/tvm#19692",
    "depth_to_space_with_blocks_first": "iree-org/iree#24179",
    "depth_to_space_without_mode": "PINTO0309/onnx2tf#92",
    "elu_of_0_by_default": "llvm/torch-mlir#3583",
    "gather_nd_merges_batches": "openvinotoolkit/openvino#7379",
    "gelu_of_none_is_approximate": "openvinotoolkit/openvino#24215",
    "gemm_of_default_alpha_is_nan": "ai-on-browser/ai-on-browser.github.io#503",
    "gru_without_linear_before_reset": "microsoft/onnxscript#2852",
    "hard_sigmoid_of_beta_0": "OAID/Tengine#1122",
    "hard_sigmoid_of_defaults_alone": "VeriSilicon/TIM-VX#306",
    "hardmax_refuses_negative_axes": "microsoft/onnxruntime#1814",
    "hardmax_takes_the_last": "openvinotoolkit/openvino#33410",
    "infinities_of_both_signs": "emmtrix/emx-onnx-cgen#307",
    "leaky_relu_of_a_tenth": "NeuralNetworkVerification/Marabou#739",
    "likelihood_of_logarithms": "ROCm/AMDMIGraphX#3430",
    "lp_pool_sized_without_dilations": "onnx/onnx#4849",
    "lrn_by_alpha_undivided": "chainer/onnx-chainer#36",
    "lrn_over_batches": "onnx/onnx#7805",
    "lstm_needs_both_states": "onnx/onnx-tensorflow#408",
    "max_pool_dilated_in_size_alone": "xboot/libonnx#24",
    "max_pool_without_ceil_mode": "Xilinx/onnx-mlir#560",
    "max_skips_nan": "microsoft/onnxruntime#19984",
    "one_hot_refuses_axis_minus_2": "microsoft/onnxruntime#1313",
    "pad_does_not_crop": "microsoft/onnxruntime#2433",
    "pad_reflects_rows_too": "microsoft/onnxruntime#6442",
    "pad_reflects_once": "microsoft/onnxruntime#16401",
    "prelu_along_channels": "apache/tvm#18598",
    "quantized_int8_from_minus_127": "microsoft/onnxruntime#3442",
    "quantized_halves_downwards": "microsoft/onnxruntime#18576",
    "reduce_l1_needs_axes": "microsoft/onnxruntime#25095",
    "reduce_max_of_nothing_drops_axes": "onnx/onnx#7140",
    "reduce_mean_over_everything": "apache/tvm#18698",
    "reduce_mean_without_noop": "microsoft/onnxruntime#16586",
    "reduce_sum_square_of_nothing_unsquared": "microsoft/onnxruntime#26288",
    "reshape_without_allowzero": "sonos/tract#2698",
    "resize_floors_towards_zero": "iree-org/iree#24264",
    "resize_ties_to_the_floor": "microsoft/onnxruntime#28291",
    "roi_align_without_half_pixels": "microsoft/onnxruntime#12847",
    "round_ties_away": "apache/tvm#18590",
    "sign_of_nan_is_0": "iree-org/iree#24502",
    "slice_backwards_by_one_less": "iree-org/iree#24584",
    "slice_ends_one_late": "OAID/Tengine#1093",
    "slice_of_nothing_backwards_refused": "apache/tvm#19532",
    "slice_starts_before_the_data": "apache/tvm#20263",
    "softmax_along_the_last_axis_by_default": "onnx/onnx-mlir#832",
    "softmax_of_version_13": "apache/tvm#20183",
    "suppression_of_a_hundred_boxes": "apache/tvm#19544",
    "top_k_later_ties_first": "onnx/onnx#6593",
    "trilu_of_constant_k_alone": "tracel-ai/burn-onnx#524",
}


def _lot(name: str) -> str:
    """Return what the names are sorted by, which nobody chose."""
    return sha256(f"{SEED} {name}".encode()).hexdigest()


_DRAWN = sorted(REPORTS, key=_lot)
WORKING = frozenset(_DRAWN[: len(_DRAWN) // 2])
HELD_OUT = frozenset(_DRAWN[len(_DRAWN) // 2 :])
