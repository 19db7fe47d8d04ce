-- How far each process has written the rows that it writes behind its work (src/write-behind.ts): a statement whose outcome it never learned is
-- sent again, and whichever copy comes second finds its rows written.
CREATE TABLE row_writers (
  writer  UUID PRIMARY KEY,
  -- The number of the last row, and of the last one before the latest statement.
  written BIGINT NOT NULL,
  before  BIGINT NOT NULL,
  at      TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);
