"""Models: what an agent asks. Only `litellm.py` knows litellm, and imports it on first use."""
