"""Middlewares that come with the house: planning and reduction of tool results."""
