"""Programs of the benchmark package that run inside the sandbox.

    batch_driver   runs a program on many inputs in one process
    file_tests     runs test code on the files that a program wrote
    method_tests   runs the tests of a class one by one and counts the methods that they enter
    scicode_tests  what SciCode's tests use; needs numpy, the others only the standard library

Each is sent into the sandbox as text; see `auditcoder.lifecycle.sandbox_source`.
"""
