// Wherry from Node. The addon wherry.node reports events; this file turns them into promises.
// usage: node transfers.js BASE-URL PICTURE FILE
'use strict';

const native = require('./wherry.node');

class Client {
  #native;
  #transfers = new Map(); // by the number that their events carry
  #last = 0;

  constructor(base) {
    this.#native = native.open(base, (number, name, ...values) => this.#handle(number, name, values));
  }

  // Cancels all transfers. Node does not exit before a client is closed.
  close() {
    native.close(this.#native);
    for (const { reject } of this.#transfers.values()) reject(new Error('the client is closed'));
    this.#transfers.clear();
  }

  get(path) {
    return this.#start({}, (number) => native.get(this.#native, number, path));
  }

  // Reports progress as onProgress(done, expected), and the picture as onImage(name, original size, encoded size).
  upload(path, picture, { quality = 1, onProgress, onImage } = {}) {
    const reports = { progress: onProgress, image: onImage };
    return this.#start(reports, (number) => native.upload(this.#native, number, path, picture, quality));
  }

  download(path, target, { onProgress } = {}) {
    const reports = { progress: onProgress };
    return this.#start(reports, (number) => native.download(this.#native, number, path, target));
  }

  #start(reports, start) {
    return new Promise((resolve, reject) => {
      const number = ++this.#last;
      start(number); // an exception rejects the promise
      this.#transfers.set(number, { resolve, reject, reports });
    });
  }

  #handle(number, name, values) {
    const { resolve, reject, reports } = this.#transfers.get(number);
    if (name === 'done' || name === 'failed') {
      this.#transfers.delete(number);
      if (name === 'done') resolve({ status: values[0], body: values[1] });
      else reject(values[0]);
    } else {
      reports[name]?.(...values);
    }
  }
}

async function main(base, picture, target) {
  const client = new Client(base);
  const onProgress = (what) => (done, expected) => console.log(`${what}: ${done} of ${expected} bytes`);
  try {
    const greeting = await client.get('text/hello');
    console.log(`GET: ${greeting.status} ${greeting.body}`);

    const paths = Array.from({ length: 50 }, (_, i) => `bytes/${1000 + i}?delay_ms=20`);
    const responses = await Promise.all(paths.map((path) => client.get(path)));
    const bytes = responses.reduce((sum, { body }) => sum + body.length, 0);
    console.log(`${responses.length} responses, ${bytes} bytes`);

    const upload = await client.upload('upload-photo', picture, {
      quality: 0.5,
      onProgress: onProgress('upload'),
      onImage: (name, original, encoded) => console.log(`${name}: ${original} bytes compressed to ${encoded}`),
    });
    console.log(`upload: ${upload.status}`);

    await client.download('bytes/3000000?rate=6000000', target, { onProgress: onProgress('download') });
    console.log(`saved ${target}`);

    await client.get('status/404').catch((error) => console.log(`error: ${error.code}: ${error.message}`));
  } finally {
    client.close();
  }
}

if (process.argv.length !== 5) {
  console.error('usage: node transfers.js BASE-URL PICTURE FILE');
  process.exitCode = 2;
} else {
  main(...process.argv.slice(2)).catch((error) => {
    console.error(error);
    process.exitCode = 1;
  });
}
