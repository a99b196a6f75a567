"""The benchmark package: suites, judge, runner, baseline methods and FaultBench.

Hidden tests are part of this package only; the product never imports it.

- `problem`, `suites/`, `datasets`: the problems, and where their data comes from
- `baselines/`, `prompts/`: the nine methods that AuditCoder is compared with
- `runner`, `experiments`, `engines/`, `models/`: many runs, resumable, on one machine or several
- `judge`, `sandboxed/`: hidden tests on finished programs
- `reports/`: tables and charts that compare methods
- `faultbench/`: failures with known causes, and the study of fault locators on them
- `cli/`: the commands `auditcoder bench` and `auditcoder faults`
"""
