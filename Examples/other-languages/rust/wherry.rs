//! A safe wrapper of a part of wherry.h.

use std::ffi::{c_void, CStr, CString, NulError};
use std::os::raw::c_char;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{fmt, ptr, slice};

/// The functions and types of wherry.h, written by bindgen.
#[allow(non_camel_case_types, dead_code)]
mod sys {
    include!(concat!(env!("OUT_DIR"), "/sys.rs"));
}

#[derive(Debug)]
pub struct Error {
    pub reason: String,
    pub message: String,
}

impl Error {
    fn new(error: *const sys::wherry_error) -> Self {
        // SAFETY: both functions accept any handle and return text.
        unsafe {
            Error { reason: text(sys::wherry_error_reason(error)), message: text(sys::wherry_error_message(error)) }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<NulError> for Error {
    fn from(error: NulError) -> Self {
        Error { reason: "bad_text".into(), message: error.to_string() }
    }
}

pub type Result<T> = std::result::Result<T, Error>;

/// SAFETY: the pointer must be a NUL-terminated text.
unsafe fn text(pointer: *const c_char) -> String {
    CStr::from_ptr(pointer).to_string_lossy().into_owned()
}

fn check(status: sys::wherry_status) -> Result<()> {
    if status == sys::WHERRY_OK {
        return Ok(());
    }
    // SAFETY: takes no arguments; the error is of the last call on this thread.
    Err(Error::new(unsafe { sys::wherry_last_error() }))
}

/// Defines a type that owns a handle. Any thread may use a handle, at the same time as others.
macro_rules! owned {
    ($($name:ident, $raw:ident, $free:ident;)*) => {$(
        pub struct $name(*mut sys::$raw);

        impl $name {
            fn create(new: impl FnOnce(*mut *mut sys::$raw) -> sys::wherry_status) -> Result<Self> {
                let mut handle = ptr::null_mut();
                check(new(&mut handle))?;
                Ok($name(handle))
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                unsafe { sys::$free(self.0) };
            }
        }

        unsafe impl Send for $name {}
        unsafe impl Sync for $name {}
    )*};
}

owned! {
    Client, wherry_client, wherry_client_free;
    Compression, wherry_compression, wherry_compression_free;
    Config, wherry_config, wherry_config_free;
    Queue, wherry_queue, wherry_queue_free;
    Request, wherry_request, wherry_request_free;
}

pub struct Response {
    pub status: i32,
    pub body: Vec<u8>,
}

/// An event of the transfer that was started with this key.
pub struct Event {
    pub key: usize,
    pub kind: EventKind,
}

pub enum EventKind {
    Progress { done: i64, expected: i64 },
    Image { name: String, original: i64, encoded: i64 },
    Done(Result<Response>),
}

impl Compression {
    /// Compresses pictures to JPEG. The quality is between 0 and 1.
    pub fn jpeg(quality: f64) -> Result<Self> {
        let this = Self::create(|out| unsafe { sys::wherry_compression_new(quality, out) })?;
        let format = i64::from(sys::WHERRY_IMAGE_JPEG);
        check(unsafe { sys::wherry_compression_set_option(this.0, sys::WHERRY_IMAGE_FORMAT, format) })?;
        Ok(this)
    }
}

impl Request {
    pub fn new(method: &str, url: &str) -> Result<Self> {
        let (method, url) = (CString::new(method)?, CString::new(url)?);
        Self::create(|out| unsafe { sys::wherry_request_new(method.as_ptr(), url.as_ptr(), out) })
    }
}

/// The library copies what these functions borrow. The events of a transfer go to the queue and carry the key.
impl Client {
    pub fn new(base: &str) -> Result<Self> {
        let base = CString::new(base)?;
        let config = Config::create(|out| unsafe { sys::wherry_config_new(out) })?;
        check(unsafe { sys::wherry_config_set_text(config.0, sys::WHERRY_TEXT_BASE_URL, base.as_ptr()) })?;
        Self::create(|out| unsafe { sys::wherry_client_new(config.0, out) })
    }

    pub fn send(&self, request: &Request, queue: &Queue, key: usize) -> Result<()> {
        check(unsafe { sys::wherry_client_send(self.0, request.0, queue.0, key as *mut c_void, ptr::null_mut()) })
    }

    pub fn upload(
        &self,
        request: &Request,
        picture: &Path,
        compression: &Compression,
        queue: &Queue,
        key: usize,
    ) -> Result<()> {
        let picture = CString::new(picture.as_os_str().as_bytes())?;
        let paths = [picture.as_ptr()];
        check(unsafe {
            sys::wherry_client_upload_images(
                self.0,
                request.0,
                b"photo\0".as_ptr().cast(),
                paths.as_ptr(),
                paths.len() as _,
                compression.0,
                queue.0,
                key as *mut c_void,
                ptr::null_mut(),
            )
        })
    }

    pub fn download(&self, request: &Request, target: &Path, queue: &Queue, key: usize) -> Result<()> {
        let target = CString::new(target.as_os_str().as_bytes())?;
        check(unsafe {
            sys::wherry_client_download(
                self.0,
                request.0,
                target.as_ptr(),
                queue.0,
                key as *mut c_void,
                ptr::null_mut(),
            )
        })
    }
}

impl Queue {
    pub fn new() -> Result<Self> {
        Self::create(|out| unsafe { sys::wherry_queue_new(out) })
    }

    /// Waits for events. Kinds of events that this wrapper does not know are omitted, so the result can be empty.
    pub fn read(&self) -> Result<Vec<Event>> {
        // SAFETY: a record of zeros is valid, and the library fills the first `count` records.
        let mut records: [sys::wherry_record; 32] = unsafe { std::mem::zeroed() };
        records[0].size = std::mem::size_of::<sys::wherry_record>() as _;
        let mut count = 0;
        check(unsafe { sys::wherry_queue_read(self.0, records.as_mut_ptr(), records.len() as _, -1, &mut count) })?;
        let events = records[..count as usize].iter().filter_map(|record| unsafe { Event::new(record) }).collect();
        check(unsafe { sys::wherry_queue_release(self.0, records.as_ptr(), count) })?;
        Ok(events)
    }
}

impl Event {
    /// Copies a record. SAFETY: it must come from wherry_queue_read and not be released.
    unsafe fn new(record: &sys::wherry_record) -> Option<Event> {
        let (done, expected) = (record.done_bytes, record.expected_bytes);
        let kind = match record.kind as u32 {
            sys::WHERRY_EVENT_PROGRESS => EventKind::Progress { done, expected },
            sys::WHERRY_EVENT_IMAGE => {
                let name = text(sys::wherry_event_text(record.event));
                EventKind::Image { name, original: expected, encoded: done }
            }
            sys::WHERRY_EVENT_DONE if record.status == sys::WHERRY_OK => {
                let body = match record.body_count as usize {
                    0 => Vec::new(),
                    count => slice::from_raw_parts(record.body, count).to_vec(),
                };
                EventKind::Done(Ok(Response { status: record.http_code, body }))
            }
            sys::WHERRY_EVENT_DONE => EventKind::Done(Err(Error::new(sys::wherry_event_error(record.event)))),
            _ => return None,
        };
        Some(Event { key: record.user_data as usize, kind })
    }
}
