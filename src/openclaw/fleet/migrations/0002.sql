-- What gateways share besides conversations: records, grants, pins, questions, pages, runs, the audit trail.

-- Keep a record; with `p_after`, only in the place of that revision. Its new revision, or NULL when it was not kept. A revision is never given
-- out again, also not after the record was deleted. Asked for again when the answer was lost: what stands there already counts as kept.
CREATE FUNCTION openclaw.keep_record(p_name bytea, p_kind text, p_sealed bytea, p_after bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  kept bigint;
  now_at bigint;
BEGIN
  SELECT revision INTO kept FROM openclaw.record WHERE name = p_name AND sealed = p_sealed;
  IF FOUND THEN
    RETURN kept;
  END IF;
  IF p_after IS NOT NULL AND NOT EXISTS (SELECT 1 FROM openclaw.record WHERE name = p_name AND revision = p_after) THEN
    RETURN NULL;
  END IF;
  -- Before the record is touched, by everybody: so that no two wait for each other.
  now_at := openclaw.bump('token');
  IF p_after IS NULL THEN
    INSERT INTO openclaw.record AS r (name, kind, sealed, revision) VALUES (p_name, p_kind, p_sealed, now_at)
      ON CONFLICT (name) DO UPDATE SET kind = p_kind, sealed = p_sealed, revision = now_at, changed = clock_timestamp();
    RETURN now_at;
  END IF;
  UPDATE openclaw.record SET kind = p_kind, sealed = p_sealed, revision = now_at, changed = clock_timestamp()
    WHERE name = p_name AND revision = p_after;
  RETURN CASE WHEN FOUND THEN now_at END;
END $$;

CREATE FUNCTION openclaw.delete_record(p_name bytea) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
  PERFORM openclaw.bump('token');
  DELETE FROM openclaw.record WHERE name = p_name;
  RETURN FOUND;
END $$;

-- The audit trail. When a line came, by the one clock that all share: in this order the lines of all gateways are read.
ALTER TABLE openclaw.audit ADD COLUMN at timestamptz NOT NULL DEFAULT clock_timestamp();
CREATE INDEX audit_by_time ON openclaw.audit (at, chain, n);

-- Questions to a person. `request` is what a person is shown, empty when it is over. `answer` is what somebody at another gateway answers: the
-- gateway that asks takes it, or not, and says in `outcome` what came of the question.
ALTER TABLE openclaw.approval ADD COLUMN outcome bytea;
ALTER TABLE openclaw.approval ADD COLUMN ended timestamptz;

-- Who would see questions at a gateway: of which kinds, and of which session, empty for all. Replaced whole by its gateway.
CREATE TABLE openclaw.watcher (
  gateway uuid PRIMARY KEY,
  watching bytea NOT NULL
);

-- Pages that are signed in, and the tickets that are traded for such a sign-in: digests alone.
CREATE TABLE openclaw.page (
  digest bytea PRIMARY KEY,
  created timestamptz NOT NULL DEFAULT clock_timestamp(),
  used timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE openclaw.ticket (
  digest bytea PRIMARY KEY,
  expires timestamptz NOT NULL
);

-- Runs that were begun over HTTP: which gateway has one, and how it ended. `id` is its caller's: no two gateways begin the same one.
CREATE TABLE openclaw.run (
  id text PRIMARY KEY,
  gateway uuid NOT NULL,
  -- Of the request that began it: the same one asked for again is no second one.
  mark uuid NOT NULL,
  agent text NOT NULL,
  session bytea NOT NULL,
  -- Somebody at another gateway ends it.
  is_cancelled bool NOT NULL DEFAULT false,
  began timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended timestamptz,
  reason text NOT NULL DEFAULT ''
);
