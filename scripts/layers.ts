/**
 * The layer map: which folder may import which. A folder may name only folders above it, so there are no cycles.
 * `tidy.ts` checks every import; a new edge needs a page in `docs/decisions/`.
 */

/** Folders of `src/` in order; each with the folders it may import besides itself. */
export const layers: Readonly<Record<string, readonly string[]>> = {
  std: [],
  meta: ["std"],
  schema: ["std", "meta"],
  codec: ["std", "meta", "schema"],
  cel: ["std", "meta", "schema"],
  apply: ["std", "meta", "schema"],
  api: ["std", "meta", "schema"],
  storage: ["std"],
  encryption: ["std", "meta", "codec", "storage"],
  client: ["std", "meta", "codec", "api"],
  registry: ["std", "meta", "schema", "codec", "apply", "api", "storage"],
  authn: ["std", "meta", "codec", "api", "client"],
  authz: ["std", "meta", "codec", "api", "client"],
  flowcontrol: ["std", "meta", "api"],
  audit: ["std", "meta", "codec", "api", "client"],
  admission: ["std", "meta", "schema", "cel", "apply", "api", "client", "authz"],
  kinds: ["std", "meta", "schema", "cel", "apply", "api", "registry"],
  extensions: ["std", "meta", "schema", "codec", "cel", "apply", "api", "registry"],
  http: [
    "std",
    "meta",
    "schema",
    "codec",
    "apply",
    "api",
    "storage",
    "client",
    "registry",
    "authn",
    "authz",
    "audit",
    "flowcontrol",
    "admission",
  ],
  publication: ["std", "meta", "schema", "codec", "api", "registry", "http"],
  transport: ["std", "meta", "http"],
  controllers: ["std", "meta", "cel", "api", "client"],
  server: [
    "std",
    "meta",
    "schema",
    "codec",
    "cel",
    "apply",
    "api",
    "storage",
    "encryption",
    "client",
    "registry",
    "authn",
    "authz",
    "flowcontrol",
    "audit",
    "admission",
    "kinds",
    "extensions",
    "http",
    "publication",
    "transport",
    "controllers",
  ],
  commands: ["std", "meta", "codec", "client", "storage", "transport", "server"],
};

/** Folders outside `src/` and what they may import; tests, benches and scripts see everything. */
export const outside: Readonly<Record<string, readonly string[] | "all">> = {
  bin: ["commands", "server", "std"],
  test: "all",
  bench: "all",
  scripts: "all",
};

/** Folders whose subfolders are public: `#api/apps/v1.ts`. Everywhere else a subfolder is private to its folder. */
export const openFolders: readonly string[] = ["api"];

/** Built-in modules that only some folders may import. */
export const guardedModules: Readonly<Record<string, readonly string[]>> = {
  "node:sqlite": ["storage"],
  "node:http": ["transport", "client"],
  "node:https": ["transport", "client"],
  "node:http2": ["transport", "client"],
  "node:async_hooks": [],
};

/** Files and folders of `src/` that may read the machine's clock and random numbers; all others are given them. */
export const mayReadClock: readonly string[] = ["std/clock.ts", "std/random.ts", "server/", "commands/"];

/**
 * Packages that become part of the bundle, and so are not installed with the program. What they need themselves goes
 * with them. All other packages that `src/` imports are `dependencies` and stay outside.
 */
export const bundledPackages: readonly string[] = ["@peculiar/asn1-schema", "@peculiar/asn1-x509", "asn1js"];
