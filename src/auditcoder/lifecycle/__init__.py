"""The life of a run. So far: the ports it needs, and the recorder that writes it down."""
