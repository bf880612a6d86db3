"""The decisions: each turns a command and the state into events, or refuses it."""
