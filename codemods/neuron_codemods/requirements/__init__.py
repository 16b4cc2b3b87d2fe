"""Requirements of projects that were written for Optimum Neuron, whatever file they stand in.

``stack`` knows the distributions of the old and the native stack, ``plan`` decides what becomes of each requirement of
a file, and ``entries`` are requirements with their places. How a kind of file lists them is for its module in
``kinds``.
"""
