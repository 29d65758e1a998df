/** Command-line flags: Go's syntax, kube-apiserver's names, one clear sentence for each mistake. */
import assert from "node:assert";
import { test } from "node:test";
import { flagGroups } from "#std/flags.ts";
import {
  flagNotes,
  parseServeArguments,
  readConfigFile,
  resolveOptions,
  serveHelp,
  serverFlags,
  type ServerSettings,
} from "./options.ts";
import { controllerName } from "./controllers/names.ts";
import { inertFlags } from "./inert-flags.ts";
import { StartError } from "#std/start-error.ts";

const parse = (...args: string[]): ServerSettings => parseServeArguments(args).settings;

void test("flags take their value after = or as the next argument, booleans need none", () => {
  const cases: readonly [string[], ServerSettings][] = [
    [["--secure-port=7443"], { securePort: 7443 }],
    [["--secure-port", "7443"], { securePort: 7443 }],
    [["-secure-port=0"], { securePort: 0 }],
    [["--anonymous-auth"], { anonymousAuth: true }],
    [["--anonymous-auth=false"], { anonymousAuth: false }],
    [["--anonymous-auth=F"], { anonymousAuth: false }],
    [["--request-timeout=1m30s"], { requestTimeoutMs: 90_000 }],
    [["--history-memory=8Mi"], { historyMemoryBytes: 8 * 2 ** 20 }],
    [["--goaway-chance=0.02"], { goawayChance: 0.02 }],
    [["-v=4"], { verbosity: 4 }],
    [["-v", "4"], { verbosity: 4 }],
    [["-v4"], { verbosity: 4 }],
    [["--v=4"], { verbosity: 4 }],
    [["--tls-san=a,b", "--tls-san", "10.0.0.1"], { tlsSan: ["a", "b", "10.0.0.1"] }],
    [["--tls-cert-file="], { tlsCertFile: undefined } as unknown as ServerSettings],
    [["--storage=memory", "--storage=disk"], { storage: "disk" }],
    [
      ["--runtime-config=a/v1=false,b/v1", "--runtime-config=api/all=true"],
      { runtimeConfig: ["a/v1=false", "b/v1", "api/all=true"] },
    ],
  ];
  for (const [args, settings] of cases) assert.deepStrictEqual({ ...parse(...args) }, settings, args.join(" "));
});

void test("what is wrong is said in one line that names the flag", () => {
  const cases: readonly [string[], string][] = [
    [["--secure-prt=1"], "unknown flag --secure-prt (did you mean --secure-port?)"],
    [["--kubelets=x"], "unknown flag --kubelets"],
    [["-x"], "unknown flag -x"],
    [["--secure-port"], "flag --secure-port needs a value"],
    [["--secure-port=70000"], 'invalid value "70000" for --secure-port: must be a whole number from 0 to 65535'],
    [["--secure-port=1e3"], 'invalid value "1e3" for --secure-port: must be a whole number from 0 to 65535'],
    [["--anonymous-auth=maybe"], 'invalid value "maybe" for --anonymous-auth: must be true or false'],
    [
      ["--request-timeout=60"],
      'invalid value "60" for --request-timeout: must be a duration such as 300ms, 30s or 1h30m',
    ],
    [["--request-timeout=-1s"], 'invalid value "-1s" for --request-timeout: must not be negative'],
    [["--goaway-chance=0.5"], 'invalid value "0.5" for --goaway-chance: must be a number from 0 to 0.02'],
    [["--storage=tape"], 'invalid value "tape" for --storage: must be one of disk, memory'],
    [["--history-memory=1"], 'invalid value "1" for --history-memory: must be at least 1Mi'],
    [["--data-dir="], 'invalid value "" for --data-dir: must not be empty'],
    [["--runtime-config=a/v1=x"], 'invalid value "a/v1=x" for --runtime-config: must be key, key=true or key=false'],
    [["--cors-allowed-origins=("], 'invalid value "(" for --cors-allowed-origins: must be a regular expression'],
    [["--watch-cache-sizes=pods"], 'invalid value "pods" for --watch-cache-sizes: must be resource[.group]#size'],
  ];
  for (const [args, message] of cases) {
    assert.throws(
      () => parse(...args),
      (error) => error instanceof StartError && error.message === message,
      message,
    );
  }
});

void test("arguments that are no flags are kept, and all after --", () => {
  const { rest, help } = parseServeArguments(["a", "--v=1", "b", "-h", "--", "--x"]);
  assert.deepStrictEqual(rest, ["a", "b", "--x"]);
  assert.strictEqual(help, true);
});

