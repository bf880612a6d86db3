"""Worker executors: how a worker run does its work."""
