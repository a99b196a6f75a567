"""Programs of the benchmarks that run inside the sandbox. They use the standard library only.

    batch_driver   runs a program on many inputs in one process
    file_tests     runs test code on the files that a program left
    method_tests   runs tests of a class one by one and counts the methods that they enter

Each is sent as text; see `auditcoder.lifecycle.sandbox_source`.
"""
