"""The site's own small drawings: 24 by 24, strokes of 1.5, no fill. An icon always stands beside a word."""

ICONS = {
    "arrow": "M5 12h14m-6-6 6 6-6 6",
    "back": "M19 12H5m6-6-6 6 6 6",
    "check": "m5 12.5 4.5 4.5L19 7.5",
    "cross": "m6 6 12 12M18 6 6 18",
    "warning": "M12 4 2.8 20h18.4L12 4Zm0 6v4.5m0 2.6v.1",
    "info": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18Zm0 8v5.5m0-9v.1",
    "copy": "M9 9h11v11H9zM15 9V4H4v11h5",
    "download": "M12 4v11m-5-5 5 5 5-5M5 20h14",
    "external": "M14 4h6v6m0-6-9 9M10 5H4v15h15v-6",
    "key": "M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8Zm2.8 1.2L20 3m-4 4 3 3",
    "menu": "M4 7h16M4 12h16M4 17h16",
    "search": "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13Zm4.7 11.2L20 20",
    "theme": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18Zm0 0v18m0-14h6m-6 4h8.5M12 15h8m-8 4h4.5",
    "up": "m6 14 6-6 6 6",
    "down": "m6 10 6 6 6-6",
    "clock": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18Zm0 4.5V12l3.5 2",
    "filter": "M4 6h16M7 12h10m-7 6h4",
    "language": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM3 12h18M12 3c3 3 3 9 0 18-3-9-3-9 0-18Z",
    "document": "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6m-6 4h6",
    "run": "M7 4.5v15l12-7.5z",
    "stop": "M6 6h12v12H6z",
    "refresh": "M20 12a8 8 0 1 1-2.4-5.7L20 8.5m0-5v5h-5",
}
"""Path data by name."""

SHAPES = {
    "neutral": '<circle cx="7" cy="7" r="5"/>',
    "waiting": '<circle cx="7" cy="7" r="5"/><path class="solid" d="M7 2a5 5 0 0 1 0 10Z"/>',
    "running": '<path d="M12 7a5 5 0 1 1-2-4"/><circle class="solid" cx="7" cy="7" r="1.75"/>',
    "good": '<path d="m2.5 7.5 3 3 6-7"/>',
    "warn": '<path d="M7 2 1.5 12h11L7 2Zm0 4v2.5"/>',
    "bad": '<path d="m3 3 8 8m0-8-8 8"/>',
    "gone": '<path d="M2.5 7h9"/>',
}
"""The shape of a status, 14 by 14; it says the same as the colour."""

KINDS = {
    "neutral": "draft pending proposed none",
    "waiting": "submitted in_review queued waiting scheduled",
    "running": "running open active evaluating",
    "good": "approved succeeded published passed done ok healthy scored answered",
    "warn": "changes_requested suspended retry stalled unscored platform_error participant_error warning",
    "bad": "rejected failed disqualified returned refused contract_error fail unhealthy",
    "gone": "withdrawn cancelled closed retired revoked expired skipped",
}

STATE_KINDS = {state: kind for kind, states in KINDS.items() for state in states.split()}
"""The kind of each state that a thing in this portal can be in."""
