/**
 * Random lists of kubeconfigs, read by the client library and by every kubectl (`config view --raw --flatten`): both
 * find the same content, or both refuse.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { type Kubeconfig, loadKubeconfig } from "#client/kubeconfig.ts";
import { seededRandom } from "#std/random.ts";
import { base64, filesIn } from "../client/temporary-kubeconfig.ts";
import { findPrograms } from "./programs.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 40);

type Json = Record<string, unknown>;

class Generator {
  readonly #random: () => number;

  constructor(from: number) {
    const random = seededRandom(from);
    this.#random = () => random.next();
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  pick<T>(...values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)]!;
  }

  /** Returns a subset of the fields. */
  some(fields: Json): Json {
    return Object.fromEntries(Object.entries(fields).filter(() => this.chance(0.4)));
  }

  /** Returns the path of a file, or its content. */
  either(field: string, file: string): Json {
    if (this.chance(0.5)) return {};
    return this.chance(0.5) ? { [field]: file } : { [`${field}-data`]: base64(`${file} as data`) };
  }

  extensions(): unknown {
    const extension = this.pick<unknown>({ a: 1, b: [true, null, "x"] }, "text", 12345678901234567890n, 2.5, null);
    return [{ name: this.pick("one", "client.authentication.k8s.io/exec"), extension }];
  }

  cluster(): Json {
    return {
      ...this.some({
        server: this.pick("https://a:1", "https://b:2/path", ""),
        "tls-server-name": "name",
        "insecure-skip-tls-verify": this.chance(0.5),
        "proxy-url": "http://proxy:1",
        "disable-compression": this.chance(0.5),
        extensions: this.extensions(),
        unknown: { anything: [1] },
      }),
      ...this.either("certificate-authority", this.pick("ca.crt", "../shared.crt", "sub/ca.crt")),
    };
  }

  user(): Json {
    return {
      ...this.some({
        token: this.pick("t1", "t2"),
        tokenFile: this.pick("token", "/abs/token"),
        username: "jo",
        password: "pw",
        as: "boss",
        "as-uid": "7",
        "as-groups": ["g", "h"],
        "as-user-extra": { k: ["v", "w"], l: [] },
        "auth-provider": { name: "oidc", config: { a: "b" } },
        exec: {
          command: this.pick("aws", "./plug"),
          apiVersion: "client.authentication.k8s.io/v1",
          ...this.some({
            args: ["-a", "b"],
            env: [{ name: "A", value: "b" }],
            installHint: "install it",
            provideClusterInfo: true,
            interactiveMode: this.pick("Never", "Always"),
          }),
        },
        extensions: this.extensions(),
      }),
      ...this.either("client-certificate", "ca.crt"),
      ...this.either("client-key", this.pick("ca.crt", "../shared.crt")),
    };
  }

  context(): Json {
    return this.some({ cluster: "c1", user: "u1", namespace: this.pick("n1", "n2"), extensions: this.extensions() });
  }

  file(): Json {
    const entries = (kind: string, names: readonly string[], make: () => Json): Json[] =>
      names.filter(() => this.chance(0.5)).map((name) => ({ name, [kind]: this.chance(0.1) ? null : make() }));
    return this.some({
      apiVersion: "v1",
      kind: "Config",
      "current-context": this.pick("", "x1", "x2"),
      preferences: {},
      clusters: entries("cluster", ["c1", "c2", ""], () => this.cluster()),
      users: entries("user", ["u1", "u2"], () => this.user()),
      contexts: entries("context", ["x1", "x2", "x3"], () => this.context()),
    });
  }

  /** Returns the file as text, in one case of five with a mistake somewhere. */
  text(): string {
    const text = JSON.stringify(this.file(), (_, value: unknown) => (typeof value === "bigint" ? `${value}N` : value));
    const whole = text.replace(/"(\d+)N"/g, "$1");
    if (this.chance(0.8)) return whole;
    const mistakes: readonly [RegExp, string][] = [
      [/"(https[^"]*|t1|name|boss)"/, this.pick("7", "yes", "[]", "{}", "null", "~", "1.5", "2020-01-01", "y", "x y")],
      [/(true|false)/, this.pick('"true"', "1", "on", "Off", "null", "tRue")],
      [/-data":"/, '-data":"!'],
      [/\[/, this.pick("[null,", "{", "[7,", "[{},")],
      [/"name":"\w\d"/, this.pick('"name":null', '"name":"x1","name":"x2"', '"name":3', '"Name":"x1"')],
      [/"v1"/, this.pick('"v2"', "1")],
      [/\}$/, this.pick("", '}\n---\n{"a":1}')],
      [/"kind":"Config"/, this.pick('"kind":"Pod"', '"kind":null', '"kind":""')],
    ];
    const [pattern, replacement] = this.pick(...mistakes);
    return whole.replace(pattern, () => replacement);
  }
}

