// SPDX-License-Identifier: Apache-2.0
//
// Random sequences against a serial model: recorded, launched, changed, cleared and recorded anew while launches are in
// flight. And sequences of many threads at once. WEIR_TEST_SEED seeds it.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "sequence.h"

enum { BUFFERS = 4, SOURCES = 5, DESTINATIONS = 3, MOST_NODES = 12, ROUNDS = 120, SHORT = 16 };

typedef enum kind { IN, OUT, COPY, FILL, STEP, SUM, KINDS } kind;

typedef struct node {
  kind kind;
  int a, b, c;            // buffers
  uint32_t lo, count;     // of a copy, in numbers
  uint32_t value, number; // number: in the graph
  int memory;
} node;

typedef struct model {
  sequence *s;
  random_state random;
  weir_buffer *buffers[BUFFERS];
  uint32_t numbers[BUFFERS][COUNT];
  uint32_t sources[SOURCES][COUNT];
  uint32_t wanted[DESTINATIONS][COUNT], found[DESTINATIONS][COUNT];
  node nodes[MOST_NODES];
  uint32_t node_count;
} model;

static uint64_t seed_given(void) {
  const char *text = getenv("WEIR_TEST_SEED");
  return text == NULL ? 1 : strtoull(text, NULL, 0);
}

static uint32_t below(model *m, uint32_t limit) {
  return random_below(&m->random, limit);
}

static void record_node(model *m, node *n) {
  weir_graph *graph = m->s->graph;
  uint64_t offset = n->lo * sizeof(uint32_t), bytes = n->count * sizeof(uint32_t);
  switch (n->kind) {
  case IN:
    good(weir_graph_copy_in(graph, m->buffers[n->a], offset, bytes, m->sources[n->memory], &n->number));
    break;
  case OUT:
    good(weir_graph_copy_out(graph, m->buffers[n->a], offset, bytes, m->found[n->memory], &n->number));
    break;
  case COPY:
    good(weir_graph_copy(graph, m->buffers[n->a], offset, m->buffers[n->b], 0, bytes, &n->number));
    break;
  case FILL:
    good(weir_graph_fill(graph, m->buffers[n->a], offset, bytes, n->value, &n->number));
    break;
  case STEP:
    n->number = sequence_step(m->s, m->buffers[n->a], n->value);
    break;
  default:
    n->number = sequence_sum(m->s, m->buffers[n->a], m->buffers[n->b], m->buffers[n->c]);
  }
}

static void run_node(model *m, const node *n) {
  uint32_t *a = m->numbers[n->a] + n->lo;
  const uint32_t *b = m->numbers[n->b], *c = m->numbers[n->c];
  for (uint32_t i = 0; i < n->count; i++) {
    switch (n->kind) {
    case IN:
      a[i] = m->sources[n->memory][i];
      break;
    case OUT:
      m->wanted[n->memory][i] = a[i];
      break;
    case COPY:
      a[i] = b[i];
      break;
    case FILL:
      a[i] = n->value;
      break;
    case STEP:
      a[i] = stepped(a[i], n->value);
      break;
    default:
      a[i] = b[i] + c[i];
    }
  }
}

// A destination that no other node of the graph has.
static int free_destination(model *m) {
  int start = (int)below(m, DESTINATIONS);
  for (int i = 0; i < DESTINATIONS; i++) {
    int memory = (start + i) % DESTINATIONS;
    bool taken = false;
    for (uint32_t j = 0; j < m->node_count; j++)
      taken = taken || (m->nodes[j].kind == OUT && m->nodes[j].memory == memory);
    if (!taken) return memory;
  }
  return -1;
}

