-- What the scripts that copy an entry share; put before each of them.

-- A Redis before 7.0 can be set to repeat whole scripts on its replicas. A script that looks at the
-- clock has to ask that its writes go there instead; newer ones know nothing else.
redis.replicate_commands()

local function failed(reply)
    return type(reply) == 'table' and reply.err ~= nil
end

-- What one call may be passed is limited by Lua's stack.
local function is_too_large(fields)
    return #fields > 7900
end

-- Appends the ten pairs that say where it came from. time: as TIME answers.
local function add_provenance(fields, recovery, group, id, consumer, deliveries, outcome, reason, time)
    local provenance = {
        '', '1',
        '.recovery', recovery,
        '.stream', KEYS[1],
        '.group', group,
        '.id', id,
        '.consumer', consumer,
        '.deliveries', string.format('%.0f', deliveries),
        '.outcome', outcome,
        '.reason', reason,
        '.time', time[1] .. string.format('%03d', math.floor(tonumber(time[2]) / 1000)),
    }
    for i = 1, #provenance, 2 do
        fields[#fields + 1] = 'xautoclaimd' .. provenance[i]
        fields[#fields + 1] = provenance[i + 1]
    end
end

-- maxlen: 0: no limit
local function copy(fields, maxlen)
    if maxlen > 0 then
        return redis.pcall('XADD', KEYS[2], 'MAXLEN', '~', maxlen, '*', unpack(fields))
    end
    return redis.pcall('XADD', KEYS[2], '*', unpack(fields))
end
