/**
 * Time as a parameter: code below `server/` uses a `Clock`, so that tests control time and one seed can replay a whole
 * cluster.
 */

export interface Clock {
  /** Returns milliseconds since the Unix epoch. */
  now(): number;
  /** Returns milliseconds of a clock that never goes back; only differences are meaningful. */
  monotonic(): number;
  /** Calls `callback` once after `delayMs`; the returned function cancels it. Never keeps the process alive. */
  after(delayMs: number, callback: () => void): () => void;
}

/** The maximum time of a timer in milliseconds: the runtime fires longer ones at once. */
const timerMsMax = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    if (delayMs > timerMsMax) {
      let cancel = systemClock.after(timerMsMax, () => {
        cancel = systemClock.after(delayMs - timerMsMax, callback);
      });
      return () => cancel();
    }
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

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