static void add_node(model *m) {
  node *n = &m->nodes[m->node_count];
  *n = (node){.kind = (kind)below(m, KINDS), .value = below(m, 1000), .count = COUNT};
  n->a = (int)below(m, BUFFERS);
  n->b = (n->a + 1 + (int)below(m, BUFFERS - 1)) % BUFFERS;
  n->c = (n->a + 1 + (int)below(m, BUFFERS - 1)) % BUFFERS;
  n->memory = n->kind == OUT ? free_destination(m) : (int)below(m, SOURCES);
  if (n->memory < 0) return;
  m->node_count++;
  if (n->kind <= FILL && below(m, 2) == 0) {
    n->lo = below(m, COUNT - 1);
    n->count = 1 + below(m, COUNT - n->lo - 1);
  }
  record_node(m, n);
}

static void launch(model *m) {
  if (m->node_count == 0) return;
  good(weir_graph_launch(m->s->graph, NULL));
  for (uint32_t i = 0; i < m->node_count; i++) run_node(m, &m->nodes[i]);
}

static void change(model *m) {
  if (m->node_count == 0) return;
  node *n = &m->nodes[below(m, m->node_count)];
  if (n->kind == IN || n->kind == OUT) {
    int other = n->kind == OUT ? free_destination(m) : (int)below(m, SOURCES);
    if (other < 0) return;
    n->memory = other;
    void *memory = n->kind == OUT ? m->found[n->memory] : m->sources[n->memory];
    good(weir_graph_set_host_memory(m->s->graph, n->number, memory));
  } else if (n->kind == FILL || n->kind == STEP) {
    n->value = below(m, 1000);
    weir_arg arg = weir_value(&n->value, sizeof n->value);
    good(weir_graph_set_arg(m->s->graph, n->number, 1, &arg));
  }
}

static void clear(model *m) {
  good(weir_graph_clear(m->s->graph));
  m->node_count = 0;
}

// The same nodes once more, one of them other than before.
static void rerecord(model *m) {
  good(weir_graph_clear(m->s->graph));
  if (m->node_count > 0) m->nodes[below(m, m->node_count)].value = below(m, 1000);
  for (uint32_t i = 0; i < m->node_count; i++) record_node(m, &m->nodes[i]);
}

// The same nodes in a graph that notes times, or does not. Copies out of two graphs to the same memory are in no order.
static void renew(model *m) {
  good(weir_graph_wait(m->s->graph, WEIR_FOREVER));
  sequence_new_graph(m->s, &(weir_graph_options){.timing = below(m, 2) == 0});
  for (uint32_t i = 0; i < m->node_count; i++) record_node(m, &m->nodes[i]);
}

static void compare(model *m) {
  good(weir_graph_wait(m->s->graph, WEIR_FOREVER));
  for (int i = 0; i < DESTINATIONS; i++) assert_memory_equal(m->found[i], m->wanted[i], sizeof m->wanted[i]);
  static uint32_t read[COUNT];
  for (int i = 0; i < BUFFERS; i++) {
    sequence_read(m->buffers[i], read);
    assert_memory_equal(read, m->numbers[i], sizeof read);
  }
}

static void act(model *m) {
  switch (below(m, 12)) {
  case 0:
    clear(m);
    break;
  case 1:
    rerecord(m);
    break;
  case 2:
  case 3:
    change(m);
    break;
  case 4:
    (void)weir_graph_wait(m->s->graph, 0);
    break;
  case 5:
    renew(m);
    break;
  case 6:
    compare(m);
    break;
  case 7:
  case 8:
    launch(m);
    break;
  default:
    if (m->node_count == MOST_NODES) clear(m);
    add_node(m);
  }
}

static void random_sequence(sequence *s) {
  static model m;
  for (uint64_t i = 0; i < 3; i++) {
    uint64_t seed = seed_given() + i;
    print_message("seed %llu\n", (unsigned long long)seed);
    memset(&m, 0, sizeof m);
    m.s = s;
    m.random.value = seed;
    good(weir_graph_clear(s->graph));
    for (int j = 0; j < SOURCES; j++) sequence_set(m.sources[j], 1000000u * (uint32_t)j);
    for (int j = 0; j < BUFFERS; j++) {
      m.buffers[j] = sequence_buffer(s, "random");
      sequence_set(m.numbers[j], (uint32_t)j);
      good(weir_copy_in(m.buffers[j], 0, WEIR_WHOLE, m.numbers[j], NULL));
    }
    good(weir_finish(s->context)); // the model changes the numbers
    for (int round = 0; round < ROUNDS; round++) act(&m);
    compare(&m);
    for (int j = 0; j < BUFFERS; j++) good(weir_buffer_release(m.buffers[j]));
  }
}

