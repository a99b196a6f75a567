"""Programs of the benchmark package that run inside the sandbox; standard library only.

    batch_driver   runs a program on many inputs in one process
    file_tests     runs test code on the files that a program wrote
    method_tests   runs the tests of a class one by one and counts the methods that they enter

Each is sent into the sandbox as text; see `auditcoder.lifecycle.sandbox_source`.
"""
