/**
 * The health endpoints `/healthz`, `/livez` and `/readyz`, one path below each per check, with `verbose` and `exclude`.
 * Texts are upstream's, except that a verbose success ends with `healthz check passed` at all three, as the
 * specification says. The server supplies the checks.
 */
import type { Clock } from "#std/clock.ts";
import type { ApiRequest, Reply } from "./api-request.ts";
import { plainText } from "./plain-text.ts";

export type HealthEndpoint = "healthz" | "livez" | "readyz";

interface HealthCheck {
  /** The name, which may contain slashes: `poststarthook/start-controllers`. */
  readonly name: string;
  readonly endpoints: readonly HealthEndpoint[];
  /** Returns why the check failed, for the log; `undefined` when all is well. */
  problem(): string | undefined;
  /** Returns a note for clients that ask for details although all is well. */
  note?(): string | undefined;
  /** Whether `/livez` includes the check while the server may still be starting. */
  readonly startup?: boolean;
}

interface HealthOptions {
  readonly clock: Clock;
  /** The time after the start for which `/livez` does not fail because of what the start still has to finish. */
  readonly livezGracePeriodMs: number;
  /** Called for each failed check. */
  failed?(endpoint: string, check: string, problem: string): void;
  /** Called for each check of a request for all of them. */
  observed?(endpoint: HealthEndpoint, check: string, isGood: boolean): void;
}

const everywhere: readonly HealthEndpoint[] = ["healthz", "livez", "readyz"];

export class Health {
  readonly #options: HealthOptions;
  readonly #startedMs: number;
  readonly #checks: HealthCheck[] = [];

  constructor(options: HealthOptions) {
    this.#options = options;
    this.#startedMs = options.clock.monotonic();
    this.add({ name: "ping", endpoints: everywhere, problem: () => undefined });
  }

  /** Adds a check. Answers show the checks in the order in which they were added. */
  add(check: HealthCheck): void {
    this.#checks.push(check);
  }

  /**
   * Adds a step of the start, shown as `poststarthook/<name>`; it fails until the returned function is called. A step that
   * was added before stays as it is.
   */
  startupStep(name: string): () => void {
    const isKnown = this.#checks.some((check) => check.name === `poststarthook/${name}`);
    if (isKnown) return () => undefined;
    let done = false;
    this.add({
      name: `poststarthook/${name}`,
      endpoints: everywhere,
      startup: true,
      problem: () => (done ? undefined : "not finished"),
    });
    return () => {
      done = true;
    };
  }

  /** Answers health paths; `undefined` for other paths, and for checks that do not exist. */
  reply(request: Pick<ApiRequest, "path" | "query">): Reply | undefined {
    const [, endpoint, name] = /^\/(healthz|livez|readyz)(?:\/(.+))?$/.exec(request.path) ?? [];
    if (endpoint === undefined) return undefined;
    const checks = this.#checksOf(endpoint as HealthEndpoint); // the expression allows no other
    if (name !== undefined) {
      const check = checks.find((candidate) => candidate.name === name);
      return check && this.#replyOne(endpoint as HealthEndpoint, check); // as above
    }
    return this.#replyAll(endpoint as HealthEndpoint, checks, request.query); // as above
  }

  #checksOf(endpoint: HealthEndpoint): readonly HealthCheck[] {
    const wanted = this.#checks.filter((check) => check.endpoints.includes(endpoint));
    // Upstream's order: checks that exist from the beginning, then steps of the start.
    return [...wanted.filter((check) => check.startup !== true), ...wanted.filter((check) => check.startup === true)];
  }

  #problem(endpoint: HealthEndpoint, check: HealthCheck): string | undefined {
    const problem = check.problem();
    if (problem === undefined || endpoint !== "livez" || check.startup !== true) return problem;
    const age = this.#options.clock.monotonic() - this.#startedMs;
    return age < this.#options.livezGracePeriodMs ? undefined : problem;
  }

  #replyOne(endpoint: HealthEndpoint, check: HealthCheck): Reply {
    const problem = this.#problem(endpoint, check);
    if (problem === undefined) return { code: 200, bytes: Buffer.from("ok"), contentType: "text/plain; charset=utf-8" };
    this.#options.failed?.(endpoint, check.name, problem);
    return plainText(500, `internal server error: ${problem}\n`);
  }

  #replyAll(endpoint: HealthEndpoint, checks: readonly HealthCheck[], query: URLSearchParams): Reply {
    const excluded = new Set(query.getAll("exclude"));
    let lines = "";
    let failed = false;
    for (const check of checks) {
      if (excluded.delete(check.name)) {
        lines += `[+]${check.name} excluded: ok\n`;
        continue;
      }
      const problem = this.#problem(endpoint, check);
      this.#options.observed?.(endpoint, check.name, problem === undefined);
      if (problem === undefined) {
        const note = check.note?.();
        lines += note === undefined ? `[+]${check.name} ok\n` : `[+]${check.name} ok: ${note}\n`;
        continue;
      }
      this.#options.failed?.(endpoint, check.name, problem);
      failed = true;
      lines += `[-]${check.name} failed: reason withheld\n`;
    }
    if (excluded.size > 0) {
      const names = [...excluded].sort().map((name) => JSON.stringify(name));
      lines += `warn: some health checks cannot be excluded: no matches for ${names.join(",")}\n`;
    }
    if (failed) return plainText(500, `${lines}${endpoint} check failed\n`);
    return plainText(200, query.has("verbose") ? `${lines}healthz check passed\n` : "ok");
  }
}
