/** The making of the template of new planes, from a plane in memory that nobody can reach. */
import { type Clock, pause } from "#std/clock.ts";
import { openPlane, type PlaneSettings } from "./open-plane.ts";
import type { PlaneHost } from "./plane-host.ts";
import { newCredentials } from "./plane-storage.ts";
import { PlaneTemplate, templateValues } from "./plane-template.ts";

/** The template, which is made when a new plane is asked for first. */
export class TemplateMaking {
  #template: PlaneTemplate | undefined;
  #making: Promise<void> | undefined;

  /** The template; `undefined` while it is not made. */
  get template(): PlaneTemplate | undefined {
    return this.#template;
  }

  /** Begins to make the template, unless that was begun before. */
  begin(host: PlaneHost, signal: AbortSignal): void {
    this.#making ??= this.#make(host, signal);
  }

  /** Resolves when nothing is being made. */
  async over(): Promise<void> {
    await this.#making;
  }

  async #make(host: PlaneHost, signal: AbortSignal): Promise<void> {
    try {
      this.#template = await makeTemplate(host, signal);
    } catch (error) {
      host.log.error({ error }, "there is no template of control planes, so that opening one takes longer");
    }
  }
}

/** The factor by which time passes faster for the controllers of a plane that becomes the template. */
const hurry = 10;
/** The pause between looks at such a plane, the number of looks that must find it quiet, and of all looks. */
const [lookMs, quietLooks, looksMax] = [50, 6, 1200];

/**
 * Makes a template for new planes: opens one in memory that nobody can reach, waits until its controllers have done what
 * they do at their start, and takes its objects. `undefined` when objects differ from plane to plane, or it is not ready.
 */
async function makeTemplate(host: PlaneHost, signal: AbortSignal): Promise<PlaneTemplate | undefined> {
  if (host.options.simulate.length > 0) return undefined;
  const { clock } = host;
  const credentials = await newCredentials(host);
  const hidden: PlaneHost = {
    ...host,
    clock: hurried(clock),
    encryption: undefined,
    auditFilters: undefined,
    template: () => undefined,
  };
  const settings: PlaneSettings = {
    name: "template",
    uid: "",
    urls: ["https://template.invalid"],
    issuers: ["https://template.invalid"],
    place: {},
    quotaBytes: () => undefined,
    confirm: () => Promise.resolve(),
  };
  const { plane, assembled, cache } = await openPlane(hidden, settings, credentials);
  try {
    let revision = -1;
    for (let looks = 0, quiet = 0; quiet < quietLooks; looks++) {
      await pause(clock, lookMs, signal);
      if (signal.aborted || looks === looksMax) return undefined;
      const isQuiet = assembled.isCaughtUp() && assembled.ownRequests() === 0 && cache.revision === revision;
      quiet = isQuiet ? quiet + 1 : 0;
      revision = cache.revision;
    }
    return PlaneTemplate.of(cache, templateValues(credentials));
  } finally {
    await plane.end();
  }
}

/** Returns a clock whose timers fire early. */
const hurried = (clock: Clock): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  after: (delayMs, callback) => clock.after(delayMs / hurry, callback),
});
