"""FaultBench: classes that fail their tests, and the methods that are known to be why."""
