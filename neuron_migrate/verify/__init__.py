"""Whether a script fits the libraries that are installed in some interpreter, without running it."""
