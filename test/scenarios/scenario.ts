/** Scenarios as data: parses and validates the YAML files of this folder (format: README.md). */
import { load } from "js-yaml";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expectations } from "../expectations.ts";
import type { Fields } from "../view.ts";

export interface RequestStep {
  /** The method and path: `POST /api/v1/namespaces`. */
  readonly do: string;
  /** A user of the token file, `nobody`, or another name, which the administrator impersonates. */
  readonly as?: string;
  /** A bearer token in place of a user. */
  readonly token?: string;
  readonly body?: unknown;
  /** The type of the body: `json`, `merge`, `strategic`, `apply`, or a media type. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  /** Expected fields of the body. */
  readonly has?: Fields;
  /** The texts of all warnings. They are not checked when this is absent. */
  readonly warnings?: readonly string[];
  /** Variables, and the paths in the body of their values. */
  readonly save?: Readonly<Record<string, string>>;
  /** Whether the request is repeated until all expectations hold. */
  readonly eventually?: boolean;
}

interface WatchStep {
  /** The watched path. */
  readonly watch: string;
  readonly as?: string;
}

export interface EventsStep {
  /** The expected fields of the next events of the scenario's watch, one entry for each. */
  readonly events: readonly Fields[];
}

type Step = RequestStep | WatchStep | EventsStep;

export interface Scenario {
  /** A sentence about the behaviour. */
  readonly name: string;
  /** The rows of the requirements that the scenario proves. */
  readonly rows: readonly string[];
  readonly steps: readonly Step[];
}

interface ScenarioFile {
  /** The path without its ending: `access/bootstrap-tokens`. */
  readonly path: string;
  readonly scenarios: readonly Scenario[];
}

const folder = import.meta.dirname;

/** Reads all files of this folder, sorted. Throws with the location of the first mistake. */
export function readScenarios(): ScenarioFile[] {
  return globSync("*/*.yaml", { cwd: folder })
    .map((path) => path.replaceAll("\\", "/"))
    .sort()
    .map((path) => ({
      path: path.replace(/\.yaml$/, ""),
      scenarios: parseScenarios(path, readFileSync(join(folder, path), "utf8")),
    }));
}

/** Parses the scenarios of a text. Throws an error that names `path` and the mistake. */
export function parseScenarios(path: string, text: string): Scenario[] {
  const document: unknown = load(text, { schema: expectations, filename: path });
  const check = new Checker(path);
  const { scenarios } = check.members(document, "", ["shared", "scenarios"]);
  return check.list(scenarios, "scenarios").map((one, index) => {
    const { name, rows, steps } = check.members(one, `scenarios[${index}]`, ["name", "rows", "steps"]);
    const where = check.text(name, `scenarios[${index}].name`);
    return {
      name: where,
      rows: check.list(rows, where).map((row) => check.text(row, where)),
      steps: check.list(steps, where).map((step, at) => check.step(step, `${where}, step ${at + 1}`)),
    };
  });
}

type Members = Readonly<Record<string, unknown>>;

const requestKeys = ["do", "as", "token", "body", "type", "headers", "status", "has", "warnings", "save", "eventually"];

class Checker {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  step(value: unknown, where: string): Step {
    const { do: request, watch, events } = this.members(value, where, [...requestKeys, "watch", "events"]);
    if (events !== undefined) {
      this.members(value, where, ["events"]);
      for (const event of this.list(events, where)) this.members(event, where);
    } else if (watch !== undefined) {
      this.members(value, where, ["watch", "as"]);
      this.text(watch, where);
    } else this.#request(value, this.text(request, `${where}: do`), where);
    return value as Step; // the keys of each kind of step were checked
  }

  #request(value: unknown, request: string, where: string): void {
    const members = this.members(value, where, requestKeys);
    if (!/^[A-Z]+ \//.test(request)) this.#fail(where, `${request} is no method and path`);
    if (typeof members["status"] !== "number") this.#fail(where, "no status");
    for (const key of ["as", "token", "type"])
      if (members[key] !== undefined) this.text(members[key], `${where}: ${key}`);
    for (const key of ["has", "headers", "save"]) if (members[key] !== undefined) this.members(members[key], where);
    if (members["warnings"] !== undefined) this.list(members["warnings"], where);
  }

  /** Returns a mapping. With `known`, it may have only these keys. */
  members(value: unknown, where: string, known?: readonly string[]): Members {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return this.#fail(where, "is no mapping");
    for (const key of Object.keys(value)) if (known?.includes(key) === false) this.#fail(where, `unknown key ${key}`);
    return value as Members; // a mapping of YAML
  }

  list(value: unknown, where: string): readonly unknown[] {
    return Array.isArray(value) ? (value as readonly unknown[]) : this.#fail(where, "is no list");
  }

  text(value: unknown, where: string): string {
    return typeof value === "string" && value !== "" ? value : this.#fail(where, "is no text");
  }

  #fail(where: string, problem: string): never {
    throw new Error(`test/scenarios/${this.#path}: ${where}: ${problem}`);
  }
}
