"""The prompts of the compared methods: one Markdown file a role."""
