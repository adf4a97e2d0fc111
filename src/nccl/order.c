// SPDX-License-Identifier: Apache-2.0
#include "base/allocate.h"
#include "nccl/nccl.h"

enum { TOKEN_BYTES = 64 };

static pthread_mutex_t orders_lock = PTHREAD_MUTEX_INITIALIZER;
static weir__nccl_order *orders;

static weir__nccl_order **find(const weir_context *context) {
  weir__nccl_order **link = &orders;
  while (*link != NULL && (*link)->context != context) link = &(*link)->next;
  return link;
}

weir__nccl_order *weir__nccl_order_take(weir_context *context) {
  pthread_mutex_lock(&orders_lock);
  weir__nccl_order **link = find(context), *order = *link;
  if (order == NULL) {
    order = weir__allocate_zeroed(sizeof *order);
    if (order != NULL) {
      order->context = context;
      pthread_mutex_init(&order->lock, NULL);
      *link = order;
    }
  }
  if (order != NULL) order->references++;
  pthread_mutex_unlock(&orders_lock);
  return order;
}

void weir__nccl_order_drop(weir__nccl_order *order) {
  pthread_mutex_lock(&orders_lock);
  bool last = --order->references == 0;
  if (last) *find(order->context) = order->next;
  pthread_mutex_unlock(&orders_lock);
  if (!last) return;
  for (uint32_t i = 0; i < WEIR__MAX_DEVICES; i++) weir_buffer_release(order->tokens[i]);
  pthread_mutex_destroy(&order->lock);
  weir__free(order);
}

weir_buffer *weir__nccl_order_token(weir__nccl_order *order, const weir_device *device) {
  weir_buffer **token = &order->tokens[device->index];
  if (*token == NULL && weir_buffer_create(order->context, TOKEN_BYTES, token) == WEIR_OK)
    weir_buffer_set_label(*token, "order of collectives");
  return *token;
}
