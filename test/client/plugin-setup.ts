/** Kubeconfigs whose user has a credential plugin, `plugins/plugin.mjs`, and what that plugin was given. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ConnectionSettings } from "#client/connection-settings.ts";
import { loadKubeconfig, settingsOf } from "#client/kubeconfig.ts";
import type { Clock } from "#std/clock.ts";
import { filesIn, kubeconfigOf } from "./temporary-kubeconfig.ts";

export const program = fileURLToPath(new URL("plugins/plugin.mjs", import.meta.url));

export type Version = "v1" | "v1beta1";

/** One run of the plugin: what it was given, or the signal that ended it. */
interface PluginRun {
  readonly pid: number;
  readonly variables: readonly string[];
  readonly info: {
    readonly kind: string;
    readonly apiVersion: string;
    readonly spec: { readonly interactive: boolean; readonly cluster?: Readonly<Record<string, unknown>> };
  };
  readonly args: readonly string[];
  readonly configured?: string;
  readonly path: string;
  readonly terminal: boolean;
  readonly typed?: string;
  readonly ended?: string;
}

interface PluginOptions {
  readonly domain: string;
  readonly version?: Version;
  /** Fields of `exec`, in place of those that a plugin needs; undefined takes one out. */
  readonly exec?: Readonly<Record<string, unknown>>;
  readonly cluster?: object;
  /** Further fields of the user. */
  readonly user?: object;
}

/** A folder with a kubeconfig and with what the plugin reads and writes. */
export class PluginSetup {
  readonly folder: string;
  readonly file: string;
  readonly apiVersion: string;

  constructor({ domain, version = "v1", exec = {}, cluster = {}, user = {} }: PluginOptions) {
    this.apiVersion = `client.authentication.${domain}/${version}`;
    this.folder = filesIn({});
    this.file = join(this.folder, "config");
    const { env = [], ...fields } = exec;
    const whole = {
      command: program,
      apiVersion: this.apiVersion,
      ...(version === "v1" ? { interactiveMode: "IfAvailable" } : {}),
      env: [{ name: "PLUGIN_FOLDER", value: this.folder }, ...(env as unknown[])],
      ...fields,
    };
    writeFileSync(this.file, kubeconfigOf({ cluster, user: { exec: whole, ...user } }));
  }

  /** Sets the status of the credential that the plugin prints from now on, and other fields. */
  answer(status: object | undefined, fields: object = {}): this {
    this.write("answer", JSON.stringify({ kind: "ExecCredential", apiVersion: this.apiVersion, status, ...fields }));
    return this;
  }

  write(name: string, text: string): this {
    writeFileSync(join(this.folder, name), text);
    return this;
  }

  remove(name: string): void {
    rmSync(join(this.folder, name));
  }

  get runs(): readonly PluginRun[] {
    const file = join(this.folder, "runs");
    if (!existsSync(file)) return [];
    return readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as PluginRun);
  }

  async settings(clock?: Clock): Promise<ConnectionSettings> {
    return settingsOf(await loadKubeconfig({ files: this.file }), clock === undefined ? {} : { clock });
  }
}
