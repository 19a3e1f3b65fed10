"""Backends: where the work of a schedule is done. `base.py` has the protocol, one small adapter an engine."""
