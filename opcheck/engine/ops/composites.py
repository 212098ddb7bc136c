"""Operators that the specification states as functions of others, in a body of their own."""

from opcheck.engine.operators import composite

NAMES = """
CausalConvWithState NegativeLogLikelihoodLoss RMSNormalization RotaryEmbedding
SoftmaxCrossEntropyLoss SwiGLU
"""

for _name in NAMES.split():
    composite(_name)
