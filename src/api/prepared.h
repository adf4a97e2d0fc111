// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_API_PREPARED_H
#define WEIR_API_PREPARED_H

#include "engine/plain.h"
#include "weir/batch.h"

struct weir_prepared {
  weir__object object;
  weir_task task; // its arguments and label are these
  weir_arg *args; // owned; no buffers, no addresses of values
  char label[WEIR__LABEL_BYTES];
  uint32_t buffer_count, value_count; // arguments of each kind
  weir__plain_form form;
};

// Frees what it holds besides its struct.
void weir__prepared_destroy(weir__object *object);

#endif // WEIR_API_PREPARED_H
