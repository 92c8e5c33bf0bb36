"""The study with real agents: docs/study/plan.md."""