static void sequences_equal_their_serial_model(void **state) {
  (void)state;
  sequence_run(random_sequence);
  sequence_run_with(&(weir_context_options){.window = 8, .seed = seed_given()}, random_sequence);
}

// ---------------------------------------------------------------------------------------------------------------
// Threads

enum { THREADS = 4, TURNS = 25 };

typedef struct crowd {
  sequence *s;
  weir_graph *shared;
  pthread_t thread;
  uint32_t index, failures;
} crowd;

static bool is_good(weir_status status) {
  return status == WEIR_OK;
}

// Records a graph of its own over and over, with launches in flight, and launches one that all share.
static void *crowd_main(void *argument) {
  crowd *self = argument;
  sequence own = *self->s;
  static uint32_t in[THREADS][COUNT], out[THREADS][COUNT];
  weir_buffer *x = NULL;
  bool fine =
      is_good(weir_graph_create(own.context, NULL, &own.graph)) && is_good(weir_buffer_create(own.context, BYTES, &x));
  sequence_set(in[self->index], self->index);
  for (uint32_t turn = 0; turn < TURNS && fine; turn++) {
    weir_arg args[] = {weir_updates(x), weir_value(&turn, sizeof turn)};
    fine = is_good(weir_graph_clear(own.graph)) &&
           is_good(weir_graph_copy_in(own.graph, x, 0, WEIR_WHOLE, in[self->index], NULL)) &&
           is_good(weir_graph_add(own.graph, &(weir_task){.kernel = own.step, .args = args, .arg_count = 2}, NULL)) &&
           is_good(weir_graph_copy_out(own.graph, x, 0, WEIR_WHOLE, out[self->index], NULL)) &&
           is_good(weir_graph_launch(own.graph, NULL)) && is_good(weir_graph_launch(self->shared, NULL)) &&
           is_good(weir_graph_evaluate(own.graph, WEIR_FOREVER));
    (void)graph_info(self->shared);
    for (uint32_t i = 0; i < COUNT && fine; i++) fine = out[self->index][i] == stepped(self->index + i, turn);
  }
  if (!is_good(weir_graph_wait(self->shared, WEIR_FOREVER)) || !is_good(weir_graph_release(own.graph))) fine = false;
  (void)weir_buffer_release(x);
  self->failures = !fine;
  return NULL;
}

static void crowded(sequence *s) {
  crowd members[THREADS];
  weir_buffer *total = sequence_buffer(s, "total");
  good(weir_fill(total, 0, WEIR_WHOLE, 0, NULL));
  sequence_step(s, total, 1);
  for (uint32_t i = 0; i < THREADS; i++) {
    members[i] = (crowd){.s = s, .shared = s->graph, .index = i};
    assert_int_equal(pthread_create(&members[i].thread, NULL, crowd_main, &members[i]), 0);
  }
  for (uint32_t i = 0; i < THREADS; i++) {
    pthread_join(members[i].thread, NULL);
    assert_int_equal(members[i].failures, 0);
  }
  uint32_t wanted = 0;
  for (int i = 0; i < THREADS * TURNS; i++) wanted = stepped(wanted, 1);
  static uint32_t numbers[COUNT];
  sequence_read(total, numbers);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], wanted);
}

static void threads_have_sequences_in_flight(void **state) {
  (void)state;
  sequence_run(crowded);
}

int main(int argc, char **argv) {
  sequence_choose(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sequences_equal_their_serial_model),
      cmocka_unit_test(threads_have_sequences_in_flight),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
