from tests.preflight.conftest import assets, cache, compiled, preflight, script

__all__ = ["assets", "cache", "compiled", "preflight", "script"]