void test("no flag has an effect and is called one without effect", () => {
  for (const [key, flag] of Object.entries(inertFlags)) assert.strictEqual(serverFlags[key as never], flag, key);
  const names = Object.values(serverFlags).map(({ name }) => name);
  assert.deepStrictEqual(names.toSorted(), [...new Set(names)].sort());
});

void test("the start line of the recorded scenarios is accepted, with a note for each flag that does nothing yet", () => {
  const settings = parse(
    "--token-auth-file=tokens.csv",
    "--enable-bootstrap-token-auth",
    "--controllers=*,bootstrapsigner,tokencleaner",
    "--feature-gates=VolumeAttributesClass=true,DynamicResourceAllocation=true,RecoverVolumeExpansionFailure=true",
    "--runtime-config=storage.k8s.io/v1beta1=true,resource.k8s.io/v1beta1=true",
    "--authorization-mode=RBAC",
  );
  assert.deepStrictEqual(settings.controllers, ["*", "bootstrapsigner", "tokencleaner"]);
  assert.deepStrictEqual(
    flagNotes(settings).map((note) => note.split(" ")[0]),
    [],
  );
});

void test("controllers are named as kube-controller-manager names them, in today's way or the older one", () => {
  assert.deepStrictEqual(parse("--controllers=-*").controllers, ["-*"]);
  assert.deepStrictEqual(parse("--controllers=*,-namespace,-pvc-protection").controllers, [
    "*",
    "-namespace",
    "-pvc-protection",
  ]);
  for (const name of ["foo", "-foo", "namespaces"]) {
    assert.throws(
      () => parse(`--controllers=*,${name}`),
      /for --controllers: not in the list of known controllers$/,
      name,
    );
  }
  assert.strictEqual(controllerName("pvc-protection"), "persistentvolumeclaim-protection-controller");
  assert.strictEqual(controllerName("namespace-controller"), "namespace-controller");
  assert.strictEqual(controllerName("constructor"), undefined);
});

void test("settings in code are checked as flags are, with an error that names the setting", () => {
  const cases: readonly [object, string][] = [
    [{ securPort: 1 }, 'unknown option "securPort"'],
    [{ storage: "memry" }, 'invalid value "memry" for storage: must be one of disk, memory'],
    [{ storage: null }, "invalid value null for storage: must be one of disk, memory"],
    [{ securePort: -1 }, "invalid value -1 for securePort: must be a whole number from 0 to 65535"],
    [{ securePort: "0" }, 'invalid value "0" for securePort: must be a whole number from 0 to 65535'],
    [{ securePort: 0.5 }, "invalid value 0.5 for securePort: must be a whole number from 0 to 65535"],
    [{ goawayChance: 1 }, "invalid value 1 for goawayChance: must be a number from 0 to 0.02"],
    [{ anonymousAuth: 1 }, "invalid value 1 for anonymousAuth: must be true or false"],
    [{ leaderElect: "true" }, 'invalid value "true" for leaderElect: must be true or false'],
    [{ dataDir: "" }, 'invalid value "" for dataDir: must not be empty'],
    [{ dataDir: 1 }, "invalid value 1 for dataDir: must be a text"],
    [{ tlsCertFile: 1 }, "invalid value 1 for tlsCertFile: must be a text"],
    [{ apiDomain: "k8s" }, 'invalid value "k8s" for apiDomain: must be a DNS name such as platform.io'],
    [{ advertiseAddress: "here" }, 'invalid value "here" for advertiseAddress: must be an IP address'],
    [{ requestTimeoutMs: "30s" }, 'invalid value "30s" for requestTimeoutMs: must be a number of milliseconds'],
    [{ requestTimeoutMs: Infinity }, "invalid value Infinity for requestTimeoutMs: must be a number of milliseconds"],
    [{ requestTimeoutMs: -1 }, "invalid value -1 for requestTimeoutMs: must not be negative"],
    [{ resourceQuotaPeriodMs: 0 }, "invalid value 0 for resourceQuotaPeriodMs: must be greater than 0"],
    [{ historyMemoryBytes: 1 }, "invalid value 1 for historyMemoryBytes: must be at least 1Mi"],
    [{ historyMemoryBytes: "8Mi" }, 'invalid value "8Mi" for historyMemoryBytes: must be a whole number of bytes'],
    [{ tlsSan: "a" }, 'invalid value "a" for tlsSan: must be a list of texts'],
    [{ tlsSan: ["a", 1] }, "invalid value 1 for tlsSan: must be a text"],
    [{ tlsSan: ["a", "/"] }, 'invalid value "/" for tlsSan: must be a host name or an address'],
    [{ enableAdmissionPlugins: ["Typo"] }, 'invalid value "Typo" for enableAdmissionPlugins: no such plugin'],
    [{ controllers: ["foo"] }, 'invalid value "foo" for controllers: not in the list of known controllers'],
    [{ authorizationMode: ["Rbac"] }, 'invalid value "Rbac" for authorizationMode: must be one of AlwaysAllow'],
    [{ runtimeConfig: ["a/v1=x"] }, 'invalid value "a/v1=x" for runtimeConfig: must be key, key=true or key=false'],
    [{ oidcRequiredClaim: ["a"] }, 'invalid value "a" for oidcRequiredClaim: must be claim=value'],
    [{ serviceNodePortRange: "1-2" }, 'invalid value "1-2" for serviceNodePortRange: must be a range of ports'],
    [{ serviceNodePortRange: { first: 1, size: 0 } }, "invalid value { first: 1, size: 0 } for serviceNodePortRange"],
    [{ history: "24h" }, 'invalid value "24h" for history: must have a time ms, a size bytes, or both'],
    [{ history: { ms: 1 } }, "invalid value { ms: 1 } for history: the time must be at least 1m"],
  ];
  for (const [settings, message] of cases) {
    assert.throws(
      () => resolveOptions(settings),
      (error) => error instanceof StartError && error.message.startsWith(message),
      message,
    );
  }
});

