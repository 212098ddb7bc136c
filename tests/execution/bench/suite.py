"""Cases that take some microseconds, for tests of what times them."""

CASES = """\
op: Hardmax
opset: 13
dtype: float32
attrs: {axis: -1}
bench:
- name: one
  inputs: {input: {shape: [4, 25], normal: [0, 1]}}
- name: two
  inputs: {input: {shape: [2, 50], normal: [0, 1]}}
"""
SPINNING = "py:tests.backends.isolation.spinning:"
