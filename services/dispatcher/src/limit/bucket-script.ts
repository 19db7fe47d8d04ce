/** The script that Redis runs for `throttle.ts`; a string in code, so that the built service needs no file beside it. */
export const drawScript = `
-- A leaky bucket by Redis's clock. Takes as many deliveries as there is room for, now or a moment ahead.
-- KEYS[1]  hash: level (deliveries), at (time of that level, µs since 1970)
-- ARGV     rate (1/s), burst, how many to take at most, how far ahead (s), and the level
--          and its time as last seen by the calling dispatcher
-- Returns  the level before, how many were taken, now
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local rate = tonumber(ARGV[1])
local stored = redis.call('HMGET', KEYS[1], 'level', 'at')
local level = math.max(0, ARGV[5] - math.max(0, now - ARGV[6]) * rate / 1000000)
if stored[1] then level = math.max(level, stored[1] - math.max(0, now - stored[2]) * rate / 1000000)
-- Redis may have just lost its data: then deliveries taken ahead are still to be sent.
else level = math.max(level, rate * ARGV[4]) end
local room = math.floor(ARGV[2] + rate * ARGV[4] - level + 0.000001)
local taken = math.max(0, math.min(tonumber(ARGV[3]), room))
-- With a clock that was set back, or a node whose clock is behind, nothing would leak until the old time comes again.
local isAhead = stored[2] and tonumber(stored[2]) > now
if taken > 0 or isAhead then
  redis.call('HSET', KEYS[1], 'level', string.format('%.6f', level + taken), 'at', string.format('%.0f', now))
  -- A missing key is an empty bucket, so it expires when empty; an hour later, in case the rate is lowered.
  local seconds = math.min((level + taken) / rate, 2592000) + 3600
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', seconds * 1000))
end
return { string.format('%.6f', level), taken, string.format('%.0f', now) }
`;
