// SPDX-License-Identifier: Apache-2.0
//
// The folder of a file.
#ifndef WEIR_BASE_FOLDER_H
#define WEIR_BASE_FOLDER_H

#include <stdbool.h>

// Whether files can be made in the folder of a path. False: errno says why. Where there is no memory to look, true: whoever makes the
// file says so. Any thread.
bool weir__folder_takes(const char *path);

#endif // WEIR_BASE_FOLDER_H
