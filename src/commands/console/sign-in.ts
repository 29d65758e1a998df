/**
 * The sign-in of the local console: a code that is good once and for a minute, for which a page gets a token that is
 * good for as long as the program runs. Neither is written anywhere but where it has to go.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Clock } from "#std/clock.ts";
import type { Random } from "#std/random.ts";

/** The time in milliseconds for which a code is good. */
const codeMs = 60_000;
/** The number of wrong codes after which the present one is no longer good. */
const wrongMax = 5;
/** The number of pages that are signed in at a time; a further one signs out the oldest. */
const sessionsMax = 32;

export class SignIn {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #random: Pick<Random, "bytes">;
  #code: { readonly digest: Buffer; readonly sinceMs: number; wrong: number } | undefined;
  /** The digests of tokens, the oldest first. */
  readonly #sessions: Buffer[] = [];

  constructor(clock: Pick<Clock, "monotonic">, random: Pick<Random, "bytes">) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Returns a new code of 128 bits; the one before is no longer good. */
  newCode(): string {
    const code = this.#random.bytes(16).toString("base64url");
    this.#code = { digest: digestOf(code), sinceMs: this.#clock.monotonic(), wrong: 0 };
    return code;
  }

  /** Returns a token for the code; `undefined` for a code that is wrong, old or used. */
  redeem(code: string): string | undefined {
    const wanted = this.#code;
    if (wanted === undefined) return undefined;
    if (this.#clock.monotonic() - wanted.sinceMs > codeMs) {
      this.#code = undefined;
      return undefined;
    }
    if (!timingSafeEqual(digestOf(code), wanted.digest)) {
      wanted.wrong += 1;
      if (wanted.wrong >= wrongMax) this.#code = undefined;
      return undefined;
    }
    this.#code = undefined;
    const token = this.#random.bytes(32).toString("base64url");
    this.#sessions.push(digestOf(token));
    if (this.#sessions.length > sessionsMax) this.#sessions.shift();
    return token;
  }

  /** Signs a page out. */
  end(token: string): void {
    const at = this.#sessions.findIndex((session) => timingSafeEqual(session, digestOf(token)));
    if (at >= 0) this.#sessions.splice(at, 1);
  }

  /** Whether a token is that of a page that has signed in. */
  isSession(token: string): boolean {
    const digest = digestOf(token);
    let found = false;
    for (const session of this.#sessions) found = timingSafeEqual(session, digest) || found;
    return found;
  }
}

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();