/** Returns the content as `kubectl config view` shows it, without fields that are empty. */
function flatten(kubeconfig: Kubeconfig): unknown {
  const list = (kind: string, entries: ReadonlyMap<string, object>): unknown =>
    [...entries].map(([name, entry]) => {
      const { origin = "", ...shown } = { ...(entry as Json) } as { origin?: string } & Json;
      for (const field of ["certificate-authority", "client-certificate", "client-key"]) {
        const path = shown[field];
        if (typeof path !== "string") continue;
        delete shown[field];
        shown[`${field}-data`] = base64(readFileSync(resolve(dirname(origin), path), "utf8"));
      }
      return { name, [kind]: shown };
    });
  return canonical({
    "current-context": kubeconfig.currentContext,
    clusters: list("cluster", kubeconfig.clusters),
    users: list("user", kubeconfig.users),
    contexts: list("context", kubeconfig.contexts),
  });
}

/** Returns the value without empty parts, with lists of entries in order of their names, and with absolute paths. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) {
    const nameOf = (item: unknown): string => (item as { name?: string } | null)?.name ?? "";
    return value.map(canonical).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0));
  }
  if (typeof value !== "object" || value === null) return value;
  const isEmpty = (part: unknown): boolean =>
    part === "" ||
    part === false ||
    part === undefined ||
    part === null ||
    JSON.stringify(part) === "{}" ||
    JSON.stringify(part) === "[]";
  const parts = Object.entries(JSON.parse(JSON.stringify(value)) as Json).map(([key, part]) => [key, canonical(part)]);
  return Object.fromEntries(parts.filter(([, part]) => !isEmpty(part)));
}

const [newest] = [...findPrograms()].slice(-1);

test(`lists of kubeconfigs are read as ${newest?.[0]} reads them (seed ${seed})`, {
  skip: newest === undefined && "no kubectl on the PATH",
}, async () => {
  for (let run = 0; run < runs; run++) {
    const generator = new Generator(seed + run);
    const names = ["a/config", "b/deep/config", "c"].slice(0, generator.pick(1, 2, 3));
    const texts = Object.fromEntries(names.map((name) => [name, generator.text()]));
    const others = ["a/ca.crt", "a/sub/ca.crt", "shared.crt", "b/deep/ca.crt", "b/deep/sub/ca.crt", "b/shared.crt"];
    const folder = filesIn({ ...texts, ...Object.fromEntries(others.map((name) => [name, `content of ${name}`])) });
    const files = [...names, "missing"].map((name) => join(folder, name));
    const env = { HOME: folder, KUBECONFIG: files.join(delimiter) };
    const args = ["config", "view", "--raw", "--flatten", "-o", "json"];
    const { status, stdout, stderr } = spawnSync(newest![1], args, { env, encoding: "utf8" });
    let mine: unknown;
    try {
      mine = flatten(await loadKubeconfig({ environment: env }));
    } catch (error) {
      assert.notEqual(status, 0, `seed ${seed + run}: only kubectl reads ${JSON.stringify(texts)}: ${String(error)}`);
      continue;
    }
    assert.equal(status, 0, `seed ${seed + run}: only the library reads ${JSON.stringify(texts)}: ${stderr}`);
    const { kind: _, apiVersion: __, preferences: ___, ...shown } = JSON.parse(stdout) as Json;
    assert.deepEqual(mine, canonical(shown), `seed ${seed + run}: ${JSON.stringify(texts)}`);
  }
});
