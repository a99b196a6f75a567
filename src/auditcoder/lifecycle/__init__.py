"""The lifecycle of a run: plan, build, assemble, validate, locate and repair.

- `runs` starts, resumes and replays; `loop` is the lifecycle on one page.
- `options` declares every option; `run_context` holds what is fixed for a run; `budget` limits its
  tokens and cost.
- `ports` are the interfaces of models, sandboxes and stores; adapters implement them.
- `recorder` writes a record, `replayer` replays an existing one, `export_import` copies records.
- `model_client` sends requests to the model, with `retry_policy` and `response_formats`.
- `intake` reads tasks; `task_forms` describes their forms; `planning` makes the graph.
- `code_builder` requests code; `reply_splitter` and `import_completion` prepare it;
  `clash_resolution` chooses what becomes a stub if the code of several nodes clashes.
- `validation` runs checks; `sandbox_source` reads the files that run inside the sandbox.
- `locating` finds the node at fault; `repair_choice` decides what to repair; `root_cause` reads the
  cause that a reply states.
- `repair_transaction` repairs a region, `full_replan` everything; `failure_report` describes a
  failure to the model.
"""
