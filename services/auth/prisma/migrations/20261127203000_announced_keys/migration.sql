-- The key that signed what the post was last told: what it has not read before that key is gone, it is told again. What was told before this is,
-- once.
ALTER TABLE organizations ADD COLUMN announced_key TEXT NOT NULL DEFAULT '';
ALTER TABLE former_organizations ADD COLUMN announced_key TEXT NOT NULL DEFAULT '',
  ADD COLUMN removed_at TIMESTAMPTZ(3) NOT NULL DEFAULT now();
