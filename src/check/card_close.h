// SPDX-License-Identifier: Apache-2.0
//
// A task on a card where something is suspicious: contents come to the host, where it is looked at as for any other device.
#ifndef WEIR_CHECK_CARD_CLOSE_H
#define WEIR_CHECK_CARD_CLOSE_H

#include "check/checker.h"

// Checks a task of whose runs nothing reached its buffers, and takes the results there.
void weir__card_look_closely(weir__checker *checker, weir__check_job *job);

#endif // WEIR_CHECK_CARD_CLOSE_H
