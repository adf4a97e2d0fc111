'use strict';
// Several ranks of one program in one timeline: numbers and ids of rank r begin at r times RANK_IDS.

const RANK_IDS = 1e13;
let showRanks = false; // there are several

const rankOf = (id) => Math.floor(id / RANK_IDS);

// Names lanes by rank, and finds the messages: a receive waits for its send.
function nameRanks(model) {
  model.messages = [];
  for (const device of model.devices) {
    if (device.rank !== undefined) device.name = `rank ${device.rank}: ${device.name}`;
  }
  for (const to of model.tasks) {
    for (const {hazard, from} of to.waits) {
      if (hazard === 'MESSAGE' && from) model.messages.push({from, to});
    }
  }
  model.messages.sort((a, b) => a.to.start - b.to.start);
}
