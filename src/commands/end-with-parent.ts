/** Ends a command with the process that started it, which may be killed and then tells nobody. */
const parentCheckMs = 500;

/** Calls `stop` once when the parent of this process is gone. */
export function endWithParent(stop: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, parentCheckMs);
  timer.unref();
}
