"""The lifecycle of a run: plan, build, assemble, validate, locate and repair.

- `runs` starts, resumes and replays; `loop` is the lifecycle on one page.
- `options` declares every option; `run_context` holds what is fixed for a run; `budget` limits it.
- `ports` are the interfaces of models, sandboxes and stores; adapters implement them.
- `recorder` writes a record and `replayer` follows an existing one; `export_import` moves records.
- `model_client` asks the model, with `retry_policy` and `response_formats`.
- `intake` reads tasks and `task_forms` knows their forms; `planning` makes the graph.
- `code_builder` asks for code; `reply_splitter` and `import_completion` prepare it.
- `validation` runs checks; `sandbox_source` reads the files that run inside the sandbox.
- `locating` finds the node at fault; `repair_choice` and `root_cause` decide what to repair.
- `repair_transaction` repairs a region, `full_replan` everything; `failure_report` describes a
  failure to the model.
"""
