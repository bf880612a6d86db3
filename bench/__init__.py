"""What `make bench` measures: ratios within one run, each beside its ceiling."""
