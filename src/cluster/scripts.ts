import { createHash } from 'node:crypto'

/** A script that the server runs atomically. Each uses one key, so that a Cluster finds its node. */
export interface Script {
  text: string
  sha: string
}

function defineScript(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

/** Arguments: amount, limit, window, whether it slides, now. Returns whether it was taken, what is used, the start. */
export const takeScript = defineScript(`
local amount, limit, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = tonumber(ARGV[5])
local start = now - now % window
local stored = redis.call('HMGET', KEYS[1], 's', 'c', 'p')
local known, current, previous = tonumber(stored[1]), tonumber(stored[2]) or 0, tonumber(stored[3]) or 0
if known and known >= start and known - start <= window then
  start = known
else
  previous = known == start - window and current or 0
  current = 0
end
local earlier = 0
if ARGV[4] == '1' then
  local elapsed = math.min(1, math.max(0, (now - start) / window))
  earlier = math.floor(previous * (1 - elapsed))
end
if current + earlier + amount > limit then return {0, current + earlier, start} end
current = current + amount
redis.call('HSET', KEYS[1], 's', start, 'c', current, 'p', previous)
redis.call('PEXPIRE', KEYS[1], window * 2)
return {1, current + earlier, start}
`)

/** Arguments: amount, the start of the window it was taken in, the length of the window. */
export const refundScript = defineScript(`
local start = tonumber(redis.call('HGET', KEYS[1], 's'))
local field = nil
if start == tonumber(ARGV[2]) then field = 'c'
elseif start == tonumber(ARGV[2]) + tonumber(ARGV[3]) then field = 'p' end
if not field then return 0 end
local counted = tonumber(redis.call('HGET', KEYS[1], field)) or 0
redis.call('HSET', KEYS[1], field, math.max(0, counted - tonumber(ARGV[1])))
return 1
`)

/**
 * A hash of the nodes, each with its slots and when they expire unless it renews them, by the clock of the server.
 * Arguments: node, limit, time to live. Returns whether a slot was free.
 */
export const acquireScript = defineScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local fields = redis.call('HGETALL', KEYS[1])
local used, own = 0, 0
for i = 1, #fields, 2 do
  local count, expires = string.match(fields[i + 1], '(%d+) (%d+)')
  if tonumber(expires) <= now then
    redis.call('HDEL', KEYS[1], fields[i])
  else
    used = used + tonumber(count)
    if fields[i] == ARGV[1] then own = tonumber(count) end
  end
end
if used >= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d %.0f', own + 1, now + tonumber(ARGV[3])))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
`)

/** Arguments: node, time to live. */
export const releaseScript = defineScript(`
local stored = redis.call('HGET', KEYS[1], ARGV[1])
if not stored then return 0 end
local count, expires = string.match(stored, '(%d+) (%d+)')
if tonumber(count) <= 1 then return redis.call('HDEL', KEYS[1], ARGV[1]) end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d %s', count - 1, expires))
return 1
`)

/**
 * Arguments: node, time to live, slots of the node, whether to replace the stored number, which is wrong after an
 * operation with an unknown outcome.
 */
export const renewScript = defineScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local count = ARGV[3]
if stored and ARGV[4] ~= '1' then count = string.match(stored, '(%d+) ') end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d %.0f', count, now + tonumber(ARGV[2])))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`)

/** Arguments: whether a value is expected, the expected one, the new one, time to live. */
export const compareScript = defineScript(`
local present = redis.call('GET', KEYS[1])
if ARGV[1] == '1' then
  if present ~= ARGV[2] then return 0 end
elseif present then
  return 0
end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
return 1
`)

/**
 * Arguments: holder, time to live. Returns the fencing number, 0 if another has the lease. It is at least the time in
 * microseconds, so that it grows even after the server has lost its data.
 */
export const leaseScript = defineScript(`
local time = redis.call('TIME')
local stored = redis.call('HMGET', KEYS[1], 'h', 'f', 'u')
local now = time[1] * 1000000 + time[2]
if stored[1] and stored[1] ~= '' and tonumber(stored[3]) > now then return '0' end
local fence = math.max(now, (tonumber(stored[2]) or 0) + 1)
local text = string.format('%.0f', fence)
redis.call('HSET', KEYS[1], 'h', ARGV[1], 'f', text, 'u', string.format('%.0f', now + ARGV[2] * 1000))
redis.call('PEXPIRE', KEYS[1], math.max(ARGV[2] * 2, 86400000))
return text
`)

/** Arguments: holder, fencing number, time to live; 0 to release. Returns whether the lease was still held. */
export const extendScript = defineScript(`
local time = redis.call('TIME')
local stored = redis.call('HMGET', KEYS[1], 'h', 'f', 'u')
local now = time[1] * 1000000 + time[2]
if stored[1] ~= ARGV[1] or stored[2] ~= ARGV[2] or tonumber(stored[3]) <= now then return 0 end
redis.call('HSET', KEYS[1], 'u', string.format('%.0f', now + ARGV[3] * 1000))
return 1
`)
