"""Logs of other systems, for the tests of digctl import."""

# A failed run in the format of Who&When.
LOG = {
    "question": "How many?",
    "question_ID": "q1",
    "is_correct": False,
    "history": [
        {"role": "user", "name": "Planner", "content": "Solver, please count."},
        {"role": "user", "name": "Solver", "content": "Three. TERMINATE"},
    ],
}
