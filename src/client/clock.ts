/** The clock of the client library. Its timers keep the process alive, since somebody waits for what they end. */
import { type Clock, machineClock } from "#std/clock.ts";

/** The machine's clock, for programs that call a server. */
export const waitingClock: Clock = machineClock(true);
