/**
 * Credential plugins, in each API domain: what they are given, what they may answer, how long it is used. Requests go to
 * an HTTPS server that remembers who asked.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { type FakeAuthority, fakeAuthority, type Issued } from "#authn/fake-authority.ts";
import { CredentialsError } from "#client/credentials.ts";
import { KubeconfigError } from "#client/kubeconfig.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { domains, eventually } from "../harness.ts";
import { PluginSetup, program, type Version } from "./plugin-setup.ts";
import { type Caller, RecordingServer } from "./recording-server.ts";
import { base64, filesIn } from "./temporary-kubeconfig.ts";

let authority: FakeAuthority;
let server: RecordingServer;
let pair: Issued;
let other: Issued;
before(async () => {
  authority = await fakeAuthority();
  server = await RecordingServer.start(authority);
  pair = await authority.issue({ commonName: "jo" });
  other = await authority.issue({ commonName: "jo again" });
});
after(() => server.close());

const versions: readonly Version[] = ["v1", "v1beta1"];
const cluster = (): object => ({ server: server.url, "certificate-authority-data": base64(authority.certificate) });

/** Sends a request with the settings of the setup, over a connection of its own. */
async function callOnce(t: TestContext, setup: PluginSetup): Promise<Caller> {
  const caller = server.connect(t, await setup.settings());
  return caller.call();
}

const failsWith = (promise: Promise<unknown>, text: RegExp): Promise<void> =>
  assert.rejects(promise, (error: Error) => {
    assert.ok(error instanceof CredentialsError || error instanceof KubeconfigError, String(error.stack));
    assert.match(error.message, text);
    assert.doesNotMatch(error.message, /\n/);
    assert.doesNotMatch(inspect(error), /s3cret/);
    return true;
  });

