"""Views for people in a terminal: pure functions from what was read to what is drawn."""
