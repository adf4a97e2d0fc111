// SPDX-License-Identifier: Apache-2.0
//
// Names of devices: "N", or "N/P.K".
#include <stdlib.h>

#include "base/error.h"
#include "device/opencl/opencl.h"

// Reads a number of at most nine digits. False: there is none.
static bool read_number(const char **text, uint32_t *out_number) {
  uint32_t number = 0, digits = 0;
  for (; **text >= '0' && **text <= '9' && digits < 9; digits++, ++*text)
    number = 10 * number + (uint32_t)(**text - '0');
  *out_number = number;
  return digits > 0;
}

weir_status weir__opencl_parse(const weir__opencl_driver *driver, const char *argument, weir__opencl_name *out_name) {
  *out_name = (weir__opencl_name){0};
  const char *at = argument;
  if (*at == '\0') return WEIR_OK;
  bool good = read_number(&at, &out_name->number);
  if (good && *at == '/') {
    at++;
    good = read_number(&at, &out_name->parts) && out_name->parts > 0;
    if (good && *at == '\0')
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                         "device opencl: '%.60s' does not say which part: opencl:%u/%u.0 is the first", argument,
                         out_name->number, out_name->parts);
    if (good && *at == '.') at++;
    good = good && at[-1] == '.' && read_number(&at, &out_name->part);
  }
  if (!good || *at != '\0')
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "device opencl: '%.60s' is no number of a device (1), nor part of one (1/2.0)", argument);
  if (out_name->number >= driver->count)
    return weir__error(WEIR_ERROR_UNAVAILABLE, "device opencl:%u: this machine has %u OpenCL device%s",
                       out_name->number, driver->count, driver->count == 1 ? "" : "s");
  const weir__opencl_listed *listed = &driver->devices[out_name->number];
  if (out_name->parts > listed->units)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "device opencl:%.60s: %.60s has %u compute unit%s for %u parts",
                       argument, listed->name, listed->units, listed->units == 1 ? "" : "s", out_name->parts);
  if (out_name->parts > 0 && out_name->part >= out_name->parts)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "device opencl:%.60s: of %u parts the last is %u", argument,
                       out_name->parts, out_name->parts - 1);
  if (listed->reason[0] != '\0')
    return weir__error(WEIR_ERROR_UNAVAILABLE, "device opencl:%u: %s cannot be used: %s", out_name->number,
                       listed->name, listed->reason);
  return WEIR_OK;
}
