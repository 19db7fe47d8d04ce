-- Deliveries of a hook that are made once more, as many as somebody asked for. Who hands them over moves on in the same transaction.
CREATE TABLE replays (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hook_id         integer NOT NULL REFERENCES hooks (id) ON DELETE CASCADE,
  account_id      integer NOT NULL,
  -- As it was asked for: the same request while it runs is the same replay.
  asked           jsonb NOT NULL,
  asked_by        text NOT NULL,
  since           timestamptz(3) NOT NULL,
  until           timestamptz(3) NOT NULL,
  status          text NOT NULL CHECK (status IN ('failure', 'all', 'missed')),
  -- null: all
  events          text[],
  state           text NOT NULL DEFAULT 'counting' CHECK (state IN ('counting', 'running', 'done', 'stopped')),
  stopped_because text CHECK (stopped_because IN ('asked', 'hook_inactive')),
  -- How many there are, as far as they are counted, and how many of them are handed over.
  counted         integer NOT NULL DEFAULT 0,
  handed          integer NOT NULL DEFAULT 0,
  -- The last delivery that was looked at, or for what the hook missed the last event: first to count, then to hand over.
  after_id        bigint NOT NULL DEFAULT 0,
  after_at        timestamptz(3) NOT NULL DEFAULT '-infinity',
  after_key       uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  -- When it was counted.
  started_at      timestamptz(3),
  ended_at        timestamptz(3)
);
CREATE UNIQUE INDEX replays_running_idx ON replays (hook_id) WHERE ended_at IS NULL;
CREATE INDEX replays_hook_idx ON replays (hook_id, id DESC);
CREATE INDEX replays_account_idx ON replays (account_id) WHERE ended_at IS NULL;

-- What has become of its deliveries. In a row of its own: who records outcomes does not wait for who hands over.
CREATE TABLE replay_outcomes (
  replay_id bigint PRIMARY KEY REFERENCES replays (id) ON DELETE CASCADE,
  done      integer NOT NULL DEFAULT 0,
  failed    integer NOT NULL DEFAULT 0
);

-- What is replayed waits with the reason `again`, after all else of its account: the alphabet has them in the right order.
ALTER TABLE parked DROP CONSTRAINT parked_reason_check;
ALTER TABLE parked ADD COLUMN replay_id bigint;
CREATE INDEX parked_replay_idx ON parked (replay_id) WHERE replay_id IS NOT NULL;