for (const domain of domains) {
  const make = (options: Omit<ConstructorParameters<typeof PluginSetup>[0], "domain"> = {}): PluginSetup =>
    new PluginSetup({ domain, cluster: cluster(), ...options });
  const variable = domain === "k8s.io" ? "KUBERNETES_EXEC_INFO" : "PLATFORM_EXEC_INFO";

  describe(domain, () => {
    test("[AUTHRES-20, AUTHRES-21, AUTHRES-26, APLUG-01] a token that the plugin prints in each version is sent", async (t) => {
      for (const version of versions) {
        const setup = make({ version }).answer({ token: "from-plugin" });
        assert.equal((await callOnce(t, setup)).authorization, "Bearer from-plugin");
        assert.equal(setup.runs.length, 1);
      }
    });

    test("[APLUG-05] the plugin is told how it runs, in the variable of its domain", async (t) => {
      for (const version of versions) {
        const setup = make({ version }).answer({ token: "t" });
        await callOnce(t, setup);
        const [run] = setup.runs;
        assert.deepEqual(run?.variables, [variable]);
        const { apiVersion } = setup;
        assert.deepEqual(run?.info, { kind: "ExecCredential", apiVersion, spec: { interactive: false } });
      }
    });

    test("[AUTHRES-22, AUTHRES-23, AUTHRES-24, AUTHRES-37] with provideClusterInfo it is told the cluster", async (t) => {
      const config = { region: "eu", sizes: [1, { a: null }], number: 2.5 };
      const extensions = [
        { name: `client.authentication.${domain}/exec`, extension: config },
        { name: "another", extension: { no: 1 } },
      ];
      const setup = make({
        exec: { provideClusterInfo: true },
        cluster: { ...cluster(), server: `${server.url}/prefix`, "tls-server-name": "localhost", extensions },
      }).answer({ token: "t" });
      assert.equal((await callOnce(t, setup)).path, "/prefix/version");
      assert.deepEqual(setup.runs[0]?.info.spec.cluster, {
        server: `${server.url}/prefix`,
        "tls-server-name": "localhost",
        "certificate-authority-data": base64(authority.certificate),
        config,
      });
    });

    test("[AUTHRES-23] the authority of a file is told as data", async () => {
      const folder = filesIn({ "ca.crt": authority.certificate });
      const setup = make({
        exec: { provideClusterInfo: true },
        cluster: {
          server: server.url,
          "certificate-authority": join(folder, "ca.crt"),
          "proxy-url": "http://127.0.0.1:9",
        },
      }).answer({ token: "t" });
      await (await setup.settings()).credentials.current();
      assert.deepEqual(setup.runs[0]?.info.spec.cluster, {
        server: server.url,
        "certificate-authority-data": base64(authority.certificate),
        "proxy-url": "http://127.0.0.1:9",
        config: null,
      });
    });

    test("[AUTHRES-37] without provideClusterInfo it is told no cluster", async (t) => {
      const setup = make({ exec: { provideClusterInfo: false } }).answer({ token: "t" });
      await callOnce(t, setup);
      assert.equal(setup.runs[0]?.info.spec.cluster, undefined);
    });

    test("[AUTHRES-27] a certificate that it prints is shown in the handshake, with intermediates", async (t) => {
      const middle = await authority.subordinate("middle");
      const leaf = await middle.issue({ commonName: "jo of the middle" });
      const chain = `${leaf.certificate}\n${middle.certificate}`;
      const setup = make().answer({ clientCertificateData: chain, clientKeyData: leaf.key });
      const { names, isTrusted } = await callOnce(t, setup);
      assert.deepEqual(names.slice(0, 2), ["jo of the middle", "middle"]);
      assert.ok(isTrusted, "the server knows the root only");
    });

    test("[AUTHRES-28] a certificate without its key, or a key without a certificate, is refused", async (t) => {
      const count = server.callers.length;
      for (const status of [{ clientCertificateData: pair.certificate }, { clientKeyData: pair.key }]) {
        for (const token of [{}, { token: "s3cret" }]) {
          const setup = make().answer({ ...status, ...token });
          await failsWith(callOnce(t, setup), /clientCertificateData and clientKeyData must come together/);
        }
      }
      assert.equal(server.callers.length, count, "no request is sent");
    });

    test("[AUTHRES-28] a certificate with the key of another, or something else than PEM, is refused", async (t) => {
      const refused: readonly [object, RegExp][] = [
        [{ clientCertificateData: pair.certificate, clientKeyData: other.key }, /the client key is not that of/],
        [{ clientCertificateData: "s3cret", clientKeyData: pair.key }, /the client certificate is not PEM/],
        [{ clientCertificateData: pair.certificate, clientKeyData: "s3cret" }, /the client key is not PEM/],
      ];
      for (const [status, text] of refused) await failsWith(callOnce(t, make().answer(status)), text);
    });

    test("[AUTHRES-29] an expirationTimestamp that is no time of RFC 3339 is refused", async (t) => {
      for (const expirationTimestamp of ["tomorrow", "2026-01-31", "1769817600", 1769817600, true]) {
        const setup = make().answer({ token: "s3cret", expirationTimestamp });
        await failsWith(callOnce(t, setup), /status\.expirationTimestamp/);
      }
    });

    test("[AUTHRES-30] the command is required", async () => {
      for (const command of [undefined, "", null]) {
        await failsWith(
          make({ exec: { command } }).settings(),
          /config: user "jo": exec\.command: must name the program/,
        );
      }
    });

    test("[AUTHRES-31] a relative command begins at the folder of the kubeconfig", async (t) => {
      const script = `#!/bin/sh\nexec '${process.execPath}' '${program}' "$0"\n`;
      for (const command of ["./plug", "deep/plug", "deep/../plug"]) {
        const setup = make({ exec: { command } }).answer({ token: "beside" });
        mkdirSync(join(setup.folder, "deep"));
        setup.write("plug", script).write("deep/plug", script);
        spawnSync("chmod", ["+x", join(setup.folder, "plug"), join(setup.folder, "deep/plug")]);
        assert.notEqual(process.cwd(), setup.folder);
        assert.equal((await callOnce(t, setup)).authorization, "Bearer beside");
        assert.deepEqual(setup.runs[0]?.args, [join(setup.folder, command)]);
      }
    });

    test("[AUTHRES-32] the apiVersion is required, and must be one of the supported versions", async () => {
      await failsWith(make({ exec: { apiVersion: undefined } }).settings(), /exec\.apiVersion: must be set/);
      for (const version of [`client.authentication.${domain}/v1alpha1`, `example.${domain}/v1`, "v1"]) {
        await failsWith(
          make({ exec: { apiVersion: version } }).settings(),
          /exec\.apiVersion: "\S+" is not supported: use/,
        );
      }
    });

    test("[AUTHRES-33] the printed version must be the configured one", async (t) => {
      const [mine, another] = versions.map((version) => `client.authentication.${domain}/${version}`);
      const elsewhere = `client.authentication.${domain === "k8s.io" ? "platform.io" : "k8s.io"}/v1`;
      for (const apiVersion of [another, elsewhere, "v1"]) {
        const setup = make().answer({ token: "s3cret" }, { apiVersion });
        await failsWith(
          callOnce(t, setup),
          new RegExp(`it is configured for ${mine}, and printed .* in ${apiVersion}$`),
        );
      }
      await failsWith(callOnce(t, make().answer({ token: "s3cret" }, { apiVersion: undefined })), /without a version$/);
    });

    test("[AUTHRES-34] configured variables are added to the environment", async (t) => {
      process.env["FROM_OUTSIDE"] = "outside";
      const env = [
        { name: "CONFIGURED", value: "as configured" },
        { name: variable, value: "{}" },
      ];
      const setup = make({ exec: { env } }).answer({ token: "t" });
      await callOnce(t, setup);
      assert.equal(setup.runs[0]?.configured, "as configured");
      assert.equal(setup.runs[0]?.info.kind, "ExecCredential", "the own variable cannot be configured");
      await failsWith(
        make({ exec: { env: [{ value: "s3cret" }] } }).settings(),
        /exec\.env: every variable must have a name/,
      );
    });

    test("[AUTHRES-35] arguments reach the plugin in their order, as they are", async (t) => {
      const args = ["get-token", "--b", "a", "two words", "$HOME", ""];
      const setup = make({ exec: { args } }).answer({ token: "t" });
      await callOnce(t, setup);
      assert.deepEqual(setup.runs[0]?.args, args);
    });

    test("[AUTHRES-36] the hint of a plugin that is not installed is told", async (t) => {
      for (const command of ["no-such-plugin", "./no-such-plugin"]) {
        const setup = make({ exec: { command, installHint: "Install it with: brew install it\n" } });
        await failsWith(
          callOnce(t, setup),
          /user "jo": credential plugin \S*no-such-plugin: it is not installed: Install it with: brew install it$/,
        );
      }
      await failsWith(callOnce(t, make({ exec: { command: "no-such-plugin" } })), /it is not installed$/);
    });

    test("[AUTHRES-38] interactiveMode is required in v1", async () => {
      await failsWith(
        make({ version: "v1", exec: { interactiveMode: undefined } }).settings(),
        /exec\.interactiveMode: must be set in v1: use Never, IfAvailable, Always$/,
      );
    });

    test("[AUTHRES-39] interactiveMode is IfAvailable in v1beta1 unless it is set", async () => {
      const setup = make({ version: "v1beta1" }).answer({ token: "t" }).write("ask", "");
      assert.match(await onTerminal(setup), /^credential \{"token":"t"\}$/m);
      assert.deepEqual(setup.runs.map(seen), [{ interactive: true, terminal: true, typed: "typed" }]);
    });

    test("[AUTHRES-25, AUTHRES-40] with a terminal, the plugin has it unless the mode is Never", async () => {
      for (const interactiveMode of ["IfAvailable", "Always"]) {
        const setup = make({ exec: { interactiveMode } }).answer({ token: "t" }).write("ask", "");
        assert.match(await onTerminal(setup), /^credential \{"token":"t"\}$/m);
        assert.deepEqual(setup.runs.map(seen), [{ interactive: true, terminal: true, typed: "typed" }]);
      }
      const setup = make({ exec: { interactiveMode: "Never" } })
        .answer({ token: "t" })
        .write("ask", "");
      assert.match(await onTerminal(setup), /^credential \{"token":"t"\}$/m);
      assert.deepEqual(setup.runs.map(seen), [{ interactive: false, terminal: false, typed: "" }]);
    });

    test("[AUTHRES-25, AUTHRES-40] without a terminal it has no standard input, and Always fails", async () => {
      for (const input of ["closed", "pipe"] as const) {
        for (const interactiveMode of ["IfAvailable", "Never"]) {
          const setup = make({ exec: { interactiveMode } }).answer({ token: "t" }).write("ask", "");
          assert.match(await withoutTerminal(setup, input), /^credential \{"token":"t"\}$/m);
          assert.deepEqual(setup.runs.map(seen), [{ interactive: false, terminal: false, typed: "" }]);
        }
        const setup = make({ exec: { interactiveMode: "Always" } }).answer({ token: "t" });
        assert.match(await withoutTerminal(setup, input), /^error .*needs a terminal \(interactiveMode Always\)/m);
        assert.equal(setup.runs.length, 0);
      }
    });

    test("[AUTHRES-40] another interactiveMode is refused", async () => {
      for (const interactiveMode of ["Sometimes", "never"]) {
        for (const version of versions) {
          await failsWith(
            make({ version, exec: { interactiveMode } }).settings(),
            /exec\.interactiveMode: "\w+" is not known: use Never, IfAvailable, Always$/,
          );
        }
      }
    });

    test("[APLUG-02] a credential is used until it expires", async (t) => {
      const clock = new FakeClock();
      const setup = make();
      const until = (ms: number): string => new Date(clock.now() + ms).toISOString();
      const caller = server.connect(t, await setup.settings(clock));
      setup.answer({ token: "first", expirationTimestamp: until(60_000) });
      assert.equal((await caller.call()).authorization, "Bearer first");
      setup.answer({ token: "second", expirationTimestamp: until(120_000) });
      clock.advance(59_999);
      assert.equal((await caller.call()).authorization, "Bearer first");
      assert.equal(setup.runs.length, 1);
      clock.advance(1);
      assert.equal((await caller.call()).authorization, "Bearer second");
      assert.equal(setup.runs.length, 2);
    });

    test("[APLUG-03] without an end it is used until the server answers 401, and then another one is tried once", async (t) => {
      const clock = new FakeClock();
      const setup = make().answer({ token: `old-${domain}` });
      const caller = server.connect(t, await setup.settings(clock));
      await caller.call();
      clock.advance(365 * 86_400_000);
      await caller.call();
      assert.equal(setup.runs.length, 1);
      server.refuse(`Bearer old-${domain}`);
      setup.answer({ token: `new-${domain}` });
      const { authorization, code } = await caller.call();
      assert.deepEqual([authorization, code, setup.runs.length], [`Bearer new-${domain}`, 200, 2]);

      server.refuse(`Bearer new-${domain}`);
      const last = await caller.call();
      assert.deepEqual([last.authorization, last.code, setup.runs.length], [`Bearer new-${domain}`, 401, 3]);
    });

    test("[APLUG-04] another certificate means another connection, and another token does not", async (t) => {
      const setup = make();
      const caller = server.connect(t, await setup.settings());
      const answer = (token: string, { certificate, key }: Issued): unknown =>
        setup.answer({ token, clientCertificateData: certificate, clientKeyData: key });
      answer(`one-${domain}`, pair);
      const first = await caller.call();
      server.refuse(`Bearer one-${domain}`);
      answer(`two-${domain}`, pair);
      const second = await caller.call();
      assert.deepEqual([second.authorization, second.names[0]], [`Bearer two-${domain}`, "jo"]);
      assert.equal(second.connection, first.connection);
      server.refuse(`Bearer two-${domain}`);
      answer(`three-${domain}`, other);
      const third = await caller.call();
      assert.deepEqual([third.authorization, third.names[0]], [`Bearer three-${domain}`, "jo again"]);
      assert.notEqual(third.connection, first.connection);
    });

    test("one run of the plugin serves all requests that wait, also after a 401", async (t) => {
      const setup = make()
        .answer({ token: `shared-${domain}` })
        .write("wait", "");
      const caller = server.connect(t, await setup.settings());
      const calls = Array.from({ length: 50 }, () => caller.call());
      await eventually(async () => assert.equal(setup.runs.length, 1));
      setup.remove("wait");
      for (const { code } of await Promise.all(calls)) assert.equal(code, 200);
      assert.equal(setup.runs.length, 1);
      server.refuse(`Bearer shared-${domain}`);
      setup.answer({ token: `renewed-${domain}` });
      const codes = await Promise.all(Array.from({ length: 50 }, async () => (await caller.call()).code));
      assert.deepEqual(new Set(codes), new Set([200]));
      assert.equal(setup.runs.length, 2);
    });

    test("a plugin ends when nobody waits for it any more", async () => {
      const clock = new FakeClock();
      const setup = make().answer({ token: "t" }).write("wait", "");
      const { credentials } = await setup.settings(clock);
      const [one, two] = [new AbortController(), new AbortController()];
      const waiting = [credentials.current(one.signal), credentials.current(two.signal)];
      await eventually(async () => assert.equal(setup.runs.length, 1));
      one.abort(new Error("the first has left"));
      await assert.rejects(async () => waiting[0], /the first has left/);
      assert.deepEqual(
        setup.runs.map(({ ended }) => ended),
        [undefined],
      );
      two.abort(new Error("the second has left"));
      await assert.rejects(async () => waiting[1], /the second has left/);
      await eventually(async () => assert.equal(setup.runs[1]?.ended, "SIGTERM"));
      setup.remove("wait");
      assert.deepEqual(await credentials.current(), { token: "t" }, "a later request runs it again");
      const gone = AbortSignal.abort(new Error("gone before"));
      assert.deepEqual(await credentials.current(gone), { token: "t" });
      credentials.rejected(await credentials.current());
      await assert.rejects(async () => credentials.current(gone), /gone before/);
    });

    test("a plugin that does not end by itself is killed", async () => {
      const clock = new FakeClock();
      const setup = make().answer({ token: "t" }).write("wait", "").write("stubborn", "");
      const { credentials } = await setup.settings(clock);
      const leaving = new AbortController();
      const waiting = credentials.current(leaving.signal);
      await eventually(async () => assert.equal(setup.runs.length, 1));
      leaving.abort(new Error("left"));
      await assert.rejects(async () => waiting, /left/);
      await eventually(async () => assert.equal(setup.runs[1]?.ended, "SIGTERM"));
      assert.ok(isRunning(setup.runs[0]!.pid));
      clock.advance(5000);
      await eventually(async () => assert.ok(!isRunning(setup.runs[0]!.pid)));
    });

    test("a plugin that prints without end, and does not end by itself, is cut off", async () => {
      const exec = { command: "/bin/sh", args: ["-c", "trap '' TERM; yes s3cret"] };
      const { credentials } = await make({ exec }).settings(new FakeClock());
      await failsWith(Promise.resolve(credentials.current()), /it printed more than 1 MB/);
    });

    test("texts that no program can be given are refused in words that quote nothing of them", async () => {
      const text = "s3cret\0";
      const cases = { command: text, args: ["a", text], env: [{ name: "TOKEN", value: text }] };
      for (const [field, value] of Object.entries(cases)) {
        const message = new RegExp(`exec.${field}: must not contain the character 0$`);
        await failsWith(make({ exec: { [field]: value } }).settings(), message);
      }
    });

    test("an answer without a credential is refused in words that quote nothing of it", async (t) => {
      const answers: readonly [string, RegExp][] = [
        ["", /printed something else than an ExecCredential/],
        ["s3cret", /printed something else/],
        ['["s3cret"]', /printed something else/],
        [`{"kind": "Secret", "apiVersion": "v1", "token": "s3cret"}`, /printed something else/],
        ["{}", /printed a credential without a version/],
      ];
      for (const [answer, text] of answers) await failsWith(callOnce(t, make().write("answer", answer)), text);
      const statuses: readonly [object | undefined, RegExp][] = [
        [undefined, /it printed no status/],
        [{}, /neither a token nor a certificate/],
        [{ token: ["s3cret"] }, /a status\.token that is not text/],
        [{ token: "s3cret and more" }, /the token must be one word of visible ASCII characters/],
        [{ token: "s3cret\r\nx: y" }, /the token must be one word/],
      ];
      for (const [status, text] of statuses) await failsWith(callOnce(t, make().answer(status)), text);
      await failsWith(callOnce(t, make().write("answer", "s3cret ".repeat(200_000))), /it printed more than 1 MB/);
    });

    test("a plugin that fails says why itself, and the error names it and its exit code", async () => {
      const setup = make().answer({ token: "s3cret" }).write("code", "3");
      const { status, stdout, stderr } = spawnSync(process.execPath, [...asker, setup.file], { encoding: "utf8" });
      assert.equal(status, 0);
      assert.match(stderr, /^the plugin says why$/m);
      assert.match(
        stdout,
        /^error user "jo": credential plugin \S+plugin\.mjs: it failed with exit code 3, and says above/,
      );
      assert.doesNotMatch(stdout, /s3cret/);
    });

    test("YAML is understood as well, and a kind may be left out", async (t) => {
      const setup = make().write("answer", `apiVersion: client.authentication.${domain}/v1\nstatus: {token: yaml}\n`);
      assert.equal((await callOnce(t, setup)).authorization, "Bearer yaml");
    });

    test("a token of the user comes before the plugin, and a certificate before its certificate", async (t) => {
      const fixed = make({ user: { token: "fixed" } });
      assert.equal((await callOnce(t, fixed)).authorization, "Bearer fixed");
      assert.equal(fixed.runs.length, 0);
      const user = { "client-certificate-data": base64(pair.certificate), "client-key-data": base64(pair.key) };
      const { certificate, key } = other;
      const both = make({ user }).answer({ token: "plugin", clientCertificateData: certificate, clientKeyData: key });
      const { authorization, names } = await callOnce(t, both);
      assert.deepEqual([authorization, names[0]], ["Bearer plugin", "jo"]);
    });
  });
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

type Run = PluginSetup["runs"][number];
const seen = ({ info, terminal, typed }: Run): unknown => ({ interactive: info.spec.interactive, terminal, typed });

const asker = ["--conditions=source", fileURLToPath(new URL("plugins/ask.ts", import.meta.url))];

/** Runs a program that asks the plugin, on a terminal on which somebody types. Resolves with what the terminal shows. */
async function onTerminal(setup: PluginSetup): Promise<string> {
  const command = [process.execPath, ...asker, setup.file];
  // Linux's program takes a command line, that of BSD and macOS takes its words.
  const quoted = command.map((part) => `'${part}'`).join(" ");
  const args = process.platform === "linux" ? ["-qec", quoted, "/dev/null"] : ["-q", "/dev/null", ...command];
  const child = spawn("script", args, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.write("typed\n");
  return endOf(child);
}

async function withoutTerminal(setup: PluginSetup, input: "closed" | "pipe"): Promise<string> {
  const child = spawn(process.execPath, [...asker, setup.file], {
    stdio: [input === "closed" ? "ignore" : "pipe", "pipe", "inherit"],
  });
  child.stdin?.write("typed\n");
  return endOf(child);
}

async function endOf(child: ReturnType<typeof spawn>): Promise<string> {
  let shown = "";
  child.stdout?.on("data", (piece: Buffer) => {
    shown += piece.toString();
  });
  await new Promise((resolve, reject) => child.once("close", resolve).once("error", reject));
  return shown.replaceAll("\r", "");
}
