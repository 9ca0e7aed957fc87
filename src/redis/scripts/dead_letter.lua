-- Copies one entry to the dead letter stream and acknowledges it, in one step, and only if it is
-- still pending and ours. The copy is written first: if it cannot be, nothing has changed.
--
-- KEYS: stream, dead letter stream
-- ARGV: group, consumer, id, maxlen (0: no limit), recovery, outcome, reason
-- Answer: {word, what XACK returned}
local group, consumer, id = ARGV[1], ARGV[2], ARGV[3]

local owner = redis.pcall('XPENDING', KEYS[1], group, id, id, 1)
if failed(owner) then return owner end
if #owner == 0 then return {'gone', 0} end
if owner[1][2] ~= consumer then return {'lost', 0} end

local entry = redis.pcall('XRANGE', KEYS[1], id, id)
if failed(entry) then return entry end
if #entry == 0 then return {'missing', 0} end

local fields = entry[1][2]
if is_too_large(fields) then return {'too-large', 0} end

local time = redis.pcall('TIME')
if failed(time) then return time end

add_provenance(fields, ARGV[5], group, id, consumer, owner[1][4], ARGV[6], ARGV[7], time)
local added = copy(fields, tonumber(ARGV[4]))
if failed(added) then return added end
return {'copied', redis.call('XACK', KEYS[1], group, id)}
