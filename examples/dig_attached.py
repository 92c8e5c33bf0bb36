#!/usr/bin/env python3
"""The paper's own library, monitored by digd: `python3 examples/dig_attached.py`.

Needs `pip install ./clients/python` and HappyEureka/dig installed from its repository (no package index has it).
The printed command shows the run and digd's report: two agents worked on the same problem.
"""

import digd


def main() -> None:
    try:
        from dig import DIGActivation, DIGEvent, DIGGraph
    except ImportError:
        raise SystemExit(
            "The library is not installed: clone HappyEureka/dig and `pip install` it from there."
        ) from None

    graph = DIGGraph()
    with digd.attach(graph) as attachment:
        task = graph.record_event(DIGEvent(payload={"text": "sum 1 to 10"}, recipients=["ada", "bob"]))
        ada = DIGEvent(payload={"sum": 55}, recipients=["cy"])
        bob = DIGEvent(payload={"sum": 55}, recipients=["cy"])
        graph.record_activation(DIGActivation(agent_id="ada", inputs=[task], outputs=[ada]))
        graph.record_activation(DIGActivation(agent_id="bob", inputs=[task], outputs=[bob]))
        answer = DIGEvent(payload={"answer": 55})
        graph.record_activation(
            DIGActivation(agent_id="cy", inputs=[ada, bob], outputs=[answer], metadata={"dig": {"submitting": True}})
        )
    print(f"digctl show {attachment.run_id}")


if __name__ == "__main__":
    main()
