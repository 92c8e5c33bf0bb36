#!/usr/bin/env python3
"""Writes packaging/grafana/digd.json, a Grafana dashboard: packaging/grafana/make_dashboard.py > digd.json"""

import json

SOURCE = {"type": "prometheus", "uid": "${source}"}
AT = 'instance=~"$instance"'
# Title, kind, unit, what it shows, and its queries with their legends.
PANELS = [
    ("Ready", "stat", "bool", "1 if /readyz answers ready.", [(f"digd_ready{{{AT}}}", "{{instance}}")]),
    ("Open runs", "stat", "none", "Runs that have not ended.", [(f"sum(digd_runs_open{{{AT}}})", "")]),
    ("Sessions", "stat", "none", "Clients that are connected.", [(f"sum(digd_sessions{{{AT}}})", "")]),
    (
        "Healed share, last hour",
        "stat",
        "percentunit",
        "Detections that digd healed, of all detections.",
        [(f"digd:healed:ratio1h{{{AT}}}", "{{instance}}")],
    ),
    (
        "Detections by rule",
        "timeseries",
        "ops",
        "How often each rule fired.",
        [(f"sum by (rule) (rate(digd_detections_total{{{AT}}}[$__rate_interval]))", "{{rule}}")],
    ),
    (
        "Outcomes of healings",
        "timeseries",
        "ops",
        "Whether the failure cleared, recurred or stayed.",
        [(f"sum by (outcome) (rate(digd_outcomes_total{{{AT}}}[$__rate_interval]))", "{{outcome}}")],
    ),
    (
        "Detections without healing, by cause",
        "timeseries",
        "ops",
        "Mode, budget, missing capability and other causes.",
        [(f"sum by (cause) (rate(digd_unhealed_total{{{AT}}}[$__rate_interval])) > 0", "{{cause}}")],
    ),
    (
        "Verdicts",
        "timeseries",
        "ops",
        "Deliver, inject, reroute.",
        [(f"sum by (action) (rate(digd_verdicts_total{{{AT}}}[$__rate_interval]))", "{{action}}")],
    ),
    (
        "Verdict latency",
        "timeseries",
        "s",
        "From a frame read to its verdicts queued for the socket.",
        [
            (
                f"histogram_quantile({q}, sum by (le) (rate(digd_verdict_latency_seconds_bucket{{{AT}}}"
                "[$__rate_interval])))",
                f"p{round(100 * q)}",
            )
            for q in (0.5, 0.99)
        ],
    ),
    (
        "Messages",
        "timeseries",
        "ops",
        "Messages accepted, and messages refused.",
        [
            (f"sum by (type) (rate(digd_messages_total{{{AT}}}[$__rate_interval]))", "{{type}}"),
            (f"sum(rate(digd_refusals_total{{{AT}}}[$__rate_interval]))", "refused"),
        ],
    ),
    (
        "Memory and disk",
        "timeseries",
        "bytes",
        "Resident memory, the archive's file and its write-ahead log.",
        [
            (f"process_resident_memory_bytes{{{AT}}}", "memory {{instance}}"),
            (f"digd_archive_file_bytes{{{AT}}}", "archive {{instance}}"),
            (f"digd_archive_log_bytes{{{AT}}}", "log {{instance}}"),
        ],
    ),
    (
        "Limits and overload",
        "timeseries",
        "none",
        "Limits that were reached in 5 minutes, and reductions of load in force.",
        [
            (f"sum by (limit) (increase(digd_limits_hit_total{{{AT}}}[5m])) > 0", "{{limit}}"),
            (f"sum by (action) (digd_overload_action{{{AT}}}) > 0", "{{action}}"),
        ],
    ),
]


def panel(number, title, kind, unit, description, queries):
    stats = [p for p in PANELS if p[1] == "stat"]
    if kind == "stat":
        width, height, x, y = 6, 4, 6 * number, 0
    else:
        place = number - len(stats)
        width, height, x, y = 12, 8, 12 * (place % 2), 4 + 8 * (place // 2)
    return {
        "id": number + 1,
        "title": title,
        "type": kind,
        "description": description,
        "datasource": SOURCE,
        "gridPos": {"w": width, "h": height, "x": x, "y": y},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}} if kind == "timeseries" else {},
        "targets": [
            {"refId": chr(65 + i), "datasource": SOURCE, "expr": expr, "legendFormat": legend}
            for i, (expr, legend) in enumerate(queries)
        ],
    }


def main():
    variables = [
        {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
        {
            "name": "instance",
            "label": "Instance",
            "type": "query",
            "datasource": SOURCE,
            "query": {"query": "label_values(digd_build_info, instance)", "refId": "instance"},
            "refresh": 2,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
        },
    ]
    dashboard = {
        "uid": "digd",
        "title": "digd",
        "description": "What digd sees in multi-agent systems, what it heals, and how it is itself.",
        "tags": ["digd"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "30s",
        "templating": {"list": variables},
        "annotations": {"list": []},
        "panels": [panel(number, *fields) for number, fields in enumerate(PANELS)],
    }
    print(json.dumps(dashboard, indent=2))


if __name__ == "__main__":
    main()
