"""``neuron-shim preflight``: run a script on the simulated device, and say what Trainium would do.

``launch`` starts the processes, ``runner`` runs the script in each of them, ``watch`` writes down what happens there,
``judge`` reads it and finds what would fail, recompile or cost time, and ``report`` prints that.
"""
