/** Ends a server on signals: in good order at the first one, at once at the second one. */
import { systemClock } from "#std/clock.ts";
import { StartError } from "#std/start-error.ts";

interface Stoppable {
  /** Ends the server in good order. Rejects with `StartError` when it has not started, which others report. */
  close(): Promise<void>;
  /** Ends what would outlive this process. */
  kill(): void;
}

/**
 * The time after the first signal in which signals count as the same one: npm passes the terminal's signal on a second
 * time.
 */
const sameSignalMs = 300;

/**
 * Closes the server at the first signal, and ends the process at the second one. Returns a function that closes it
 * without a signal.
 */
export function stopOnSignal(server: Stoppable): () => void {
  let askedAt: number | undefined;
  const stop = async (): Promise<void> => {
    try {
      await server.close();
      process.exit(0);
    } catch (error) {
      if (!(error instanceof StartError)) process.stderr.write(`binnacle: bad end: ${String(error)}\n`);
      process.exit(1);
    }
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = systemClock.monotonic();
    if (askedAt !== undefined) {
      if (now - askedAt < sameSignalMs) return;
      process.stderr.write(`binnacle: ${signal} again: stopping at once\n`);
      server.kill();
      process.exit(1);
    }
    askedAt = now;
    void stop();
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  return () => void stop();
}
