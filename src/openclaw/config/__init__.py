"""From openclaw.json to values: JSON5 with spans, includes, variables, a closed schema, and edits that keep comments."""
