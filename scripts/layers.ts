/**
 * The layer map: the folders that a folder may import. A folder may import only folders above it, so that there are no
 * cycles. `tidy.ts` checks every import; a new edge needs a page in `docs/decisions/`.
 */

/** The folders of `src/` in order, each with the folders that it may import besides itself. */
export const layers: Readonly<Record<string, readonly string[]>> = {
  std: [],
  http2: ["std"],
  meta: ["std"],
  schema: ["std", "meta"],
  codec: ["std", "meta", "schema"],
  cel: ["std", "meta", "schema"],
  apply: ["std", "meta", "schema"],
  api: ["std", "meta", "schema"],
  storage: ["std", "http2", "codec"],
  encryption: ["std", "meta", "codec", "storage"],
  client: ["std", "meta", "api"],
  egress: ["std", "meta", "codec", "api"],
  tracing: ["std", "meta", "codec"],
  registry: ["std", "meta", "schema", "codec", "apply", "api", "storage"],
  authn: ["std", "meta", "codec", "api", "egress"],
  authz: ["std", "meta", "codec", "api", "egress"],
  flowcontrol: ["std", "meta", "api"],
  audit: ["std", "meta", "codec", "api", "egress"],
  admission: ["std", "meta", "schema", "cel", "apply", "api", "client", "egress", "authz"],
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
    "egress",
    "registry",
    "authn",
    "authz",
    "audit",
    "flowcontrol",
    "admission",
  ],
  publication: ["std", "meta", "schema", "codec", "api", "registry", "http"],
  transport: ["std", "http2", "meta", "http"],
  controllers: ["std", "meta", "cel", "api", "client"],
  simulation: ["std", "meta", "api", "client"],
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
    "egress",
    "tracing",
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
    "simulation",
  ],
  console: ["std", "meta", "client", "authz"],
  testing: ["std", "storage", "client", "http", "server"],
  commands: ["std", "meta", "schema", "codec", "api", "storage", "client", "authz", "transport", "server", "testing"],
};

/** The folders outside `src/`, and the folders that they may import. Tests, benches and scripts may import all. */
export const outside: Readonly<Record<string, readonly string[] | "all">> = {
  bin: ["commands", "server", "std"],
  test: "all",
  bench: "all",
  scripts: "all",
};

/** The folders whose subfolders are public: `#api/apps/v1.ts`. Other subfolders are private to their folder. */
export const openFolders: readonly string[] = ["api"];

/** Built-in modules that only some folders may import. */
export const guardedModules: Readonly<Record<string, readonly string[]>> = {
  "node:sqlite": ["storage"],
  "node:http": ["transport", "egress"],
  "node:https": ["transport", "egress", "testing"],
  "node:http2": ["egress"],
  "node:async_hooks": [],
};

/**
 * Packages that only some folders may import, with their subfolders. undici is the client's own: a server, which has
 * the rest of `client/`, never loads it. The console's are for browsers.
 */
export const guardedPackages: Readonly<Record<string, readonly string[]>> = {
  undici: ["client/connection"],
  "@codemirror/autocomplete": ["console"],
  "@codemirror/commands": ["console"],
  "@codemirror/lang-yaml": ["console"],
  "@codemirror/language": ["console"],
  "@codemirror/state": ["console"],
  "@codemirror/view": ["console"],
  "@lezer/highlight": ["console"],
  preact: ["console"],
  "@preact/signals": ["console"],
};

/**
 * The files and folders of `src/` that may read the machine's clock and random numbers. The others get both as
 * arguments.
 */
export const mayReadClock: readonly string[] = [
  "std/clock.ts",
  "std/random.ts",
  "server/",
  "console/",
  "testing/",
  "commands/",
];

/** The files of `src/` that are entries of bundles: the packages of the workspace, beside generated ones, and the console. */
export const packageEntries: readonly string[] = [
  "src/client/controllers.ts",
  "src/client/exports.ts",
  "src/console/main.tsx",
];

/**
 * The packages that become part of the bundle, and so are not installed with the program. Packages that they need
 * become part of it too. All other packages that `src/` imports are `dependencies` and stay outside.
 */
export const bundledPackages: readonly string[] = ["@peculiar/asn1-schema", "@peculiar/asn1-x509", "asn1js"];
