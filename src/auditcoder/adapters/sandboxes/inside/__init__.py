"""What runs on the far side of the wall: standard library only, and never imports auditcoder.

    zygote      starts once, takes the walls' places, imports what programs will want, then forks
    supervisor  one for each run: a private folder, the clock, the true account of how it ended
    harness     inside the candidate's own process: runs it and reports what it returned
    judging     test code beside the candidate, by machinery that is watched
    describing  exceptions as plain data
    encoding    values as text that can be read without running anything
    kernel      the system calls behind namespaces and Landlock, and privileges given up
    folders     removing what a candidate left
    seccomp     the system calls a candidate may make, and the filter that says so

Between zygote and candidate stand three processes so that each knows only its part: the zygote
never sees a job, the candidate never holds the channel on which its end is reported.
"""
