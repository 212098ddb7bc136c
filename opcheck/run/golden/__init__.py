"""Golden files: cases with their right answers, in the layout of ONNX's test data.

DIR/
    manifest.json             what each test is about, how far an answer may lie off, every SHA-256
    SHA256SUMS                the same for `sha256sum -c`, and of the manifest itself
    must|should|open|rejected/
        test_<case>/
            model.onnx
            data.json         rtol and atol, as ONNX's own loader reads them
            test_data_set_0/
                input_0.pb …
                output_0.pb …
                lowest_0.pb, highest_0.pb …   where the tolerance differs from element to element
                tensors.npz   all of them once more, on request

A backend passes all tests of `must`, and of `open` one of each case's. Those of `rejected` have no
outputs: their models have to be refused. No folder is called `node`: for that, ONNX's loader would
load the tests of its own package.
"""
