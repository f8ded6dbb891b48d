# Wherry from Ruby, with fiddle from the standard library.
# usage: ruby transfers.rb BASE-URL PICTURE FILE
# WHERRY_LIBRARY is the path of a library that is not installed.
require "fiddle/import"
require "io/wait"

# The functions of wherry.h that this program calls. Fiddle releases the global lock during each call.
module C
  extend Fiddle::Importer
  dlload ENV.fetch("WHERRY_LIBRARY", "libwherry.so.0")
  extern "void *wherry_last_error()"
  extern "char *wherry_error_reason(void *)"
  extern "char *wherry_error_message(void *)"
  extern "int wherry_config_new(void **)"
  extern "int wherry_config_free(void *)"
  extern "int wherry_config_set_text(void *, int, char *)"
  extern "int wherry_client_new(void *, void **)"
  extern "int wherry_client_free(void *)"
  extern "int wherry_client_send(void *, void *, void *, void *, void **)"
  extern "int wherry_client_download(void *, void *, char *, void *, void *, void **)"
  extern "int wherry_client_upload_images(void *, void *, char *, char **, size_t, void *, void *, void *, void **)"
  extern "int wherry_request_new(char *, char *, void **)"
  extern "int wherry_request_free(void *)"
  extern "int wherry_compression_new(double, void **)"
  extern "int wherry_compression_free(void *)"
  extern "int wherry_compression_set_option(void *, int, long)"
  extern "int wherry_queue_new(void **)"
  extern "int wherry_queue_free(void *)"
  extern "int wherry_queue_fd(void *)"
  extern "int wherry_queue_read(void *, void *, size_t, long, size_t *)"
  extern "int wherry_queue_release(void *, void *, size_t)"
  extern "void *wherry_event_error(void *)"
  extern "char *wherry_event_text(void *)"

  OK, E_TIMEOUT = 0, -3
  TEXT_BASE_URL = 1
  IMAGE_FORMAT, IMAGE_JPEG = 4, 1
  EVENT_PROGRESS, EVENT_IMAGE, EVENT_DONE = 1, 6, 9

  RECORD_SIZE = 112
  Record = Struct.new(:size, :event, :user_data, :transfer_id, :kind, :status, :detail, :http_code, :flags, :body,
                      :body_count, :head, :head_count, :done_bytes, :expected_bytes, :reason)

  def self.record(memory)
    Record.new(*memory[0, RECORD_SIZE].unpack("Q4 l2 q l L Q4 q2 Q"))
  end
end

class Wherry
  class Error < StandardError
    attr_reader :reason

    def initialize(error = C.wherry_last_error)
      @reason = C.wherry_error_reason(error).to_s
      super(C.wherry_error_message(error).to_s.force_encoding("UTF-8"))
    end
  end

  Response = Struct.new(:status, :body)
  BATCH = 32

  # Yields a client, and closes it afterwards.
  def self.open(base)
    client = new(base)
    yield client
  ensure
    client&.close
  end

  def initialize(base)
    @handlers = {} # by the number that the events carry
    @last = 0
    temporary(:config) do |config|
      check C.wherry_config_set_text(config, C::TEXT_BASE_URL, base)
      @client = create(:client, config)
    end
    @queue = create(:queue)
    @readable = IO.for_fd(C.wherry_queue_fd(@queue), autoclose: false)
    @records = Fiddle::Pointer.malloc(BATCH * C::RECORD_SIZE, Fiddle::RUBY_FREE)
  end

  def close
    check C.wherry_client_free(@client)
    check C.wherry_queue_free(@queue)
  end

  # Starts a GET. #run passes the response to the block.
  def get(path, &block)
    start("GET", path, block) { |request, number| C.wherry_client_send(@client, request, @queue, number, nil) }
  end

  # Reports progress as progress.(done, expected), and the picture as image.(name, original size, encoded size).
  def upload(path, picture, quality:, progress:, image:, &block)
    temporary(:compression, quality) do |compression|
      check C.wherry_compression_set_option(compression, C::IMAGE_FORMAT, C::IMAGE_JPEG)
      paths = [Fiddle::Pointer[picture].to_i].pack("J")
      start("POST", path, block, progress: progress, image: image) do |request, number|
        C.wherry_client_upload_images(@client, request, "photo", paths, 1, compression, @queue, number, nil)
      end
    end
  end

  def download(path, target, progress:, &block)
    start("GET", path, block, progress: progress) do |request, number|
      C.wherry_client_download(@client, request, target, @queue, number, nil)
    end
  end

  # Calls the blocks until every transfer has ended. Unlike a wait in C, a signal or Thread#raise interrupts this one.
  def run
    count = [0].pack("J")
    until @handlers.empty?
      @readable.wait_readable
      @records[0, 8] = [C::RECORD_SIZE].pack("Q")
      status = C.wherry_queue_read(@queue, @records, BATCH, 0, count)
      next if status == C::E_TIMEOUT

      check status
      read = count.unpack1("J")
      begin
        read.times { |i| handle C.record(@records + i * C::RECORD_SIZE) }
      ensure
        check C.wherry_queue_release(@queue, @records, read)
      end
    end
  end

  private

  def check(status)
    raise Error unless status == C::OK
  end

  def create(type, *arguments)
    out = Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE)
    check C.public_send("wherry_#{type}_new", *arguments, out)
    out.ptr
  end

  # Creates an object for the block.
  def temporary(type, *arguments)
    object = create(type, *arguments)
    yield object
  ensure
    check C.public_send("wherry_#{type}_free", object) if object
  end

  def start(method, path, done, progress: nil, image: nil)
    number = @last += 1
    temporary(:request, method, path) { |request| check yield(request, number) }
    @handlers[number] = { done: done, progress: progress, image: image }
  end

  def handle(record)
    handlers = @handlers[record.user_data]
    case record.kind
    when C::EVENT_PROGRESS
      handlers[:progress]&.call(record.done_bytes, record.expected_bytes)
    when C::EVENT_IMAGE
      handlers[:image]&.call(C.wherry_event_text(record.event).to_s, record.expected_bytes, record.done_bytes)
    when C::EVENT_DONE
      @handlers.delete(record.user_data)
      raise Error, C.wherry_event_error(record.event) unless record.status == C::OK

      body = record.body_count.zero? ? "" : Fiddle::Pointer.new(record.body)[0, record.body_count]
      handlers[:done]&.call(Response.new(record.http_code, body))
    end
  end
end

abort "usage: ruby transfers.rb BASE-URL PICTURE FILE" if ARGV.size < 3
base, picture, target = ARGV
progress = ->(what) { ->(done, expected) { puts "#{what}: #{done} of #{expected} bytes" } }

Wherry.open(base) do |client|
  client.get("text/hello") { |response| puts "GET: #{response.status} #{response.body}" }
  client.run

  bodies = []
  50.times do |i|
    client.get("bytes/#{1000 + i}?delay_ms=20") { |response| bodies[i] = response.body }
  end
  client.run
  puts "#{bodies.compact.size} responses, #{bodies.sum(&:bytesize)} bytes"

  image = ->(name, original, encoded) { puts "#{name}: #{original} bytes compressed to #{encoded}" }
  client.upload("upload-photo", picture, quality: 0.5, progress: progress["upload"], image: image) do |response|
    puts "upload: #{response.status}"
  end
  client.run

  client.download("bytes/3000000?rate=6000000", target, progress: progress["download"]) { puts "saved #{target}" }
  client.run

  begin
    client.get("status/404")
    client.run
  rescue Wherry::Error => error
    puts "error: #{error.reason}: #{error.message}"
  end
end
