"""A run for the person who watches it: what happens, who says what, and the board below."""
