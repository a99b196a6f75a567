"""The same responsibilities, written again by somebody who saw their contracts alone."""
