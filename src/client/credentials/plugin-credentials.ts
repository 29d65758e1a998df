/**
 * The credentials that a plugin gives. They are kept until they expire or the server refuses them; one run of the
 * plugin serves all requests that wait. Source: upstream's `client-go/plugin/pkg/client/auth/exec`.
 */
import { isatty } from "node:tty";
import type { ExecCredential } from "#api/clientauthentication/v1.ts";
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Credential, CredentialSource } from "../connection-settings.ts";
import { CredentialsError } from "./credentials-error.ts";
import type { ExecCluster, ExecConfig } from "./exec-config.ts";
import { decodeExecCredential } from "./exec-credential.ts";
import { runPlugin } from "./run-plugin.ts";
import { SharedRun } from "./shared-run.ts";

interface PluginOptions {
  readonly config: ExecConfig;
  readonly cluster: () => MaybePromise<ExecCluster>;
  readonly clock: Clock;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export class PluginCredentials implements CredentialSource {
  readonly #options: PluginOptions;
  readonly #run = new SharedRun((signal) => this.#ask(signal));
  #kept: { readonly credential: Credential; readonly endMs: number } | undefined;
  /** The last certificate, also of a credential that is not kept any more. */
  #certificate: Credential["certificate"];

  constructor(options: PluginOptions) {
    this.#options = options;
  }

  current(signal?: AbortSignal): MaybePromise<Credential> {
    if (this.#kept !== undefined && this.#options.clock.now() < this.#kept.endMs) return this.#kept.credential;
    return this.#run.join(signal);
  }

  rejected(credential: Credential): boolean {
    if (this.#kept?.credential === credential) this.#kept = undefined;
    return true;
  }

  async #ask(signal: AbortSignal): Promise<Credential> {
    const { config } = this.#options;
    try {
      const interactive = isInteractive(config);
      const environment = await this.#environment(interactive);
      const output = await runPlugin({ config, environment, interactive, clock: this.#options.clock, signal });
      const { endMs, certificate, ...answer } = await decodeExecCredential(output, config);
      const last = this.#certificate;
      // Connections that are made with a certificate are kept as long as it is the same object.
      const isSame = last?.cert === certificate?.cert && last?.key === certificate?.key;
      this.#certificate = isSame ? last : certificate;
      const credential = { ...answer, ...(this.#certificate === undefined ? {} : { certificate: this.#certificate }) };
      this.#kept = { credential, endMs };
      return credential;
    } catch (error) {
      const { message } = error as Error;
      throw new CredentialsError(
        `user ${JSON.stringify(config.user)}: credential plugin ${config.command}: ${message}`,
      );
    }
  }

  async #environment(interactive: boolean): Promise<Record<string, string | undefined>> {
    const { config, environment } = this.#options;
    const info: ExecCredential = {
      kind: "ExecCredential",
      apiVersion: config.apiVersion,
      spec: { ...(config.provideClusterInfo ? { cluster: await this.#cluster() } : {}), interactive },
    };
    return { ...environment, ...config.env, [config.infoVariable]: JSON.stringify(info) };
  }

  async #cluster(): Promise<NonNullable<ExecCredential["spec"]["cluster"]>> {
    const { configOf, ...cluster } = await this.#options.cluster();
    return { ...cluster, config: configOf(this.#options.config.domain) };
  }
}

/** Whether the plugin gets the standard input, which must be a terminal. Throws if it needs one and there is none. */
function isInteractive({ interactiveMode }: ExecConfig): boolean {
  if (interactiveMode === "Never") return false;
  if (isatty(0)) return true;
  if (interactiveMode === "IfAvailable") return false;
  throw new Error("it needs a terminal (interactiveMode Always), and standard input is none");
}
