"""Golden files: cases with their right answers, in the layout of ONNX's test data.

docs/golden-files.md describes the folder. In it none is called `node`: for that, ONNX's loader
would load the tests of its own package.
"""
