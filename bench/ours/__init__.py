"""OpenClaw itself as a contender, with all its defences on: policy, argument check, deadline, framing, redaction, audit."""
