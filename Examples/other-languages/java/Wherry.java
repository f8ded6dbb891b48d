import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.StringArray;
import com.sun.jna.Structure;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.util.Map;

/** The functions of wherry.h that this program calls. User data is declared as a number. */
interface Wherry extends Library {
    Wherry C = Native.load("wherry", Wherry.class, Map.of(OPTION_STRING_ENCODING, "UTF-8"));

    int OK = 0, TEXT_BASE_URL = 1, IMAGE_FORMAT = 4, IMAGE_JPEG = 1;
    int EVENT_NONE = 0, EVENT_PROGRESS = 1, EVENT_IMAGE = 6, EVENT_DONE = 9;

    Pointer wherry_last_error();
    String wherry_error_reason(Pointer error);
    String wherry_error_message(Pointer error);
    int wherry_config_new(PointerByReference config);
    int wherry_config_free(Pointer config);
    int wherry_config_set_text(Pointer config, int option, String value);
    int wherry_client_new(Pointer config, PointerByReference client);
    int wherry_client_free(Pointer client);
    int wherry_client_send(Pointer client, Pointer request, Pointer queue, long userData, Pointer transfer);
    int wherry_client_download(Pointer client, Pointer request, String path, Pointer queue, long userData,
            Pointer transfer);
    int wherry_client_upload_images(Pointer client, Pointer request, String name, StringArray paths, long count,
            Pointer compression, Pointer queue, long userData, Pointer transfer);
    int wherry_request_new(String method, String url, PointerByReference request);
    int wherry_request_free(Pointer request);
    int wherry_compression_new(double quality, PointerByReference compression);
    int wherry_compression_free(Pointer compression);
    int wherry_compression_set_option(Pointer compression, int option, long value);
    int wherry_queue_new(PointerByReference queue);
    int wherry_queue_free(Pointer queue);
    int wherry_queue_read(Pointer queue, Record records, long capacity, long timeoutMs, LongByReference count);
    int wherry_queue_release(Pointer queue, Record records, long count);
    int wherry_queue_wake(Pointer queue, long userData);
    Pointer wherry_event_error(Pointer event);
    String wherry_event_text(Pointer event);

    @Structure.FieldOrder({"size", "event", "userData", "transferId", "kind", "status", "detail", "httpCode",
        "flags", "body", "bodyCount", "head", "headCount", "doneBytes", "expectedBytes", "reason"})
    class Record extends Structure {
        public long size;
        public Pointer event;
        public long userData, transferId;
        public int kind, status;
        public long detail;
        public int httpCode, flags;
        public Pointer body;
        public long bodyCount;
        public Pointer head;
        public long headCount, doneBytes, expectedBytes;
        public Pointer reason;
    }
}
