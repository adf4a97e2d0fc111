// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "internal.h"

struct stub_run {
  stub_topology *topology;
  stub_work **works;     // NULL: disabled
  stub_ticket **tickets; // of nodes that record events
  uint32_t *missing;
  uint32_t *ready;
  uint32_t ready_count, left, running;
};

void stub_topology_release(stub_topology *topology) {
  if (--topology->references > 0) return;
  free(topology->missing);
  free(topology->first_successor);
  free(topology->successors);
  free(topology);
}

stub_run *stub_run_create(stub_topology *topology, stub_work *const *works) {
  uint32_t count = topology->count;
  stub_run *run = stub_allocate(sizeof *run);
  topology->references++;
  run->topology = topology;
  run->works = stub_allocate(count * sizeof(stub_work *));
  run->tickets = stub_allocate(count * sizeof(stub_ticket *));
  run->missing = stub_allocate(count * sizeof(uint32_t));
  run->ready = stub_allocate(count * sizeof(uint32_t));
  run->left = count;
  for (uint32_t i = 0; i < count; i++) {
    run->missing[i] = topology->missing[i];
    if (run->missing[i] == 0) run->ready[run->ready_count++] = i;
    run->works[i] = stub_work_retain(works[i]);
    if (works[i]->kind == STUB_KERNEL) works[i]->function->queued++;
  }
  return run;
}

static void ticket_done(stub_ticket *ticket) {
  if (ticket == NULL || ticket->done) return;
  ticket->done = true;
  ticket->time = stub_now();
}

void stub_run_destroy(stub_run *run) {
  for (uint32_t i = 0; i < run->topology->count; i++) {
    ticket_done(run->tickets[i]);
    stub_ticket_release(run->tickets[i]);
    if (run->works[i] == NULL) continue;
    if (run->works[i]->kind == STUB_KERNEL) run->works[i]->function->queued--;
    stub_work_release(run->works[i]);
  }
  stub_topology_release(run->topology);
  free(run->works);
  free(run->tickets);
  free(run->missing);
  free(run->ready);
  free(run);
}

void stub_run_record_events(stub_run *run) {
  for (uint32_t i = 0; i < run->topology->count; i++) {
    const stub_work *work = run->works[i];
    if (work == NULL || work->kind != STUB_RECORD) continue;
    if (!stub_object_check(work->event, STUB_EVENT, "cuGraphLaunch: a node that records an event")) continue;
    run->tickets[i] = stub_ticket_create();
    stub_ticket_release(work->event->ticket);
    work->event->ticket = stub_ticket_retain(run->tickets[i]);
  }
}

bool stub_run_has_ready(const stub_run *run) {
  return run->ready_count > 0;
}

bool stub_run_is_idle(const stub_run *run) {
  return run->running == 0;
}

uint32_t stub_run_take(stub_run *run, stub_work **out_work) {
  uint32_t index = random_below(&stub.random, run->ready_count);
  uint32_t node = run->ready[index];
  run->ready[index] = run->ready[--run->ready_count];
  run->running++;
  *out_work = run->works[node];
  return node;
}

bool stub_run_done(stub_run *run, uint32_t node) {
  const stub_topology *topology = run->topology;
  ticket_done(run->tickets[node]);
  run->running--;
  for (uint32_t i = topology->first_successor[node]; i < topology->first_successor[node + 1]; i++) {
    uint32_t successor = topology->successors[i];
    if (--run->missing[successor] == 0) run->ready[run->ready_count++] = successor;
  }
  return --run->left == 0;
}
