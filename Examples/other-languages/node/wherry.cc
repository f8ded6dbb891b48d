// An addon that gives Node the part of Wherry that transfers.js uses.
//
// libuv polls the descriptor of a queue, so events arrive on JavaScript's thread, between its other callbacks.
#include <memory>
#include <node_api.h>
#include <string>
#include <uv.h>
#include <vector>
#include <wherry.h>

namespace {

struct Client {
  napi_env env;
  napi_ref self;    // keeps the client until libuv has closed the poll handle
  napi_ref handler; // the function that receives events
  napi_async_context context;
  uv_poll_t poll;
  wherry_client *client; // null after `close`
  wherry_queue *queue;
};

// Ends the program if Node-API or libuv fails, for example without memory.
void must(bool succeeded) {
  if (!succeeded) napi_fatal_error("wherry", NAPI_AUTO_LENGTH, "Node-API failed", NAPI_AUTO_LENGTH);
}
void must(napi_status status) { must(status == napi_ok); }

napi_value text(napi_env env, const char *value) {
  napi_value result;
  must(napi_create_string_utf8(env, value, NAPI_AUTO_LENGTH, &result));
  return result;
}

napi_value number(napi_env env, int64_t value) {
  napi_value result;
  must(napi_create_int64(env, value, &result));
  return result;
}

// Throws the error of a failed call. Its code is the reason.
bool check(napi_env env, wherry_status status) {
  if (status == WHERRY_OK) return true;
  const wherry_error *error = wherry_last_error();
  must(napi_throw_error(env, wherry_error_reason(error), wherry_error_message(error)));
  return false;
}

// Calls the handler with the transfer's number, the name of the event, and its values.
void report(Client *client, const wherry_record &record) {
  napi_env env = client->env;
  std::vector<napi_value> values = {number(env, record.user_key)};
  if (record.kind == WHERRY_EVENT_PROGRESS) {
    values.insert(values.end(), {text(env, "progress"), number(env, record.done_bytes),
                                 number(env, record.expected_bytes)});
  } else if (record.kind == WHERRY_EVENT_IMAGE) {
    values.insert(values.end(), {text(env, "image"), text(env, wherry_event_text(record.event)),
                                 number(env, record.expected_bytes), number(env, record.done_bytes)});
  } else if (record.kind == WHERRY_EVENT_DONE && record.status == WHERRY_OK) {
    napi_value body;
    must(napi_create_buffer_copy(env, record.body_count, record.body, nullptr, &body));
    values.insert(values.end(), {text(env, "done"), number(env, record.http_code), body});
  } else if (record.kind == WHERRY_EVENT_DONE) {
    const wherry_error *error = wherry_event_error(record.event);
    napi_value failure;
    must(napi_create_error(env, text(env, wherry_error_reason(error)), text(env, wherry_error_message(error)),
                           &failure));
    values.insert(values.end(), {text(env, "failed"), failure});
  } else {
    return;
  }
  napi_value handler, global, exception;
  must(napi_get_reference_value(env, client->handler, &handler));
  must(napi_get_global(env, &global));
  if (napi_make_callback(env, client->context, global, handler, values.size(), values.data(), nullptr) ==
      napi_pending_exception) {
    must(napi_get_and_clear_last_exception(env, &exception));
    must(napi_fatal_exception(env, exception)); // emits `uncaughtException`
  }
}

void readable(uv_poll_t *poll, int status, int) {
  auto client = static_cast<Client *>(poll->data);
  wherry_record records[32];
  size_t count = 0;
  records[0].size = sizeof records[0];
  must(status == 0);
  wherry_status read = wherry_queue_read(client->queue, records, 32, 0, &count);
  must(read == WHERRY_OK || read == WHERRY_E_TIMEOUT);
  for (size_t i = 0; i < count; i++) {
    napi_handle_scope scope;
    must(napi_open_handle_scope(client->env, &scope));
    if (client->client != nullptr) report(client, records[i]); // the handler may close the client
    must(napi_close_handle_scope(client->env, scope));
    wherry_event_free(records[i].event);
  }
}

// The arguments of a call. `client` is null if the first one is not an open client.
struct Arguments {
  size_t count = 5;
  napi_value values[5];
  Client *client = nullptr;

  Arguments(napi_env env, napi_callback_info info) {
    void *data = nullptr;
    must(napi_get_cb_info(env, info, &count, values, nullptr, nullptr)); // missing ones are undefined
    napi_valuetype type;
    must(napi_typeof(env, values[0], &type));
    if (type != napi_external) return;
    must(napi_get_value_external(env, values[0], &data));
    client = static_cast<Client *>(data);
    if (client->client == nullptr) client = nullptr;
  }

