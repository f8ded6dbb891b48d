import com.sun.jna.Pointer;
import com.sun.jna.StringArray;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.function.ToIntBiFunction;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;

/**
 * Wherry from Java, with JNA.
 *
 * <p>usage: java -cp jna.jar:. Transfers BASE-URL PICTURE FILE
 *
 * <p>-Djna.library.path=FOLDER names the folder of a library that is not installed.
 */
public final class Transfers {
    @SuppressWarnings("serial")
    static final class WherryException extends RuntimeException {
        final String reason;

        WherryException(Pointer error) {
            super(Wherry.C.wherry_error_message(error));
            reason = Wherry.C.wherry_error_reason(error);
        }
    }

    record Response(int status, byte[] body) {}

    interface ImageReport {
        void report(String name, long original, long encoded);
    }

    /** Sends requests. Futures complete, and reports arrive, on the client's own thread. */
    static final class Client implements AutoCloseable {
        private static final int BATCH = 32;

        private record Handler(
                CompletableFuture<Response> future, BiConsumer<Long, Long> progress, ImageReport image) {}

        private final Map<Long, Handler> handlers = new ConcurrentHashMap<>(); // by the number in their events
        private final AtomicLong last = new AtomicLong();
        private final Pointer client;
        private final Pointer queue;
        private final Thread reader = new Thread(this::readEvents, "wherry events");

        Client(String base) {
            var config = create(Wherry.C::wherry_config_new);
            try {
                check(Wherry.C.wherry_config_set_text(config, Wherry.TEXT_BASE_URL, base));
                client = create(out -> Wherry.C.wherry_client_new(config, out));
            } finally {
                check(Wherry.C.wherry_config_free(config));
            }
            queue = create(Wherry.C::wherry_queue_new);
            reader.start();
        }

        CompletableFuture<Response> get(String path) {
            return start("GET", path, null, null, (request, number) ->
                    Wherry.C.wherry_client_send(client, request, queue, number, null));
        }

        CompletableFuture<Response> upload(String path, Path picture, double quality, BiConsumer<Long, Long> progress,
                ImageReport image) {
            var compression = create(out -> Wherry.C.wherry_compression_new(quality, out));
            try {
                check(Wherry.C.wherry_compression_set_option(compression, Wherry.IMAGE_FORMAT, Wherry.IMAGE_JPEG));
                var paths = new StringArray(new String[] {picture.toString()}, "UTF-8");
                return start("POST", path, progress, image, (request, number) ->
                        Wherry.C.wherry_client_upload_images(client, request, "photo", paths, 1, compression, queue,
                                number, null));
            } finally {
                check(Wherry.C.wherry_compression_free(compression));
            }
        }

        CompletableFuture<Response> download(String path, Path target, BiConsumer<Long, Long> progress) {
            return start("GET", path, progress, null, (request, number) ->
                    Wherry.C.wherry_client_download(client, request, target.toString(), queue, number, null));
        }

        /** Cancels all transfers, and waits for the thread that reads their events. */
        @Override
        public void close() {
            check(Wherry.C.wherry_client_free(client));
            check(Wherry.C.wherry_queue_wake(queue, 0));
            try {
                reader.join();
            } catch (InterruptedException interruption) {
                Thread.currentThread().interrupt();
            }
            check(Wherry.C.wherry_queue_free(queue));
        }

        private CompletableFuture<Response> start(String method, String path, BiConsumer<Long, Long> progress,
                ImageReport image, ToIntBiFunction<Pointer, Long> start) {
            var number = last.incrementAndGet();
            var handler = new Handler(new CompletableFuture<>(), progress, image);
            handlers.put(number, handler);
            var request = create(out -> Wherry.C.wherry_request_new(method, path, out));
            try {
                check(start.applyAsInt(request, number));
            } catch (WherryException error) {
                handlers.remove(number);
                throw error;
            } finally {
                check(Wherry.C.wherry_request_free(request));
            }
            return handler.future;
        }

        private void readEvents() {
            var first = new Wherry.Record();
            var records = (Wherry.Record[]) first.toArray(BATCH);
            var count = new LongByReference();
            for (var isOpen = true; isOpen; ) {
                first.size = first.size();
                check(Wherry.C.wherry_queue_read(queue, first, BATCH, -1, count));
                for (var record : List.of(records).subList(0, (int) count.getValue())) {
                    if (record.kind == Wherry.EVENT_NONE) isOpen = false; // the wake of `close`
                    else handle(record);
                }
                check(Wherry.C.wherry_queue_release(queue, first, count.getValue()));
            }
        }

        private void handle(Wherry.Record record) {
            var handler = handlers.get(record.userData);
            try {
                if (record.kind == Wherry.EVENT_PROGRESS && handler.progress != null) {
                    handler.progress.accept(record.doneBytes, record.expectedBytes);
                } else if (record.kind == Wherry.EVENT_IMAGE && handler.image != null) {
                    var name = Wherry.C.wherry_event_text(record.event);
                    handler.image.report(name, record.expectedBytes, record.doneBytes);
                } else if (record.kind == Wherry.EVENT_DONE) {
                    handlers.remove(record.userData);
                    if (record.status != Wherry.OK) {
                        throw new WherryException(Wherry.C.wherry_event_error(record.event));
                    }
                    var count = (int) record.bodyCount;
                    var body = count == 0 ? new byte[0] : record.body.getByteArray(0, count);
                    handler.future.complete(new Response(record.httpCode, body));
                }
            } catch (RuntimeException error) { // also an exception of a report
                handler.future.completeExceptionally(error);
            }
        }

        private static Pointer create(ToIntFunction<PointerByReference> create) {
            var out = new PointerByReference();
            check(create.applyAsInt(out));
            return out.getValue();
        }

        private static void check(int status) {
            if (status != Wherry.OK) throw new WherryException(Wherry.C.wherry_last_error());
        }
    }

    public static void main(String[] arguments) {
        if (arguments.length < 3) {
            System.err.println("usage: Transfers BASE-URL PICTURE FILE");
            System.exit(2);
        }
        var picture = Path.of(arguments[1]);
        var target = Path.of(arguments[2]);
        try (var client = new Client(arguments[0])) {
            var greeting = client.get("text/hello").join();
            System.out.printf("GET: %d %s%n", greeting.status, new String(greeting.body, StandardCharsets.UTF_8));

            var futures = IntStream.range(1000, 1050).mapToObj(i -> client.get("bytes/%d?delay_ms=20".formatted(i)))
                    .toList();
            var bytes = futures.stream().mapToLong(future -> future.join().body.length).sum();
            System.out.printf("%d responses, %d bytes%n", futures.size(), bytes);

            var upload = client.upload("upload-photo", picture, 0.5,
                    (done, expected) -> System.out.printf("upload: %d of %d bytes%n", done, expected),
                    (name, original, encoded) ->
                            System.out.printf("%s: %d bytes compressed to %d%n", name, original, encoded));
            System.out.printf("upload: %d%n", upload.join().status);

            client.download("bytes/3000000?rate=6000000", target,
                    (done, expected) -> System.out.printf("download: %d of %d bytes%n", done, expected)).join();
            System.out.println("saved " + target);

            try {
                client.get("status/404").join();
            } catch (CompletionException failure) {
                if (!(failure.getCause() instanceof WherryException error)) throw failure;
                System.out.printf("error: %s: %s%n", error.reason, error.getMessage());
            }
        }
    }
}
