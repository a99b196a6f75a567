"""FaultBench: failing classes and programs with known faulty parts, and studies of locators."""
