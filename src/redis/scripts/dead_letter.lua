-- Copies one entry to the dead letter stream and acknowledges it, in one step, and only if it is
-- still pending and ours. The copy is written first: if it cannot be, nothing has changed.
--
-- KEYS: stream, dead letter stream
-- ARGV: group, consumer, id, maxlen (0: no limit), recovery, outcome, reason
-- Answer: {word, what XACK returned}
local group, consumer, id, maxlen = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local function failed(reply)
    return type(reply) == 'table' and reply.err ~= nil
end

local owner = redis.pcall('XPENDING', KEYS[1], group, id, id, 1)
if failed(owner) then return owner end
if #owner == 0 then return {'gone', 0} end
if owner[1][2] ~= consumer then return {'lost', 0} end

local entry = redis.pcall('XRANGE', KEYS[1], id, id)
if failed(entry) then return entry end
if #entry == 0 then return {'missing', 0} end

-- What one call may be passed is limited by Lua's stack.
local fields = entry[1][2]
if #fields > 7900 then return {'too-large', 0} end

local time = redis.pcall('TIME')
if failed(time) then return time end

local provenance = {
    '', '1',
    '.recovery', ARGV[5],
    '.stream', KEYS[1],
    '.group', group,
    '.id', id,
    '.consumer', consumer,
    '.deliveries', string.format('%.0f', owner[1][4]),
    '.outcome', ARGV[6],
    '.reason', ARGV[7],
    '.time', time[1] .. string.format('%03d', math.floor(tonumber(time[2]) / 1000)),
}
for i = 1, #provenance, 2 do
    fields[#fields + 1] = 'xautoclaimd' .. provenance[i]
    fields[#fields + 1] = provenance[i + 1]
end

local copy
if maxlen > 0 then
    copy = redis.pcall('XADD', KEYS[2], 'MAXLEN', '~', maxlen, '*', unpack(fields))
else
    copy = redis.pcall('XADD', KEYS[2], '*', unpack(fields))
end
if failed(copy) then return copy end
return {'copied', redis.call('XACK', KEYS[1], group, id)}
