//! Wherry from Rust. The module `wherry` is a safe wrapper of the functions that bindgen declares.
//!
//! usage: transfers BASE-URL PICTURE FILE

mod wherry;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use wherry::{Client, Compression, EventKind, Queue, Request, Response};

/// Prints the reports of a single transfer until it ends.
fn finish(queue: &Queue, what: &str) -> wherry::Result<Response> {
    loop {
        for event in queue.read()? {
            match event.kind {
                EventKind::Progress { done, expected } => println!("{what}: {done} of {expected} bytes"),
                EventKind::Image { name, original, encoded } => {
                    println!("{name}: {original} bytes compressed to {encoded}")
                }
                EventKind::Done(result) => return result,
            }
        }
    }
}

fn run(base: &str, picture: &Path, target: &Path) -> Result<(), Box<dyn Error>> {
    let client = Client::new(base)?;
    let queue = Queue::new()?;

    client.send(&Request::new("GET", "text/hello")?, &queue, 0)?;
    let greeting = finish(&queue, "GET")?;
    println!("GET: {} {}", greeting.status, String::from_utf8(greeting.body)?);

    let mut bodies = vec![None; 50];
    for key in 0..bodies.len() {
        let url = format!("bytes/{}?delay_ms=20", 1000 + key);
        client.send(&Request::new("GET", &url)?, &queue, key)?;
    }
    while bodies.contains(&None) {
        for event in queue.read()? {
            if let EventKind::Done(result) = event.kind {
                bodies[event.key] = Some(result?.body);
            }
        }
    }
    let total: usize = bodies.iter().flatten().map(Vec::len).sum();
    println!("{} responses, {total} bytes", bodies.len());

    let compression = Compression::jpeg(0.5)?;
    client.upload(&Request::new("POST", "upload-photo")?, picture, &compression, &queue, 0)?;
    println!("upload: {}", finish(&queue, "upload")?.status);

    client.download(&Request::new("GET", "bytes/3000000?rate=6000000")?, target, &queue, 0)?;
    finish(&queue, "download")?;
    println!("saved {}", target.display());

    client.send(&Request::new("GET", "status/404")?, &queue, 0)?;
    if let Err(error) = finish(&queue, "GET") {
        println!("error: {}: {error}", error.reason);
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let result = match &arguments[..] {
        [_, base, picture, target] => run(base, Path::new(picture), Path::new(target)),
        _ => Err("usage: transfers BASE-URL PICTURE FILE".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
