/** Closes planes that nobody uses: those that were not used for a while, and of too many that are open those used least recently. */
import type { Clock } from "#std/clock.ts";
import type { ServerOptions } from "../options.ts";
import type { Plane } from "./plane.ts";
import type { PlaneSlot } from "./plane-slot.ts";

/** The number of looks for idle planes in the time after which they are closed. */
const idleLooks = 4;
/** The pause after which it looks again for planes to close, where too many are open. */
const lookAgainMs = 1000;

interface IdlePlanesParts {
  readonly clock: Clock;
  readonly options: Pick<ServerOptions, "planesIdleTimeoutMs" | "planesOpenMax">;
  /** Returns all planes, open or closed. */
  slots(): Iterable<PlaneSlot>;
}

interface OpenSlot {
  readonly slot: PlaneSlot;
  readonly plane: Plane;
}

export class IdlePlanes {
  readonly #parts: IdlePlanesParts;
  #cancelIdle: (() => void) | undefined;
  #cancelLook: (() => void) | undefined;
  #isOver = false;

  constructor(parts: IdlePlanesParts) {
    this.#parts = parts;
  }

  /** Closes planes that nobody has used for a while, from now on; the next request opens them again. */
  start(): void {
    const { clock, options } = this.#parts;
    const { planesIdleTimeoutMs: idleMs } = options;
    if (idleMs === 0 || this.#isOver) return;
    this.#cancelIdle = clock.after(idleMs / idleLooks, () => {
      const usedBeforeMs = clock.monotonic() - idleMs;
      for (const { slot, plane } of this.#open()) if (plane.usedMs < usedBeforeMs && plane.isIdle) slot.closeIdle();
      this.start();
    });
  }

  /** Closes planes if more are open than shall be; `latest` stays open. Where too many are at work, it looks again. */
  closeSurplus(latest: Plane | undefined): void {
    const { clock, options } = this.#parts;
    if (this.#isOver) return;
    const open = this.#open();
    let surplus = open.length - options.planesOpenMax;
    if (surplus <= 0) return;
    open.sort((one, other) => one.plane.usedMs - other.plane.usedMs);
    for (const { slot, plane } of open) {
      // Whether a plane is idle takes more work to tell than when it was used.
      if (plane === latest || !plane.isIdle) continue;
      slot.closeIdle();
      if (--surplus === 0) return;
    }
    this.#cancelLook?.();
    this.#cancelLook = clock.after(lookAgainMs, () => this.closeSurplus(undefined));
  }

  #open(): OpenSlot[] {
    const open: OpenSlot[] = [];
    for (const slot of this.#parts.slots()) if (slot.plane !== undefined) open.push({ slot, plane: slot.plane });
    return open;
  }

  close(): void {
    this.#isOver = true;
    this.#cancelIdle?.();
    this.#cancelLook?.();
  }
}
