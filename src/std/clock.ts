/**
 * Time as a parameter: code below `server/` uses a `Clock`, so that tests control time and one seed can replay a whole
 * cluster.
 */

export interface Clock {
  /** Returns milliseconds since the Unix epoch. */
  now(): number;
  /** Returns milliseconds of a clock that never goes back; only differences are meaningful. */
  monotonic(): number;
  /** Calls `callback` once after `delayMs`; the returned function cancels it. On a server it never keeps the process alive. */
  after(delayMs: number, callback: () => void): () => void;
}

/** The maximum time of a timer in milliseconds: the runtime fires longer ones at once. */
const timerMsMax = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = machineClock(false);

/** Returns a clock of the machine. `keepsAlive` says whether the process lives for as long as a timer waits. */
export function machineClock(keepsAlive: boolean): Clock {
  const after: Clock["after"] = (delayMs, callback) => {
    if (delayMs > timerMsMax) {
      let cancel = after(timerMsMax, () => {
        cancel = after(delayMs - timerMsMax, callback);
      });
      return () => cancel();
    }
    const timer = setTimeout(callback, delayMs);
    if (!keepsAlive) timer.unref();
    return () => clearTimeout(timer);
  };
  return { now: () => Date.now(), monotonic: () => performance.now(), after };
}

/** Resolves after `ms`, or at once when aborted. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => {
      signal.removeEventListener("abort", aborted);
      resolve();
    });
    const aborted = (): void => {
      cancel();
      resolve();
    };
    signal.addEventListener("abort", aborted, { once: true });
  });
}