  // The text of an argument; "" if it is not a string.
  std::string string(napi_env env, size_t index) const {
    size_t length = 0;
    if (napi_get_value_string_utf8(env, values[index], nullptr, 0, &length) != napi_ok) return "";
    std::string result(length, '\0');
    must(napi_get_value_string_utf8(env, values[index], &result[0], length + 1, &length));
    return result;
  }

  double real(napi_env env, size_t index) const {
    double result = 0;
    napi_get_value_double(env, values[index], &result);
    return result;
  }
};

// open(base, handler) returns a client.
napi_value open(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  auto client = std::make_unique<Client>();
  wherry_config *config = nullptr;
  bool succeeded =
      check(env, wherry_config_new(&config)) &&
      check(env, wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, arguments.string(env, 0).c_str())) &&
      check(env, wherry_client_new(config, &client->client)) && check(env, wherry_queue_new(&client->queue));
  wherry_config_free(config);
  if (!succeeded) {
    wherry_client_free(client->client);
    return nullptr;
  }
  napi_value self;
  uv_loop_t *loop;
  client->env = env;
  client->poll.data = client.get();
  must(napi_get_uv_event_loop(env, &loop));
  must(uv_poll_init(loop, &client->poll, wherry_queue_fd(client->queue)) == 0);
  must(uv_poll_start(&client->poll, UV_READABLE, readable) == 0);
  must(napi_async_init(env, nullptr, text(env, "wherry"), &client->context));
  must(napi_create_reference(env, arguments.values[1], 1, &client->handler));
  auto finalize = [](napi_env, void *data, void *) { delete static_cast<Client *>(data); };
  must(napi_create_external(env, client.get(), finalize, nullptr, &self));
  must(napi_create_reference(env, self, 1, &client->self));
  client.release(); // the external value owns it
  return self;
}

// close(client) cancels the client's transfers.
napi_value close(napi_env env, napi_callback_info info) {
  Client *client = Arguments(env, info).client;
  if (client == nullptr) return nullptr;
  uv_close(reinterpret_cast<uv_handle_t *>(&client->poll), [](uv_handle_t *handle) {
    auto client = static_cast<Client *>(handle->data);
    must(napi_delete_reference(client->env, client->self));
  });
  must(napi_delete_reference(env, client->handler));
  must(napi_async_destroy(env, client->context));
  check(env, wherry_client_free(client->client)) && check(env, wherry_queue_free(client->queue));
  client->client = nullptr;
  return nullptr;
}

// Starts a transfer with send(client, request).
template <typename Send>
napi_value start(napi_env env, const Arguments &arguments, const char *method, Send send) {
  if (arguments.client == nullptr) {
    must(napi_throw_type_error(env, nullptr, "not an open client"));
    return nullptr;
  }
  wherry_request *request = nullptr;
  auto key = static_cast<uint64_t>(arguments.real(env, 1));
  if (check(env, wherry_request_new(method, arguments.string(env, 2).c_str(), &request)) &&
      check(env, wherry_request_set_user_key(request, key)))
    check(env, send(arguments.client, request));
  wherry_request_free(request);
  return nullptr;
}

// get(client, number, path)
napi_value get(napi_env env, napi_callback_info info) {
  return start(env, Arguments(env, info), "GET", [](Client *client, wherry_request *request) {
    return wherry_client_send(client->client, request, client->queue, nullptr, nullptr);
  });
}

// upload(client, number, path, picture, quality)
napi_value upload(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  return start(env, arguments, "POST", [&](Client *client, wherry_request *request) {
    std::string picture = arguments.string(env, 3);
    const char *path = picture.c_str();
    wherry_compression *compression = nullptr;
    wherry_status status = wherry_compression_new(arguments.real(env, 4), &compression);
    if (status == WHERRY_OK)
      status = wherry_compression_set_option(compression, WHERRY_IMAGE_FORMAT, WHERRY_IMAGE_JPEG);
    if (status == WHERRY_OK)
      status = wherry_client_upload_images(client->client, request, "photo", &path, 1, compression, client->queue,
                                           nullptr, nullptr);
    wherry_compression_free(compression);
    return status;
  });
}

// download(client, number, path, target)
napi_value download(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  return start(env, arguments, "GET", [&](Client *client, wherry_request *request) {
    return wherry_client_download(client->client, request, arguments.string(env, 3).c_str(), client->queue,
                                  nullptr, nullptr);
  });
}

} // namespace

NAPI_MODULE_INIT() {
  const napi_property_descriptor functions[] = {
      {"open", nullptr, open, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"close", nullptr, close, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"get", nullptr, get, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"upload", nullptr, upload, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"download", nullptr, download, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
  };
  must(napi_define_properties(env, exports, sizeof functions / sizeof *functions, functions));
  return exports;
}