void test("settings that are undefined keep their default, and empty texts count as missing", () => {
  const settings: object = { securePort: undefined, tlsCertFile: "", tlsPrivateKeyFile: undefined, tlsSan: ["", "a"] };
  const options = resolveOptions({ securePort: 1 }, settings);
  assert.strictEqual(options.securePort, 1);
  assert.strictEqual(options.tlsCertFile, undefined);
  assert.deepStrictEqual(options.tlsSan, ["a"]);
});

void test("later layers win, the rest keeps its default", () => {
  const options = resolveOptions({ securePort: 1, verbosity: 2 }, { securePort: 3 });
  assert.strictEqual(options.securePort, 3);
  assert.strictEqual(options.verbosity, 2);
  assert.strictEqual(options.bindAddress, "127.0.0.1");
  assert.strictEqual(options.apiDomain, "platform.io");
});

void test("flags that must fit each other are checked together", () => {
  assert.throws(() => resolveOptions({ tlsCertFile: "a" }), /must be given together/);
  for (const apiDomain of ["platform", "Platform.io", "-a.io", "a..io", "a.io."]) {
    assert.throws(() => resolveOptions({ apiDomain }), /must be a DNS name/, apiDomain);
  }
  const manyPlanes = { planes: "planes", processes: 2 };
  assert.throws(() => resolveOptions(manyPlanes), /keep planes in etcd \(--etcd-servers\), or leave out --processes$/);
  const etcdServers = ["http://127.0.0.1:2379"];
  assert.strictEqual(resolveOptions({ ...manyPlanes, etcdServers }).planes, "planes");
});

void test("a configuration file has the flags' names as keys, with lists and maps", async () => {
  const text = `
secure-port: 7443
anonymous-auth: false
request-timeout: 30s
tls-san: [a, b]
feature-gates: {A: true, B: false}
runtime-config:
  storage.k8s.io/v1beta1: true
v: 3
`;
  assert.deepStrictEqual(await readConfigFile("f.yaml", text), {
    securePort: 7443,
    anonymousAuth: false,
    requestTimeoutMs: 30_000,
    tlsSan: ["a", "b"],
    featureGates: ["A=true", "B=false"],
    runtimeConfig: ["storage.k8s.io/v1beta1=true"],
    verbosity: 3,
  });
  assert.deepStrictEqual(await readConfigFile("f.yaml", ""), {});
});

void test("a bad configuration file is named with what is wrong in it", async () => {
  const cases: readonly [string, RegExp][] = [
    ["secure-prt: 1", /^f\.yaml: unknown option "secure-prt" \(did you mean --secure-port\?\)$/],
    ["secure-port: x", /^f\.yaml: invalid value "x" for --secure-port/],
    ["data-dir: [a]", /^f\.yaml: option data-dir takes one value$/],
    ["v: {a: 1}", /^f\.yaml: option v takes one value$/],
    ["- a", /^f\.yaml: must be a map/],
    ["a: [", /^f\.yaml: not YAML: /],
    ["a: 1\na: 2", /^f\.yaml: not YAML: /],
    ["config: other.yaml", /^f\.yaml: a configuration file cannot name another$/],
  ];
  for (const [text, message] of cases) {
    await assert.rejects(readConfigFile("f.yaml", text), (error: Error) => {
      assert.ok(error instanceof StartError);
      assert.match(error.message, message);
      assert.ok(!error.message.includes("\n"));
      return true;
    });
  }
});

