package main

// #cgo LDFLAGS: -lwherry
// #include <stdlib.h>
// #include <wherry.h>
import "C"

import (
	"context"
	"runtime"
	"sync"
	"unsafe"
)

// An Error describes a failed call or transfer.
type Error struct {
	Reason, Message string
}

func (e *Error) Error() string { return e.Message }

func newError(e *C.wherry_error) error {
	return &Error{C.GoString(C.wherry_error_reason(e)), C.GoString(C.wherry_error_message(e))}
}

// check returns the error of a failed call. The library keeps the last error of each thread, so the caller must be
// locked to its thread.
func check(status C.wherry_status) error {
	if status != C.WHERRY_OK {
		return newError(C.wherry_last_error())
	}
	return nil
}

// A Response is the result of a successful transfer. The body of a download is empty.
type Response struct {
	Status int
	Body   []byte
}

// Reports has functions for the events of a transfer. They run on the goroutine that reads the queue and must not block.
type Reports struct {
	Progress func(done, expected int64)
	Image    func(name string, original, encoded int64)
}

type transfer struct {
	Reports
	done     chan struct{} // closed after response and err are set
	response Response
	err      error
}

// A Client sends requests. Its methods may be called from any goroutine.
type Client struct {
	base      string
	client    *C.wherry_client
	queue     *C.wherry_queue
	mutex     sync.Mutex
	transfers map[C.uint64_t]*transfer // by the key of their requests
	last      C.uint64_t               // the key of the last request
	reader    chan error               // receives the result of readEvents
}

// NewClient creates a client whose paths are appended to a base URL.
func NewClient(base string) (*Client, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := &Client{base: base, transfers: map[C.uint64_t]*transfer{}, reader: make(chan error, 1)}
	if err := check(C.wherry_client_new(nil, &c.client)); err != nil {
		return nil, err
	}
	if err := check(C.wherry_queue_new(&c.queue)); err != nil {
		C.wherry_client_free(c.client)
		return nil, err
	}
	go func() { c.reader <- c.readEvents() }()
	return c, nil
}

// Close cancels all transfers and stops the goroutine that reads their events.
func (c *Client) Close() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.wherry_client_free(c.client)
	err := check(C.wherry_queue_wake(c.queue, nil))
	if err == nil {
		err = <-c.reader
	}
	C.wherry_queue_free(c.queue)
	return err
}

// Get requests a path.
func (c *Client) Get(ctx context.Context, path string) (Response, error) {
	return c.do(ctx, "GET", path, Reports{}, func(request *C.wherry_request, out **C.wherry_transfer) error {
		return check(C.wherry_client_send(c.client, request, c.queue, nil, out))
	})
}

// Upload compresses a picture to a JPEG and uploads it.
func (c *Client) Upload(ctx context.Context, path, picture string, quality float64, reports Reports) (Response, error) {
	return c.do(ctx, "POST", path, reports, func(request *C.wherry_request, out **C.wherry_transfer) error {
		name, file := C.CString("photo"), C.CString(picture)
		defer C.free(unsafe.Pointer(name))
		defer C.free(unsafe.Pointer(file))
		var compression *C.wherry_compression
		if err := check(C.wherry_compression_new(C.double(quality), &compression)); err != nil {
			return err
		}
		defer C.wherry_compression_free(compression)
		err := check(C.wherry_compression_set_option(compression, C.WHERRY_IMAGE_FORMAT, C.WHERRY_IMAGE_JPEG))
		if err != nil {
			return err
		}
		return check(C.wherry_client_upload_images(c.client, request, name, &file, 1, compression, c.queue, nil, out))
	})
}

// Download downloads a path to a file.
func (c *Client) Download(ctx context.Context, path, target string, reports Reports) error {
	_, err := c.do(ctx, "GET", path, reports, func(request *C.wherry_request, out **C.wherry_transfer) error {
		file := C.CString(target)
		defer C.free(unsafe.Pointer(file))
		return check(C.wherry_client_download(c.client, request, file, c.queue, nil, out))
	})
	return err
}

type starter func(request *C.wherry_request, out **C.wherry_transfer) error

// do starts a transfer and waits until it ends. It cancels the transfer if the context is cancelled.
func (c *Client) do(ctx context.Context, method, path string, reports Reports, start starter) (Response, error) {
	t := &transfer{Reports: reports, done: make(chan struct{})}
	handle, err := c.start(method, path, t, start)
	if err != nil {
		return Response{}, err
	}
	defer C.wherry_transfer_free(handle)
	select {
	case <-t.done:
	case <-ctx.Done():
		C.wherry_transfer_cancel(handle)
		<-t.done
	}
	return t.response, t.err
}

func (c *Client) start(method, path string, t *transfer, start starter) (*C.wherry_transfer, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cMethod, cURL := C.CString(method), C.CString(c.base+path)
	defer C.free(unsafe.Pointer(cMethod))
	defer C.free(unsafe.Pointer(cURL))
	var request *C.wherry_request
	if err := check(C.wherry_request_new(cMethod, cURL, &request)); err != nil {
		return nil, err
	}
	defer C.wherry_request_free(request)
	key := c.add(t)
	var handle *C.wherry_transfer
	err := check(C.wherry_request_set_user_key(request, key))
	if err == nil {
		err = start(request, &handle)
	}
	if err != nil {
		c.remove(key)
		return nil, err
	}
	return handle, nil
}

func (c *Client) add(t *transfer) C.uint64_t {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.last++
	c.transfers[c.last] = t
	return c.last
}

func (c *Client) remove(key C.uint64_t) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.transfers, key)
}

// readEvents passes events to their transfers until Close wakes it.
func (c *Client) readEvents() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const batch = 32
	memory := (*C.wherry_record)(C.calloc(batch, C.sizeof_wherry_record))
	defer C.free(unsafe.Pointer(memory))
	records := unsafe.Slice(memory, batch)
	for isOpen := true; isOpen; {
		var count C.size_t
		memory.size = C.sizeof_wherry_record
		if err := check(C.wherry_queue_read(c.queue, memory, batch, -1, &count)); err != nil {
			return err
		}
		for i := range records[:count] {
			if records[i].kind == C.WHERRY_EVENT_NONE {
				isOpen = false
			} else {
				c.handle(&records[i])
			}
		}
		if err := check(C.wherry_queue_release(c.queue, memory, count)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) handle(record *C.wherry_record) {
	c.mutex.Lock()
	t := c.transfers[record.user_key]
	c.mutex.Unlock()
	switch {
	case record.kind == C.WHERRY_EVENT_PROGRESS && t.Progress != nil:
		t.Progress(int64(record.done_bytes), int64(record.expected_bytes))
	case record.kind == C.WHERRY_EVENT_IMAGE && t.Image != nil:
		name := C.GoString(C.wherry_event_text(record.event))
		t.Image(name, int64(record.expected_bytes), int64(record.done_bytes))
	case record.kind == C.WHERRY_EVENT_DONE:
		c.remove(record.user_key)
		t.response = Response{int(record.http_code), C.GoBytes(unsafe.Pointer(record.body), C.int(record.body_count))}
		if record.status != C.WHERRY_OK {
			t.err = newError(C.wherry_event_error(record.event))
		}
		close(t.done)
	}
}
