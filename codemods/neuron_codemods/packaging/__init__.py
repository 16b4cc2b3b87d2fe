"""Rules about what a project says it needs to be installed."""
