// SPDX-License-Identifier: Apache-2.0
#include "clock.h"

#include "job.h"
#include "weir/trace.h"

enum { ROUNDS = 16 };

static uint64_t own_time(const weir_mpi *mpi) {
  return weir__mpi_now() + (uint64_t)mpi->transport->skew_ns;
}

void weir__mpi_clock_add(weir__mpi_clock *clock, uint64_t asked_ns, uint64_t theirs_ns, uint64_t answered_ns) {
  uint64_t half = (answered_ns - asked_ns) / 2;
  clock->rounds++;
  if (clock->is_known && half >= clock->error_ns) return;
  clock->is_known = true;
  clock->offset_ns = (int64_t)(theirs_ns - (asked_ns + half));
  clock->error_ns = half;
}

// `shared` is held.
static void ask(weir_mpi *mpi) {
  const weir__mpi_control control = {.kind = WEIR__MPI_CLOCK, .clock = {.asked_ns = own_time(mpi)}};
  weir__mpi_control_send(mpi, 0, &control, offsetof(weir__mpi_control, clock) + sizeof control.clock);
}

static weir_status note(const weir_mpi *mpi, int64_t offset_ns, uint64_t error_ns) {
  return weir_trace_note_rank(mpi->context, mpi->rank, mpi->size, offset_ns + mpi->transport->skew_ns, error_ns);
}

void weir__mpi_clock_begin(weir_mpi *mpi) {
  mpi->traces = note(mpi, 0, mpi->rank == 0 ? 0 : INT64_MAX) == WEIR_OK;
  if (!mpi->traces || mpi->rank == 0) return;
  pthread_mutex_lock(&mpi->shared);
  ask(mpi);
  pthread_mutex_unlock(&mpi->shared);
}

void weir__mpi_clock_answer(weir_mpi *mpi, uint32_t from, const weir__mpi_control *control) {
  weir__mpi_control answer = {.kind = WEIR__MPI_TIME, .clock = control->clock};
  answer.clock.answered_ns = own_time(mpi);
  answer.clock.machine = mpi->transport->machine;
  pthread_mutex_lock(&mpi->shared);
  weir__mpi_control_send(mpi, from, &answer, offsetof(weir__mpi_control, clock) + sizeof answer.clock);
  pthread_mutex_unlock(&mpi->shared);
}

void weir__mpi_clock_take(weir_mpi *mpi, const weir__mpi_control *control) {
  weir__mpi_clock *clock = &mpi->clock;
  uint64_t machine = mpi->transport->machine;
  if (machine != 0 && machine == control->clock.machine) {
    note(mpi, 0, 0);
    return;
  }
  weir__mpi_clock_add(clock, control->clock.asked_ns, control->clock.answered_ns, own_time(mpi));
  note(mpi, clock->offset_ns, clock->error_ns);
  pthread_mutex_lock(&mpi->shared);
  // After the end nobody answers.
  if (clock->rounds < ROUNDS && mpi->ending_ns == 0 && !mpi->stops) ask(mpi);
  pthread_mutex_unlock(&mpi->shared);
}
