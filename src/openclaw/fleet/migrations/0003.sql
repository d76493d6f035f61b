-- Whether a gateway is alive, asked in every append. As a function in SQL it was planned anew with each call, which cost as much as the
-- write itself; this one keeps its plan. Volatile, as before: asked after a lock was waited for, it sees what happened meanwhile.
CREATE OR REPLACE FUNCTION openclaw.alive(p_id uuid) RETURNS bool LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM openclaw.gateway WHERE id = p_id AND alive_until > clock_timestamp());
END $$;
