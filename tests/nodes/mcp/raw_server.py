"""An MCP server over standard streams, of the standard library alone: it starts at once, and says what no SDK would.

    python raw_server.py '{"tools": [...], "pid_file": "…"}'

Options: tools (as they are listed, valid or not), pid_file (gets a line with the pid at every start), silent (never
answers), restless (says after every list that it has changed), stubborn (survives a closed input and a polite signal),
words (written to standard error at the start), die_at (exits at that start, counted from 1 in pid_file).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

OPTIONS: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
EMPTY = {"type": "object", "properties": {}}
NAMES = ("pid", "crash", "env", "fail", "wait", "cancelled", "progress", "change", "echo")
tools: list[Any] = OPTIONS.get("tools") or [{"name": name, "inputSchema": EMPTY} for name in NAMES]
cancelled: list[Any] = []


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def notify(method: str, **params: Any) -> None:
    send(method=method, params=params)


def started() -> int:
    """Tell the pid; which start this is."""
    if "pid_file" not in OPTIONS:
        return 1
    with open(OPTIONS["pid_file"], "a+") as file:
        file.write(f"{os.getpid()}\n")
        file.seek(0)
        return len(file.readlines())


def called(request: Any, name: str, arguments: dict[str, Any], token: Any) -> None:
    text, more = "", {}
    match name:
        case "pid":
            text = str(os.getpid())
        case "crash":
            os._exit(3)
        case "env":
            text = json.dumps(dict(os.environ))
        case "fail":
            text, more = f"it failed with {os.environ.get('API_TOKEN', 'nothing')}", {"isError": True}
        case "wait":
            return  # never answered
        case "cancelled":
            text = json.dumps(cancelled)
        case "progress":
            for step in (1, 2):
                notify("notifications/progress", progressToken=token, progress=step, total=2, message=f"step {step}")
            text = "done"
        case "change":
            tools[:] = [*tools[-1:], {"name": "fresh", "inputSchema": EMPTY}]
            notify("notifications/tools/list_changed")
            text = "changed"
        case _:
            text = f"{name} {json.dumps(arguments, sort_keys=True)}"
    send(id=request, result={"content": [{"type": "text", "text": text}], **more})


def main() -> None:
    start = started()
    print(OPTIONS.get("words", ""), file=sys.stderr, flush=True)
    if OPTIONS.get("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if OPTIONS.get("die_at") == start:
        sys.exit(1)
    for line in sys.stdin:
        message = json.loads(line)
        params, request = message.get("params") or {}, message.get("id")
        if OPTIONS.get("silent"):
            continue
        match message["method"]:
            case "initialize":
                info = {"name": "raw", "version": "1"}
                capabilities = {"tools": {"listChanged": True}}
                version = params["protocolVersion"]
                send(id=request, result={"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})
            case "tools/list":
                send(id=request, result={"tools": tools})
                if OPTIONS.get("restless"):
                    notify("notifications/tools/list_changed")
            case "tools/call":
                token = (params.get("_meta") or {}).get("progressToken")
                called(request, params["name"], params.get("arguments") or {}, token)
            case "notifications/cancelled":
                cancelled.append(params["requestId"])
    if OPTIONS.get("stubborn"):
        time.sleep(60)


main()
