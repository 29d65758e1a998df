/** The parts of a server that its planes use. */
import type { compileRule } from "#authz/rules.ts";
import type { ServiceAddress } from "#egress/service-address.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import type { Random } from "#std/random.ts";
import type { Tracer } from "#std/tracer.ts";
import type { SharedLogThread, StorageFaults } from "#storage/sqlite.ts";
import type { AssembleConfig, Plans } from "../assemble-config.ts";
import type { Egress } from "../egress/ways.ts";
import type { EncryptionPlan } from "../encryption/encryption.ts";
import type { ServerOptions } from "../options.ts";
import type { PlaneTurns } from "./plane-turns.ts";
import type { PlaneTemplate } from "./plane-template.ts";

export interface PlaneHost {
  readonly options: ServerOptions;
  readonly domain: ApiDomain;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly egress: Egress;
  readonly largeBytes: number;
  readonly connectionClock: Clock;
  readonly plans: Plans;
  readonly encryption: EncryptionPlan | undefined;
  readonly auditFilters: AssembleConfig["auditFilters"];
  readonly tracer: Tracer | undefined;
  /** Prepares the rules of roles, which planes share as far as they are the same. */
  readonly compileRule: typeof compileRule;
  /** Returns the objects of a new plane; `undefined` while they are not known. */
  template(): PlaneTemplate | undefined;
  /** The turns of planes on the event loop. */
  readonly turns: PlaneTurns;
  /** The thread that owns the logs of all planes. */
  readonly logThread: SharedLogThread;
  readonly storageFaults?: StorageFaults | undefined;
  /** The document about the version of the program. */
  readonly version: Readonly<Record<string, string>>;
  /** The port at which clients reach the server. */
  readonly port: number;
  readonly route?: ((address: ServiceAddress) => ServiceAddress) | undefined;
}
