/* Wherry: error handling and progress limits for libjpeg. */
/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include "jpeg_internal.h"

#include <jerror.h>
/* clang-format on */

static void jump(j_common_ptr codec) {
  cimage_jpeg_errors *errors = (cimage_jpeg_errors *)codec->err;
  if (errors->text[0] == 0) errors->base.format_message(codec, errors->text);
  longjmp(errors->landing, 1);
}

static void warn(j_common_ptr codec, int level) {
  if (level >= 0) return; /* a trace message */
  switch (codec->err->msg_code) {
    case JWRN_ADOBE_XFORM:     /* an unknown color transform; libjpeg guesses */
    case JWRN_JFIF_MAJOR:      /* an unknown version */
    case JWRN_EXTRANEOUS_DATA: /* padding before a marker; browsers accept it too */
      return;
    default: /* damaged data, which libjpeg would fill with gray */
      jump(codec);
  }
}

static void stay_silent(j_common_ptr codec) { (void)codec; }

void cimage_jpeg_errors_init(cimage_jpeg_errors *errors) {
  jpeg_std_error(&errors->base);
  errors->base.error_exit = jump;
  errors->base.emit_message = warn;
  errors->base.output_message = stay_silent;
  errors->status = CIMAGE_OK;
  errors->text[0] = 0;
}

void cimage_jpeg_fail(j_common_ptr codec, cimage_status status, const char *text) {
  cimage_jpeg_errors *errors = (cimage_jpeg_errors *)codec->err;
  errors->status = status;
  snprintf(errors->text, sizeof errors->text, "%s", text);
  jump(codec);
}

cimage_status cimage_jpeg_failed(const cimage_jpeg_errors *errors, cimage_message message) {
  cimage_say(message, errors->text);
  if (errors->status != CIMAGE_OK) return errors->status;
  switch (errors->base.msg_code) {
    case JERR_OUT_OF_MEMORY:
      return CIMAGE_NO_MEMORY;
    case JERR_NO_BACKING_STORE:
      return CIMAGE_MEMORY_LIMIT;
    case JERR_INPUT_EMPTY:
    case JERR_INPUT_EOF:
      return CIMAGE_TRUNCATED;
    case JERR_IMAGE_TOO_BIG:
    case JERR_WIDTH_OVERFLOW:
      return CIMAGE_TOO_LARGE;
    case JERR_SOF_UNSUPPORTED:
    case JERR_BAD_PRECISION:
    case JERR_ARITH_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_CCIR601_NOTIMPL:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
      return CIMAGE_UNSUPPORTED;
    default:
      return CIMAGE_CORRUPT;
  }
}

static void watch_progress(j_common_ptr codec) {
  const cimage_jpeg_watch *watch = (const cimage_jpeg_watch *)codec->progress;
  if (watch->max_scans > 0 && codec->is_decompressor &&
      (int64_t)((j_decompress_ptr)codec)->input_scan_number > (int64_t)watch->max_scans) {
    cimage_jpeg_fail(codec, CIMAGE_SCANS, "the image comes in too many scans");
  }
  if (cimage_is_late(watch->deadline_ns)) {
    cimage_jpeg_fail(codec, CIMAGE_DEADLINE, "the time for this image is over");
  }
}

void cimage_jpeg_watch_init(cimage_jpeg_watch *watch, uint32_t max_scans, int64_t deadline_ns) {
  memset(watch, 0, sizeof *watch);
  watch->base.progress_monitor = watch_progress;
  watch->max_scans = max_scans;
  watch->deadline_ns = deadline_ns;
}
