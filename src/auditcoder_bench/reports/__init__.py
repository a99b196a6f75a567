"""Tables and charts about judged runs."""
