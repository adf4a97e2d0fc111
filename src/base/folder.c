// SPDX-License-Identifier: Apache-2.0
#include "base/folder.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/allocate.h"

bool weir__folder_takes(const char *path) {
  const char *slash = strrchr(path, '/');
  if (slash == NULL) return access(".", W_OK | X_OK) == 0;
  char *folder = weir__allocate_string(path);
  if (folder == NULL) return true;
  folder[slash == path ? 1 : slash - path] = '\0';
  bool takes = access(folder, W_OK | X_OK) == 0;
  int why = errno;
  weir__free(folder);
  errno = why;
  return takes;
}
