-- One page of a move: claims, copies each entry with its provenance to the target, acknowledges it.
-- All in one step: whatever happens to the answer, an entry is either here or there, once.
--
-- KEYS: stream, target
-- ARGV: group, consumer, min-idle, cursor, count, maxlen (0: no limit), recovery, what is done
--       with a missing entry, how long the server may be kept (microseconds), the time of the
--       server's clock after which nothing is done (0: whenever)
-- Answer: {cursor, moved, what XACK returned, left, cut, late, how long it took, deleted IDs,
--          missing IDs, too large IDs, their counters, refused command, its error}
--   left: claimed and not copied, because a command was refused
--   cut: 1: it took long enough, the page goes on where the cursor says
local group, consumer, recovery = ARGV[1], ARGV[2], ARGV[7]
local maxlen, budget, latest = tonumber(ARGV[6]), tonumber(ARGV[9]), tonumber(ARGV[10])
local cursor, moved, acked, left, cut, late, spent = ARGV[4], 0, 0, 0, 0, 0, 0
local deleted, missing, large, large_counters = {}, {}, {}, {}

local function answer(command, reply)
    return {cursor, moved, acked, left, cut, late, spent, deleted, missing, large, large_counters,
            command or '', reply and reply.err or ''}
end

local begun
local function look_at_clock()
    local time = redis.pcall('TIME')
    if failed(time) then return time end
    local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
    begun = begun or now
    spent = now > begun and now - begun or 0
    return time
end

-- An order that was held up is not carried out: nobody could acknowledge meanwhile.
local time = look_at_clock()
if failed(time) then return answer('TIME', time) end
if latest > 0 and begun > latest then
    late = 1
    return answer()
end

-- May we write at all? Nothing is claimed before that is known. Both orders change nothing: no
-- entry has the ID 0-0. XADD comes first, as a server looks at its memory before the first write
-- of a script only.
local try = redis.pcall('XADD', KEYS[2], 'NOMKSTREAM', '0-0', 'a', 'b')
if not (failed(try) and string.find(try.err, '0-0', 1, true)) then return answer('XADD', try) end
try = redis.pcall('XACK', KEYS[1], group, '0-0')
if failed(try) then return answer('XACK', try) end

local page = redis.pcall('XAUTOCLAIM', KEYS[1], group, consumer, ARGV[3], cursor, 'COUNT', ARGV[5],
                         'JUSTID')
if failed(page) then return answer('XAUTOCLAIM', page) end
local ids = page[2]
cursor = page[1]
deleted = page[3] or {}

-- Gives back what was claimed from the nth on: for anybody to claim at once, us included.
local function give_back(n)
    local words = {KEYS[1], group, consumer, '0'}
    for i = n, #ids do words[#words + 1] = ids[i] end
    words[#words + 1] = 'TIME'
    words[#words + 1] = '0'
    words[#words + 1] = 'JUSTID'
    return not failed(redis.pcall('XCLAIM', unpack(words)))
end

local function refused(n, command, reply)
    left = #ids - n + 1
    give_back(n)
    return answer(command, reply)
end

-- The delivery counters: our entries from the first to the last of the page, among them some that
-- were not claimed now.
local counters = {}
local from = ids[1]
while from do
    local pending = redis.pcall('XPENDING', KEYS[1], group, from, ids[#ids], #ids, consumer)
    if failed(pending) then return refused(1, 'XPENDING', pending) end
    for _, entry in ipairs(pending) do counters[entry[1]] = entry[4] end
    from = #pending == #ids and not counters[ids[#ids]] and '(' .. pending[#pending][1] or nil
end

-- What the page has copied, by its size: since Redis 7.2 the clock stands still in a script. What is
-- large goes alone: it waits for a page of which it is the first.
local copied, COPIED_MAX = 0, 262144
local function size(fields)
    local bytes = 100 * #fields
    for i = 1, #fields do bytes = bytes + #fields[i] end
    return bytes
end

local function move(id, is_first)
    time = look_at_clock()
    if failed(time) then return 'TIME', time end
    if not is_first and (spent > budget or copied > COPIED_MAX) then return 'cut' end
    local entry = redis.pcall('XRANGE', KEYS[1], id, id)
    if failed(entry) then return 'XRANGE', entry end
    local fields = #entry > 0 and entry[1][2]
    copied = copied + (fields and size(fields) or 0)
    if not is_first and copied > COPIED_MAX then return 'cut' end
    if not fields then
        missing[#missing + 1] = id
        if ARGV[8] == 'ack' then acked = acked + redis.call('XACK', KEYS[1], group, id) end
    elseif is_too_large(fields) then
        large[#large + 1] = id
        large_counters[#large_counters + 1] = counters[id] or 0
    else
        add_provenance(fields, recovery, group, id, consumer, counters[id] or 0, 'move', '', time)
        local added = copy(fields, maxlen)
        if failed(added) then return 'XADD', added end
        acked = acked + redis.call('XACK', KEYS[1], group, id)
        moved = moved + 1
    end
end

for n, id in ipairs(ids) do
    local what, reply = move(id, n == 1)
    if what == 'cut' then
        cut = 1
        if give_back(n) then cursor = id else left = #ids - n + 1 end
        break
    end
    if what then return refused(n, what, reply) end
end
look_at_clock()
return answer()
