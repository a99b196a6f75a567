"""AuditCoder: a program, and the record of how it was built."""

__version__ = "0.1.0"
