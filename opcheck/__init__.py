"""opcheck: does a backend compute an ONNX or DirectML operator as its specification says?"""

__version__ = "0.1.0"
