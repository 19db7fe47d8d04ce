-- What a repository says of itself, in GitHub's fields. All of those that are here already are private and say nothing.
ALTER TABLE repositories
  -- Decides what the scope `public_repo` opens. Nobody but members sees any of them.
  ADD COLUMN visibility text NOT NULL DEFAULT 'private' CHECK (visibility IN ('public', 'private', 'internal')),
  ADD COLUMN settings   jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN updated_at timestamptz(3) NOT NULL DEFAULT now();
UPDATE repositories SET updated_at = created_at;
