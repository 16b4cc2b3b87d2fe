"""Is this machine ready for native Trainium runs? ``neuron-shim doctor``.

Everything is read from files, the environment and package metadata: no torch is imported, no device is opened, nothing
is asked over the network.
"""
