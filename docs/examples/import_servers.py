"""Makes ~/.openclaw/openclaw.json from the `mcpServers` of another program. A config that is already there is left alone.

python3 import_servers.py CONFIG_OF_THE_OTHER_PROGRAM
"""

import json
import sys
from pathlib import Path

theirs = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
ours = Path.home() / ".openclaw" / "openclaw.json"
ours.parent.mkdir(mode=0o700, exist_ok=True)
try:
    ours.touch(mode=0o600, exist_ok=False)  # for you alone: `env` and `headers` may hold credentials
except FileExistsError:
    sys.exit(f"{ours} is already there, and was not changed: copy the entries into its mcp.servers.")
ours.write_text(json.dumps({"mcp": {"servers": theirs["mcpServers"]}}, indent=2) + "\n", encoding="utf-8")
print(f"Wrote {ours}: {', '.join(theirs['mcpServers'])}.")
