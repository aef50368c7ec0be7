-- POST /v1/runs by wrk; every request is of another user.
-- Arguments: seconds, requests a second (0: each when the last is answered), threads, a file with a JSON string a line.
--
-- At a rate a thread has one connection and a timetable. A latency counts from the time in it, not from the sending: when
-- the server stalls, what queues up behind is late too, and nothing slow is left out (no coordinated omission). Without a
-- rate the latencies are wrk's own, which add what a slow answer kept from being sent.

local ffi = require("ffi")
ffi.cdef("typedef struct { long seconds, nanoseconds; } instant; int clock_gettime(int clock, instant *now);")
local instant = ffi.new("instant")

local function now() -- ms, by the clock of wrk's own timers
  ffi.C.clock_gettime(0, instant)
  return tonumber(instant.seconds) * 1000 + tonumber(instant.nanoseconds) / 1e6
end

local TIMER = 2 -- wrk's timers are whole ms: what is less late than this was in time
local SET_UP = 300 -- until all threads are there
local threads, start = {}, math.floor(now()) + SET_UP

function setup(thread)
  thread:set("number", #threads)
  thread:set("start", start)
  table.insert(threads, thread)
end

function init(args)
  rate, queries, ms, accepted, refused = tonumber(args[2]), {}, {}, 0, 0
  for line in io.lines(args[4]) do table.insert(queries, line) end
  math.randomseed(start + number)
  if rate > 0 then
    due, gap = start + number * 1000 / rate, args[3] * 1000 / rate
  else
    start, delay = now(), nil
  end
  finish = start + args[1] * 1000
end

function delay()
  return math.max(0, math.floor(due) - math.floor(now()))
end

function request()
  sent = now()
  if rate == 0 then due = sent end
  if due >= finish then return "" end -- no more goes out; what is on its way is still answered
  local r = math.random
  local user = string.format("%08x-%04x-4%03x-8%03x-%06x%06x",
    r(0, 0xffffffff), r(0, 0xffff), r(0, 0xfff), r(0, 0xfff), r(0, 0xffffff), r(0, 0xffffff))
  local body = '{"user_id": "' .. user .. '", "query": ' .. queries[r(#queries)] .. "}"
  return "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
    .. #body .. "\r\n\r\n" .. body
end

function response(status)
  last = now()
  if status == 202 then accepted = accepted + 1 else refused = refused + 1 end
  if rate > 0 then
    table.insert(ms, last - (sent - due < TIMER and sent or due))
    due = due + gap
  end
end

function done(summary, latency)
  local all, accepted, refused, first, last = {}, 0, 0, math.huge, 0
  for _, thread in ipairs(threads) do
    accepted, refused = accepted + thread:get("accepted"), refused + thread:get("refused")
    first, last = math.min(first, thread:get("start")), math.max(last, thread:get("last") or 0)
    for _, value in ipairs(thread:get("ms")) do table.insert(all, string.format("%.3f", value)) end
  end
  if #all == 0 then
    for i = 1, #latency do
      local value, count = latency(i)
      for _ = 1, count do table.insert(all, string.format("%.3f", value / 1000)) end
    end
  end
  local lost = summary.errors.connect + summary.errors.read + summary.errors.write
  print(string.format('{"accepted": %d, "refused": %d, "lost": %d, "seconds": %.6f, "ms": [%s]}',
    accepted, refused, lost, (last - first) / 1000, table.concat(all, ",")))
end
