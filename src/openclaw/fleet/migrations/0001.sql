-- Names are written whole: nothing depends on a search_path, which a pooler of connections may not keep.
-- Time is the database's own (clock_timestamp): no clock of a gateway is ever compared.

-- One row. `number` is the last step that was applied here; `identity` tells this database from every other.
CREATE TABLE openclaw.version (
  only_one bool PRIMARY KEY DEFAULT true CHECK (only_one),
  number int NOT NULL,
  identity uuid NOT NULL DEFAULT gen_random_uuid()
);

-- The gateways, and until when each is to be taken for alive. `name` is the same for one that comes back.
-- Room for updates in place: each row changes every few seconds, so no column that changes has an index.
CREATE TABLE openclaw.gateway (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  version text NOT NULL,
  url text NOT NULL DEFAULT '',
  config text NOT NULL DEFAULT '',
  started timestamptz NOT NULL DEFAULT clock_timestamp(),
  alive_until timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Conversations. A key is any text, also with a zero in it, which no column of type text holds; it may be a megabyte, an index row may not.
-- `events`, `messages` and `size` count; `base` is the event that a model's history starts at. `…_folded` is what a search looks at.
-- `used` is the hour of the last use: an index on the time itself would have to be changed with every event.
-- `holder` is the gateway whose turn it is, `fence` counts the turns, `waiting` says until when somebody waits for one.
CREATE TABLE openclaw.session (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  digest bytea NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
  key bytea NOT NULL,
  key_folded bytea NOT NULL,
  id text NOT NULL,
  agent text NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  used bigint NOT NULL GENERATED ALWAYS AS (updated_ms / 3600000) STORED,
  events int NOT NULL DEFAULT 0,
  messages int NOT NULL DEFAULT 0,
  base int NOT NULL DEFAULT 0,
  size bigint NOT NULL DEFAULT 0,
  name text NOT NULL DEFAULT '',
  name_folded text NOT NULL DEFAULT '',
  opening text NOT NULL DEFAULT '',
  opening_folded text NOT NULL DEFAULT '',
  fence bigint NOT NULL DEFAULT 0,
  holder uuid,
  waiting timestamptz
) WITH (fillfactor = 70);
CREATE INDEX session_by_use ON openclaw.session (used);
CREATE INDEX session_by_id ON openclaw.session (id);

CREATE TABLE openclaw.event (
  session bigint NOT NULL REFERENCES openclaw.session ON DELETE CASCADE,
  seq int NOT NULL,
  at_ms bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (session, seq)
);

-- The bytes of the pictures and recordings of an event, in their order. They are compressed already.
CREATE TABLE openclaw.media (
  session bigint NOT NULL REFERENCES openclaw.session ON DELETE CASCADE,
  seq int NOT NULL,
  position int NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (session, seq, position)
);
ALTER TABLE openclaw.media ALTER COLUMN body SET STORAGE EXTERNAL;

-- What one gateway at a time may do: token:…, server:…. A lease holds for as long as its holder is alive.
CREATE TABLE openclaw.lease (
  name text PRIMARY KEY,
  holder uuid,
  fence bigint NOT NULL
) WITH (fillfactor = 70);

-- Records encrypted at rest (tokens, registrations); the key is never here.
CREATE TABLE openclaw.record (
  name bytea PRIMARY KEY,
  kind text NOT NULL,
  sealed bytea NOT NULL,
  revision bigint NOT NULL DEFAULT 1,
  changed timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE openclaw.pin (
  server text NOT NULL,
  tool text NOT NULL,
  pin bytea NOT NULL,
  PRIMARY KEY (server, tool)
);

CREATE TABLE openclaw.approval (
  id text PRIMARY KEY,
  digest text NOT NULL,
  gateway uuid NOT NULL,
  request bytea NOT NULL,
  asked timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires timestamptz NOT NULL,
  answer bytea
);

CREATE TABLE openclaw.approval_grant (
  id text PRIMARY KEY,
  body jsonb NOT NULL,
  created timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_used timestamptz
);

CREATE TABLE openclaw.audit (
  chain text NOT NULL,
  n bigint NOT NULL,
  line bytea NOT NULL,
  PRIMARY KEY (chain, n)
);

-- How often things of a kind have changed: what a gateway has read of them is good for as long as this number is the same.
CREATE TABLE openclaw.revision (
  kind text PRIMARY KEY,
  number bigint NOT NULL
);

-- What is done once in a while for the whole fleet, and when that was last begun.
CREATE TABLE openclaw.chore (
  name text PRIMARY KEY,
  begun timestamptz NOT NULL
);

CREATE FUNCTION openclaw.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

-- Gateways

-- Volatile: asked after a lock was waited for, it sees what happened meanwhile.
CREATE FUNCTION openclaw.alive(p_id uuid) RETURNS bool LANGUAGE sql VOLATILE AS $$
  SELECT EXISTS (SELECT 1 FROM openclaw.gateway WHERE id = p_id AND alive_until > clock_timestamp())
$$;

-- Begin to be alive. With `p_replaces` whoever had this name before is surely dead, and holds nothing from now on.
CREATE FUNCTION openclaw.join_fleet(
  p_id uuid, p_name text, p_version text, p_url text, p_config text, p_ttl interval, p_replaces bool
) RETURNS uuid LANGUAGE plpgsql AS $$
BEGIN
  IF p_replaces THEN
    DELETE FROM openclaw.gateway WHERE name = p_name AND id <> p_id;
  END IF;
  DELETE FROM openclaw.gateway WHERE alive_until < clock_timestamp() - interval '1 day';
  INSERT INTO openclaw.gateway (id, name, version, url, config, alive_until)
    VALUES (p_id, p_name, p_version, p_url, p_config, clock_timestamp() + p_ttl)
    ON CONFLICT (id) DO NOTHING;
  RETURN (SELECT identity FROM openclaw.version);
END $$;

-- Go on being alive. False: too late, this gateway is no more, and never will be again.
CREATE FUNCTION openclaw.beat(p_id uuid, p_ttl interval) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
  UPDATE openclaw.gateway SET alive_until = clock_timestamp() + p_ttl
    WHERE id = p_id AND alive_until > clock_timestamp();
  RETURN FOUND;
END $$;

-- Turns. Each of these may be asked for again when its answer was lost on the way.

-- Begin a turn. It is ours if nobody holds it, or one that is dead; or we ourselves: then the answer to our last request was lost.
-- Without an agent, whose it is does not matter; without an id, none is begun that is not there.
CREATE FUNCTION openclaw.take(
  p_digest bytea, p_key bytea, p_key_folded bytea, p_agent text, p_id text, p_me uuid, p_ms bigint, p_wait interval
) RETURNS TABLE (
  o_number bigint, o_fence bigint, o_events int, o_base int, o_opening text, o_agent text, o_id text, o_got bool, o_cut bool
) LANGUAGE plpgsql AS $$
DECLARE
  one openclaw.session;
  ms bigint := coalesce(p_ms, openclaw.now_ms());
BEGIN
  IF p_id IS NOT NULL THEN
    INSERT INTO openclaw.session (digest, key, key_folded, id, agent, created_ms, updated_ms)
      VALUES (p_digest, p_key, p_key_folded, p_id, p_agent, ms, ms) ON CONFLICT (digest) DO NOTHING;
  END IF;
  SELECT * INTO one FROM openclaw.session WHERE digest = p_digest FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  -- After the lock: what was true before it may not be any more.
  IF NOT openclaw.alive(p_me) THEN
    RAISE EXCEPTION 'gone' USING ERRCODE = 'OC002';
  END IF;
  IF one.events = 0 AND p_agent IS NOT NULL AND one.agent <> p_agent AND NOT coalesce(openclaw.alive(one.holder), false) THEN
    -- Somebody began it and said nothing.
    one.agent := p_agent;
  END IF;
  o_number := one.number; o_fence := one.fence; o_events := one.events; o_base := one.base; o_opening := one.opening;
  o_agent := one.agent; o_id := one.id; o_got := false; o_cut := false;
  IF one.events > 0 AND one.agent <> p_agent THEN
    RETURN NEXT;
  ELSIF one.holder IS NULL OR one.holder = p_me OR NOT openclaw.alive(one.holder) THEN
    o_got := true; o_cut := one.holder IS NOT NULL AND one.holder <> p_me; o_fence := one.fence + 1;
    UPDATE openclaw.session s SET holder = p_me, fence = s.fence + 1, waiting = NULL, agent = one.agent
      WHERE s.number = one.number;
    RETURN NEXT;
  ELSE
    IF one.waiting IS NULL OR one.waiting < clock_timestamp() + p_wait / 2 THEN
      UPDATE openclaw.session s SET waiting = clock_timestamp() + p_wait WHERE s.number = one.number;
    END IF;
    RETURN NEXT;
  END IF;
END $$;

-- Store events behind the first `p_at` ones. Written when `o_done`; else that many stand there already: of ours, for nobody else may write.
CREATE FUNCTION openclaw.append(
  p_number bigint, p_fence bigint, p_me uuid, p_at int, p_ms bigint, p_bodies bytea[], p_said int, p_start int, p_size bigint,
  p_opening text, p_opening_folded text, p_media_seq int[], p_media_position int[], p_media bytea[]
) RETURNS TABLE (o_events int, o_done bool) LANGUAGE plpgsql AS $$
DECLARE
  ms bigint := coalesce(p_ms, openclaw.now_ms());
BEGIN
  -- The lock of this row makes check and write one.
  UPDATE openclaw.session s SET events = p_at + cardinality(p_bodies), messages = s.messages + p_said, updated_ms = ms,
      size = s.size + p_size, base = CASE WHEN p_start > 0 THEN p_at + p_start ELSE s.base END,
      opening = p_opening, opening_folded = p_opening_folded
    WHERE s.number = p_number AND s.fence = p_fence AND s.holder = p_me AND s.events = p_at
    RETURNING s.events INTO o_events;
  o_done := FOUND;
  IF NOT o_done THEN
    SELECT s.events INTO o_events FROM openclaw.session s
      WHERE s.number = p_number AND s.fence = p_fence AND s.holder = p_me;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'lost' USING ERRCODE = 'OC001';
    END IF;
    RETURN NEXT;
    RETURN;
  END IF;
  IF NOT openclaw.alive(p_me) THEN
    RAISE EXCEPTION 'gone' USING ERRCODE = 'OC002';
  END IF;
  INSERT INTO openclaw.event (session, seq, at_ms, body)
    SELECT p_number, p_at + o, ms, b FROM unnest(p_bodies) WITH ORDINALITY AS t (b, o);
  IF cardinality(p_media) > 0 THEN
    INSERT INTO openclaw.media (session, seq, position, body)
      SELECT p_number, p_at + q, o, b FROM unnest(p_media_seq, p_media_position, p_media) AS t (q, o, b);
  END IF;
  RETURN NEXT;
END $$;

-- End a turn. A conversation in which nothing was said leaves nothing. Whoever waits is told.
CREATE FUNCTION openclaw.give(p_number bigint, p_fence bigint, p_me uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  until timestamptz;
BEGIN
  UPDATE openclaw.session s SET holder = NULL WHERE s.number = p_number AND s.fence = p_fence AND s.holder = p_me
    RETURNING s.waiting INTO until;
  IF FOUND THEN
    IF until > clock_timestamp() THEN
      PERFORM pg_notify('openclaw', 'turn ' || p_number);
    ELSE
      DELETE FROM openclaw.session s WHERE s.number = p_number AND s.events = 0 AND s.holder IS NULL;
    END IF;
  END IF;
END $$;

-- Forget a conversation in a turn of ours. True when there was something in it; whoever waits is told.
CREATE FUNCTION openclaw.forget(p_number bigint, p_fence bigint, p_me uuid) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
  one openclaw.session;
BEGIN
  IF NOT openclaw.alive(p_me) THEN
    RAISE EXCEPTION 'gone' USING ERRCODE = 'OC002';
  END IF;
  DELETE FROM openclaw.session s WHERE s.number = p_number AND s.fence = p_fence AND s.holder = p_me RETURNING s.* INTO one;
  IF FOUND AND one.waiting > clock_timestamp() THEN
    PERFORM pg_notify('openclaw', 'turn ' || p_number);
  END IF;
  RETURN one.number IS NOT NULL AND one.events > 0;
END $$;

-- Leases by name

-- The fence, or NULL when somebody else who is alive has it. Whoever has it already gets the same fence again.
CREATE FUNCTION openclaw.take_lease(p_name text, p_me uuid) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  one openclaw.lease;
BEGIN
  INSERT INTO openclaw.lease (name, holder, fence) VALUES (p_name, NULL, 0) ON CONFLICT (name) DO NOTHING;
  SELECT * INTO one FROM openclaw.lease WHERE name = p_name FOR UPDATE;
  IF NOT openclaw.alive(p_me) THEN
    RAISE EXCEPTION 'gone' USING ERRCODE = 'OC002';
  END IF;
  IF one.holder = p_me THEN
    RETURN one.fence;
  END IF;
  IF one.holder IS NOT NULL AND openclaw.alive(one.holder) THEN
    RETURN NULL;
  END IF;
  UPDATE openclaw.lease SET holder = p_me, fence = one.fence + 1 WHERE name = p_name;
  RETURN one.fence + 1;
END $$;

-- Give a lease back. The row stays, for its fence must never be given out again.
CREATE FUNCTION openclaw.give_lease(p_name text, p_me uuid, p_fence bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE openclaw.lease SET holder = NULL WHERE name = p_name AND holder = p_me AND fence = p_fence;
  IF FOUND THEN
    PERFORM pg_notify('openclaw', 'lease ' || left(p_name, 200));
  END IF;
END $$;

-- In a transaction that writes under a lease: raises unless it is still ours, and keeps it ours to the end of the transaction.
CREATE FUNCTION openclaw.check_lease(p_name text, p_me uuid, p_fence bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM openclaw.lease WHERE name = p_name AND holder = p_me AND fence = p_fence FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'lost' USING ERRCODE = 'OC001';
  END IF;
  IF NOT openclaw.alive(p_me) THEN
    RAISE EXCEPTION 'gone' USING ERRCODE = 'OC002';
  END IF;
END $$;

-- Revisions

-- Say that something of a kind has changed, in the transaction that changes it.
CREATE FUNCTION openclaw.bump(p_kind text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  now_at bigint;
BEGIN
  INSERT INTO openclaw.revision AS r (kind, number) VALUES (p_kind, 1)
    ON CONFLICT (kind) DO UPDATE SET number = r.number + 1 RETURNING r.number INTO now_at;
  PERFORM pg_notify('openclaw', 'revision ' || p_kind);
  RETURN now_at;
END $$;

-- Chores

-- True for one of all that ask: it is due, and whoever asked does it now.
CREATE FUNCTION openclaw.begin_chore(p_name text, p_every interval) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO openclaw.chore AS c (name, begun) VALUES (p_name, clock_timestamp())
    ON CONFLICT (name) DO UPDATE SET begun = clock_timestamp() WHERE c.begun < clock_timestamp() - p_every;
  RETURN FOUND;
END $$;
