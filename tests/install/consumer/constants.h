// SPDX-License-Identifier: Apache-2.0
#define OFFSET 1
