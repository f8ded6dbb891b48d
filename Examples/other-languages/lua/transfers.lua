-- Wherry from LuaJIT: each coroutine waits for its own transfers.
-- usage: luajit transfers.lua BASE-URL PICTURE FILE
-- WHERRY_LIBRARY and WHERRY_CDEF name a library and a header that are not installed.
local ffi = require "ffi"

local header = os.getenv "WHERRY_CDEF" or "/usr/local/share/wherry/wherry.cdef.h"
local file = assert(io.open(header))
ffi.cdef(file:read "*a")
file:close()
local lib = ffi.load(os.getenv "WHERRY_LIBRARY" or "wherry")

local BATCH = 32

local Error = { __tostring = function(self) return self.message end }

-- Raises an error of the library as a table with the reason and the message.
local function raise(err)
  error(setmetatable({
    reason = ffi.string(lib.wherry_error_reason(err)),
    message = ffi.string(lib.wherry_error_message(err)),
  }, Error), 0)
end

local function check(status)
  if status ~= lib.WHERRY_OK then raise(lib.wherry_last_error()) end
end

-- Creates an object with wherry_TYPE_new. The garbage collector frees it, unless `free` is called earlier.
local function new(type, ...)
  local out = ffi.new("wherry_" .. type .. " *[1]")
  local arguments = { ... }
  arguments[#arguments + 1] = out
  check(lib["wherry_" .. type .. "_new"](unpack(arguments)))
  return ffi.gc(out[0], lib["wherry_" .. type .. "_free"])
end

local function free(type, object)
  check(lib["wherry_" .. type .. "_free"](ffi.gc(object, nil)))
end

local Client = {}
Client.__index = Client

function Client.new(base)
  local config = new "config"
  check(lib.wherry_config_set_text(config, lib.WHERRY_TEXT_BASE_URL, base))
  local self = setmetatable({ client = new("client", config), queue = new "queue" }, Client)
  free("config", config)
  self.waiting, self.last = {}, 0 -- coroutines by the key of their requests
  return self
end

function Client:close()
  free("client", self.client)
  free("queue", self.queue)
end

-- Runs a function in a coroutine until it waits for its first transfer.
function Client:spawn(body)
  assert(coroutine.resume(coroutine.create(function()
    local ok, err = xpcall(body, function(err)
      return type(err) == "table" and err or debug.traceback(err)
    end)
    if not ok then self.failure = err end
  end)))
end

-- Resumes the coroutines with their events until no coroutine waits.
function Client:run()
  local records, count = ffi.new("wherry_record[?]", BATCH), ffi.new("size_t[1]")
  while next(self.waiting) and not self.failure do
    records[0].size = ffi.sizeof "wherry_record"
    check(lib.wherry_queue_read(self.queue, records, BATCH, -1, count))
    for i = 0, tonumber(count[0]) - 1 do
      local waiting = self.waiting[tonumber(records[i].user_key)]
      if waiting then assert(coroutine.resume(waiting, records[i])) end
    end
    check(lib.wherry_queue_release(self.queue, records, count[0]))
  end
  if self.failure then error(self.failure, 0) end
end

-- Starts a transfer with `start`, and passes its events to `handle` until the last one.
function Client:transfer(method, path, start, handle)
  self.last = self.last + 1
  local key = self.last
  local request = new("request", method, path)
  check(lib.wherry_request_set_user_key(request, key))
  check(start(request))
  free("request", request)
  self.waiting[key] = coroutine.running()
  local result
  repeat
    local record = coroutine.yield()
    local is_done = record.kind == lib.WHERRY_EVENT_DONE
    if is_done then
      self.waiting[key] = nil
      if record.status ~= lib.WHERRY_OK then raise(lib.wherry_event_error(record.event)) end
      result = { status = record.http_code, body = ffi.string(record.body, record.body_count) }
    elseif handle then
      handle(record)
    end
  until is_done
  return result
end

function Client:get(path)
  return self:transfer("GET", path, function(request)
    return lib.wherry_client_send(self.client, request, self.queue, nil, nil)
  end)
end

-- Reports progress as progress(done, expected), and the picture as image(name, original size, encoded size).
function Client:upload(path, picture, quality, progress, image)
  local compression = new("compression", quality)
  check(lib.wherry_compression_set_option(compression, lib.WHERRY_IMAGE_FORMAT, lib.WHERRY_IMAGE_JPEG))
  local response = self:transfer("POST", path, function(request)
    local paths = ffi.new("const char *[1]", { picture })
    return lib.wherry_client_upload_images(self.client, request, "photo", paths, 1, compression,
      self.queue, nil, nil)
  end, function(record)
    if record.kind == lib.WHERRY_EVENT_PROGRESS then
      progress(tonumber(record.done_bytes), tonumber(record.expected_bytes))
    elseif record.kind == lib.WHERRY_EVENT_IMAGE then
      image(ffi.string(lib.wherry_event_text(record.event)), tonumber(record.expected_bytes),
        tonumber(record.done_bytes))
    end
  end)
  free("compression", compression)
  return response
end

function Client:download(path, target, progress)
  return self:transfer("GET", path, function(request)
    return lib.wherry_client_download(self.client, request, target, self.queue, nil, nil)
  end, function(record)
    if record.kind == lib.WHERRY_EVENT_PROGRESS then
      progress(tonumber(record.done_bytes), tonumber(record.expected_bytes))
    end
  end)
end

local base, picture, target = ...
if not target then
  io.stderr:write "usage: luajit transfers.lua BASE-URL PICTURE FILE\n"
  os.exit(2)
end

local client = Client.new(base)
client:spawn(function()
  local greeting = client:get "text/hello"
  print(("GET: %d %s"):format(greeting.status, greeting.body))
end)
client:run()

local responses, bytes = 0, 0
for i = 0, 49 do
  client:spawn(function()
    local response = client:get(("bytes/%d?delay_ms=20"):format(1000 + i))
    assert(#response.body == 1000 + i)
    responses, bytes = responses + 1, bytes + #response.body
  end)
end
client:run()
print(("%d responses, %d bytes"):format(responses, bytes))

client:spawn(function()
  local response = client:upload("upload-photo", picture, 0.5, function(done, expected)
    print(("upload: %d of %d bytes"):format(done, expected))
  end, function(name, original, encoded)
    print(("%s: %d bytes compressed to %d"):format(name, original, encoded))
  end)
  print(("upload: %d"):format(response.status))

  client:download("bytes/3000000?rate=6000000", target, function(done, expected)
    print(("download: %d of %d bytes"):format(done, expected))
  end)
  print("saved " .. target)

  local ok, err = pcall(client.get, client, "status/404")
  if not ok then print(("error: %s: %s"):format(err.reason, err.message)) end
end)
client:run()
client:close()
