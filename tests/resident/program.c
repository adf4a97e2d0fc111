// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <stdlib.h>

#include "random.h"

// ---------------------------------------------------------------------------------------------------------------
// Making one.

// What a unit does to the cells.
static void compute(const program_step *step, uint32_t unit, uint64_t cells[PROGRAM_CELLS][PROGRAM_WIDTH]) {
  uint64_t sum = step->index;
  for (uint32_t i = 0; i < step->read_count; i++)
    for (uint32_t k = 0; k < PROGRAM_WIDTH; k++) sum += cells[step->reads[i]][k];
  for (uint32_t i = 0; i < step->write_count; i++)
    for (uint32_t k = unit; k < PROGRAM_WIDTH; k += step->units) {
      uint64_t *cell = &cells[step->writes[i]][k];
      *cell = random_mix(*cell + sum + k);
    }
}

static program_step *add_step(test_program *program, uint32_t units) {
  if (program->count == program->capacity) {
    program->capacity = program->capacity * 2 + 64;
    program->steps = realloc(program->steps, program->capacity * sizeof *program->steps);
  }
  program_step *step = &program->steps[program->count];
  *step = (program_step){.index = program->count++, .units = units, .ran = calloc(units, 1)};
  return step;
}

typedef struct cell_hazards {
  int64_t writer[PROGRAM_CELLS];
  uint32_t reader_count[PROGRAM_CELLS];
  uint32_t *readers[PROGRAM_CELLS]; // since the writer
} cell_hazards;

static void find_edges(const cell_hazards *hazards, const program_step *step, uint8_t *edges) {
  for (uint32_t i = 0; i < step->read_count; i++) {
    int64_t writer = hazards->writer[step->reads[i]];
    if (writer >= 0) edges[writer] = 1;
  }
  for (uint32_t i = 0; i < step->write_count; i++) {
    uint32_t cell = step->writes[i];
    if (hazards->writer[cell] >= 0) edges[hazards->writer[cell]] = 1;
    for (uint32_t j = 0; j < hazards->reader_count[cell]; j++) edges[hazards->readers[cell][j]] = 1;
  }
}

static void note_accesses(cell_hazards *hazards, const program_step *step) {
  for (uint32_t i = 0; i < step->read_count; i++) {
    uint32_t cell = step->reads[i];
    hazards->readers[cell][hazards->reader_count[cell]++] = step->index;
  }
  for (uint32_t i = 0; i < step->write_count; i++) {
    hazards->writer[step->writes[i]] = step->index;
    hazards->reader_count[step->writes[i]] = 0;
  }
}

static bool accesses(const program_step *step, uint32_t cell) {
  for (uint32_t i = 0; i < step->read_count; i++)
    if (step->reads[i] == cell) return true;
  for (uint32_t i = 0; i < step->write_count; i++)
    if (step->writes[i] == cell) return true;
  return false;
}

static void choose_cells(program_step *step, random_state *random) {
  uint32_t reads = random_below(random, PROGRAM_READS + 1), writes = random_below(random, PROGRAM_WRITES + 1);
  while (step->read_count + step->write_count < reads + writes) {
    uint32_t cell = random_below(random, PROGRAM_CELLS);
    if (accesses(step, cell)) continue;
    if (step->read_count < reads)
      step->reads[step->read_count++] = cell;
    else
      step->writes[step->write_count++] = cell;
  }
}

// Gives the last step its edges: where these are more than a task can have, tasks that do nothing join them before it.
static void connect(test_program *program, const uint8_t *edges, uint32_t before) {
  program_step step = program->steps[--program->count];
  uint32_t pending[WEIR__R_EDGES], count = 0;
  for (uint32_t i = 0; i < before; i++) {
    if (!edges[i]) continue;
    if (count == WEIR__R_EDGES) {
      program_step *join = add_step(program, 1);
      join->joins = true;
      join->edge_count = count;
      memcpy(join->edges, pending, sizeof pending);
      pending[0] = join->index;
      count = 1;
    }
    pending[count++] = i;
  }
  uint8_t *ran = step.ran;
  step.index = program->count;
  step.edge_count = count;
  memcpy(step.edges, pending, sizeof pending);
  program_step *placed = add_step(program, 1);
  free(placed->ran);
  *placed = step;
  placed->ran = ran;
}

void program_create(test_program *program, uint64_t seed, uint32_t tasks, uint32_t most_units) {
  *program = (struct test_program){0};
  random_state random = {seed};
  cell_hazards hazards = {0};
  uint8_t *edges = calloc(2 * tasks + 64, 1);
  for (uint32_t i = 0; i < PROGRAM_CELLS; i++) {
    hazards.writer[i] = -1;
    hazards.readers[i] = calloc(2 * tasks + 64, sizeof(uint32_t));
    for (uint32_t k = 0; k < PROGRAM_WIDTH; k++) program->cells[i][k] = random_next(&random);
  }
  memcpy(program->expected, program->cells, sizeof program->cells);
  while (program->count < tasks) {
    uint32_t before = program->count, units = random_chance(&random, 60) ? 1 : random_between(&random, 1, most_units);
    program_step *step = add_step(program, units);
    step->timed = random_chance(&random, 20);
    step->per_entry = random_chance(&random, 50) ? random_below(&random, 2) : random_between(&random, 1, units + 1);
    choose_cells(step, &random);
    memset(edges, 0, before + 1);
    find_edges(&hazards, step, edges);
    if (before > 0 && random_chance(&random, 30)) edges[random_below(&random, before)] = 1; // perhaps done long ago
    connect(program, edges, before);
    step = &program->steps[program->count - 1];
    note_accesses(&hazards, step);
    for (uint32_t unit = 0; unit < units; unit++) compute(step, unit, program->expected);
  }
  for (uint32_t i = 0; i < PROGRAM_CELLS; i++) free(hazards.readers[i]);
  free(edges);
}

