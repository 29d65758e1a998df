/** User-readable messages for failed system calls. */

/** Returns a short reason for a failed system call. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const texts: Readonly<Record<string, string>> = {
    ENOENT: "no such file",
    EACCES: "permission denied",
    EISDIR: "it is a folder",
    ENOTDIR: "a part of its path is not a folder",
    EROFS: "the file system is read-only",
    ENOSPC: "no space left",
  };
  return texts[code ?? ""] ?? message ?? String(error);
}
