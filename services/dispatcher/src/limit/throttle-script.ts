/** The script that Redis runs for `throttle.ts`; a string in code, so that the built service needs no file beside it. */
export const reserveScript = `
-- GCRA in reserve mode, with the clock of Redis: over the limit the account's clock advances all the same, and what is asked
-- for gets slots in the future. Nobody asks twice, so order is kept and there is no herd.
-- Asked a second time when a delivery is sent, with another key: that clock tells what was sent indeed.
-- KEYS[1]  hash: tat (theoretical arrival time, µs since 1970), rate, burst
-- ARGV     rate (1/s), burst, how many, lower bound of tat in µs (0: none)
-- Answers  now (µs), tat before (µs), 1 if the key was not there
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval = 1000000 / ARGV[1]
local stored = tonumber(redis.call('HGET', KEYS[1], 'tat'))
local tat = math.max(stored or now, now, tonumber(ARGV[4]))
local after = tat + ARGV[3] * interval
redis.call('HSET', KEYS[1], 'tat', string.format('%.0f', after))
if not stored then redis.call('HSET', KEYS[1], 'rate', ARGV[1], 'burst', ARGV[2]) end
-- Kept for an hour beyond its use: a key that is missing then tells of a flushed Redis or a quiet account.
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', (after - now) / 1000 + 3600000))
return { string.format('%.0f', now), string.format('%.0f', tat), stored and 0 or 1 }
`;