void test("help shows every flag once, in kube-apiserver's groups", () => {
  const help = serveHelp(100);
  for (const flag of Object.values(serverFlags)) {
    assert.strictEqual(help.match(new RegExp(`^ {2}(?:-., | {4})--${flag.name}[ \n]`, "gm"))?.length, 1, flag.name);
  }
  const titles = [...help.matchAll(/^(.+) flags:$/gm)].map(([, title]) => title);
  assert.deepStrictEqual(titles, flagGroups);
  for (const line of help.split("\n")) assert.ok(line.length <= 100, line);
});

void test("a deprecated flag is accepted, with a note that says so [VER-26]", () => {
  const notes = flagNotes(parse("--default-watch-cache-size=5"));
  assert.match(notes[0]!, /^--default-watch-cache-size is deprecated: /);
  assert.deepStrictEqual(
    flagNotes(parse("--secure-port=6443")).filter((note) => note.includes("deprecated")),
    [],
  );
  assert.match(
    serveHelp(200).replaceAll(/\s+/g, " "),
    /--default-watch-cache-size [^-]*[^]*?\(deprecated: a later release/,
  );
});

void test("flags of kube-apiserver without a meaning here are taken as it takes them, with a note [VER-26]", () => {
  const given = [
    "--etcd-servers-overrides=/events#http://a --etcd-count-metric-poll-period=5m --storage-backend=etcd3",
    "--profiling=false --vmodule=a=1,b=2",
    "--storage-media-type=application/vnd.kubernetes.protobuf --emulated-version=kube=1.32",
    "--cloud-provider=external --apiserver-count=3 --enable-logs-handler=false",
  ].flatMap((line) => line.split(" "));
  const settings = parse(...given);
  resolveOptions(settings);
  const notes = flagNotes(settings);
  for (const flag of given)
    assert.ok(
      notes.some((note) => note.startsWith(`${flag.split("=")[0]} does nothing`)),
      flag,
    );
  for (const name of ["cloud-provider", "apiserver-count", "enable-logs-handler"]) {
    assert.ok(
      notes.some((note) => note.startsWith(`--${name} is deprecated: `)),
      name,
    );
  }
  for (const [flag, reason] of [
    ["--emulated-version=kube=1.31", /must be kube=1\.32/],
    ["--cloud-provider=aws", /external/],
    ["--etcd-compaction-interval=x", /must be a duration/],
    ["--service-account-signing-endpoint=a", /unknown flag/],
  ] as const) {
    assert.throws(() => resolveOptions(parse(flag)), reason, flag);
  }
});

void test("flags of etcd are checked, and servers that share one elect the leader of their controllers [VER-26]", () => {
  const servers = "--etcd-servers=https://10.0.0.1:2379,https://10.0.0.2:2379";
  const options = resolveOptions(parse(servers, "--etcd-cafile=/ca", "--etcd-certfile=/c", "--etcd-keyfile=/k"));
  assert.deepStrictEqual(options.etcdServers, ["https://10.0.0.1:2379", "https://10.0.0.2:2379"]);
  assert.deepStrictEqual([options.etcdPrefix, options.leaderElect], ["/registry", true]);
  assert.strictEqual(resolveOptions(parse(servers, "--leader-elect=false")).leaderElect, false);
  assert.strictEqual(resolveOptions(parse()).leaderElect, false);
  for (const [flags, reason] of [
    [["--etcd-servers=10.0.0.1:2379"], /must be http:\/\/, https:\/\/ or unix:\/\//],
    [[servers, "--etcd-certfile=/c"], /--etcd-certfile and --etcd-keyfile must be given together/],
    [[servers, "--history=24h"], /--history needs a store in the data folder/],
  ] as const) {
    assert.throws(() => resolveOptions(parse(...flags)), reason, flags.join(" "));
  }
});

void test("--admission-control names the plugins that run, and stands alone [VER-26]", () => {
  const options = resolveOptions(parse("--admission-control=NamespaceLifecycle,LimitRanger"));
  assert.deepStrictEqual(options.enableAdmissionPlugins, ["NamespaceLifecycle", "LimitRanger"]);
  const { disableAdmissionPlugins: disabled } = options;
  assert.ok(disabled.includes("ServiceAccount") && disabled.includes("ResourceQuota"));
  assert.ok(!disabled.includes("LimitRanger"));
  const both = parse("--admission-control=LimitRanger", "--disable-admission-plugins=ServiceAccount");
  assert.throws(() => resolveOptions(both), /are mutually exclusive/);
});