void program_destroy(test_program *program) {
  for (uint32_t i = 0; i < program->count; i++) free(program->steps[i].ran);
  free(program->steps);
}

// ---------------------------------------------------------------------------------------------------------------
// Running it.

static void check_done(test_program *program, const program_step *step) {
  for (uint32_t unit = 0; !step->joins && unit < step->units; unit++)
    RIG_CHECK(program->rig, step->ran[unit] == 1, step->index);
}

static void run_unit(const weir__r_group *group) {
  program_step *step = (program_step *)(uintptr_t)group->args[0];
  test_program *program = step->program;
  for (uint32_t i = 0; i < step->edge_count; i++) check_done(program, &program->steps[step->edges[i]]);
  RIG_CHECK(program->rig, group->id[0] < step->units, group->id[0]);
  RIG_CHECK(program->rig, group->count[0] == step->units, group->count[0]);
  step->ran[group->id[0]]++;
  compute(step, group->id[0], program->cells);
}

static void write_task(weir__r_task *slot, program_step *step, uint32_t base) {
  memset(slot, 0x5a, sizeof *slot);
  slot->function = step->joins ? 0 : (uint64_t)(uintptr_t)run_unit;
  slot->number = base + 1 + step->index;
  slot->units = step->units;
  slot->per_entry = step->per_entry;
  slot->timed = step->timed;
  slot->edge_count = step->edge_count;
  for (uint32_t i = 0; i < step->edge_count; i++) slot->edges[i] = base + 1 + step->edges[i];
  slot->args[0] = (uint64_t)(uintptr_t)step;
}

static bool publish_some(test_program *program, test_rig *rig, uint32_t most) {
  uint32_t base = rig->options.base, wrote = 0;
  while (wrote < most && rig->published - base < program->count) {
    weir__r_task *slot = rig_next_slot(rig);
    if (slot == NULL) break;
    write_task(slot, &program->steps[rig->published - base], base);
    rig_wrote(rig);
    wrote++;
  }
  if (wrote > 0) rig_publish(rig);
  return wrote > 0;
}

// A task that a reported one comes after may not be reported yet, but its start is known: they may be launches of one task.
static void check_start(test_program *program, test_rig *rig, uint32_t index) {
  const program_step *step = &program->steps[index];
  uint32_t slot = (rig->options.base + 1 + index) % WEIR__R_SLOTS;
  if (step->timed && step->reports == 0)
    RIG_CHECK(rig, rig->host->times[slot].start_ns > program->last_start_ns[slot], index);
}

static bool take_reports(test_program *program, test_rig *rig, uint32_t most) {
  uint32_t number, count = 0;
  while (count < most && rig_reported(rig, &number)) {
    program_step *step = &program->steps[number - rig->options.base - 1];
    count++;
    step->reports++;
    check_done(program, step);
    for (uint32_t i = 0; i < step->edge_count; i++) {
      check_done(program, &program->steps[step->edges[i]]);
      check_start(program, rig, step->edges[i]);
    }
    if (!step->timed) continue;
    const weir__r_times *times = &rig->host->times[number % WEIR__R_SLOTS];
    step->start_ns = times->start_ns;
    step->end_ns = times->end_ns;
    program->last_start_ns[number % WEIR__R_SLOTS] = times->start_ns;
  }
  return count > 0;
}

static void check_results(test_program *program, test_rig *rig) {
  RIG_CHECK(rig, memcmp(program->cells, program->expected, sizeof program->cells) == 0, 0);
  for (uint32_t i = 0; i < program->count; i++) {
    const program_step *step = &program->steps[i];
    RIG_CHECK(rig, step->reports == 1, i);
    if (!step->timed) continue;
    RIG_CHECK(rig, step->start_ns > 0 && step->start_ns <= step->end_ns, i);
    for (uint32_t j = 0; j < step->edge_count; j++)
      RIG_CHECK(rig, program->steps[step->edges[j]].end_ns <= step->start_ns, i);
  }
}

void program_run(test_program *program, test_rig *rig, uint64_t seed) {
  random_state random = {seed};
  program->rig = rig;
  for (uint32_t i = 0; i < program->count; i++) program->steps[i].program = program;
  while (rig->reported < program->count) {
    bool moved = false;
    if (random_chance(&random, 50)) moved |= publish_some(program, rig, random_between(&random, 1, WEIR__R_SLOTS));
    if (random_chance(&random, 50)) moved |= take_reports(program, rig, random_between(&random, 1, WEIR__R_SLOTS));
    bool asked = weir__r_host_load_acquire(&rig->host->answer) != rig->ask;
    if (!asked && random_chance(&random, 5)) weir__r_host_store_release(&rig->host->ask, ++rig->ask);
    if (random_chance(&random, 2)) weir__r_host_store_release(&rig->host->stop, rig->epoch);
    if (!rig_is_resident(rig)) {
      take_reports(program, rig, WEIR__R_SLOTS);
      if (rig->published - rig->options.base != rig->reported || asked) rig_launch(rig);
    }
    if (!moved) sched_yield();
  }
  rig_stop(rig);
  rig_check_at_rest(rig);
  check_results(program, rig);
}
