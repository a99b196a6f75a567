"""Everything that runs inside the sandbox. It uses the standard library only.

The sandbox itself, imported by the worker process as the package `sandboxed`:

    worker_setup       isolates the worker process
    worker_start       starts its interpreter anew, with neutral paths
    zygote             enters namespaces, imports common packages, forks a supervisor for each run
    supervisor         one per run: private folder, time limit, and how the process ended
    candidate_runner   in the candidate's own process: runs the code and reports its results
    code_checks        runs test code beside the candidate and detects tampering with unittest
    case_runner        runs unittest cases one by one; a test passes only if its body returned
    harness_integrity  finds out whether a program replaced code that judges it
    code_integrity     finds out whether a part of a program replaced the code of another part
    code_state         what decides how a function or class behaves
    change_tracer      finds out which line of a program changed something
    exception_report   describes exceptions as plain data
    value_encoder      encodes values as JSON that can be read without running anything
    kernel             system calls for namespaces, mounts, Landlock, capabilities and limits
    seccomp            the system calls that a candidate may make, as a filter program
    cleanup            removes the files that a candidate left

The tracer, which is sent as the program of a run, as one text:

    tracer             runs tests statement by statement and writes what it observed
    call_recorder      records calls of the program and files that it opens
    step_recorder      records how each statement of the tests ended
    step_rewriter      rewrites tests so that a failing statement does not stop the others
    contract_evaluator  evaluates contracts and invariants while the program runs
    memory_meter       attributes memory to the calls that allocated it
    time_limit         stops code that takes too long
    code_owners        maps code objects to functions
    trace_values       describes values: short text, type, size
    result_comparison  compares results with the expected ones; verdicts use it outside

Functions that checks append to a program as text:

    contract_tester    tests which clauses of a contract hold for given arguments
    contract_monitor   checks contract clauses at every call while a program runs
    argument_recorder  records the arguments of a function's calls in the example runs
    call_timer         times a function on inputs of growing size
    reference_cases    makes test cases from a reference solution

A run has three processes with separate knowledge: the zygote never reads a job, and the candidate
never has the channel on which its end is reported.
"""
