/** `binnacle token` and `binnacle kubeconfig`: access with their output, and refusals. */
import assert from "node:assert";
import { X509Certificate } from "node:crypto";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import https from "node:https";
import { join } from "node:path";
import { connect } from "node:tls";
import { describe, test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { Client } from "../client.ts";
import { type Domain, domains, endpointOf, eventually, renamer, temporaryFolder } from "../harness.ts";
import { type Ended, runProgram, serveProgram } from "./program.ts";

interface Config {
  readonly "current-context": string;
  readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[];
  readonly contexts: readonly { readonly context: Readonly<Record<string, string>> }[];
  readonly users: readonly { readonly name: string; readonly user: Readonly<Record<string, string>> }[];
}

const selfReviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };

const decodeBase64 = (text: string | undefined): string => Buffer.from(text ?? "", "base64").toString();

/** Makes a client that has the content of a kubeconfig and nothing else. */
function clientOf(config: Config, domain: Domain): { client: Client; token: string | undefined; close: () => void } {
  const [{ cluster } = assert.fail()] = config.clusters;
  const [{ user } = assert.fail()] = config.users;
  const cert = decodeBase64(user["client-certificate-data"]);
  const key = decodeBase64(user["client-key-data"]);
  const agent = new https.Agent({
    ca: decodeBase64(cluster["certificate-authority-data"]),
    ...(cert === "" ? {} : { cert, key }),
  });
  const client = new Client(endpointOf(cluster["server"]!, agent, renamer(domain)));
  return { client, token: user["token"], close: () => agent.destroy() };
}

/** Returns the user of a kubeconfig, as the server reports it. */
async function whoIs(text: string, domain: Domain) {
  const { client, token, close } = clientOf(JSON.parse(text) as Config, domain);
  try {
    return (await client.post(selfReviews, review, { as: token ?? "nobody" })).expect(201);
  } finally {
    close();
  }
}

/** Returns the output of a run that must succeed. */
async function readPrinted(run: Promise<Ended>): Promise<string> {
  const { code, stdout, stderr } = await run;
  assert.equal(code, 0, stderr);
  assert.equal(stderr, "");
  return stdout;
}

/** Checks that a run fails with one line. */
async function fails(run: Promise<Ended>, pattern: RegExp): Promise<void> {
  const { code, stdout, stderr } = await run;
  assert.match(stderr, pattern);
  assert.match(stderr, /^binnacle: [^\n]+\n$/);
  assert.equal(code, 1);
  assert.equal(stdout, "");
}

const payload = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as Record<string, unknown>;

for (const domain of domains) {
  void describe(domain, {
    skip: process.env["TEST_SERVER"] === undefined ? false : "starts a server of its own",
  }, () => {
    void test("tokens and kubeconfigs of the program authenticate the user that they name", async () => {
      const folder = temporaryFolder();
      const run = (...args: string[]): Promise<Ended> => runProgram(args, folder);
      const data = "--data-dir=data";
      const { child, ended, kubeconfig } = await serveProgram(folder, data, `--api-domain=${domain}`);
      try {
        // The controllers create the account shortly after its namespace.
        const first = await eventually(() => readPrinted(run("token", "create", data)));
        assert.match(first, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
        const { sub, iat, exp } = payload(first);
        assert.equal(sub, "system:serviceaccount:default:default");
        assert.equal(Number(exp) - Number(iat), 3600);

        const system = renamer(domain)("kube-system");
        const answer = JSON.parse(
          await eventually(() =>
            readPrinted(
              run(
                ...`token create default ${data} -n ${system} --duration=20m --audience=a,b --audience c -o json`.split(
                  " ",
                ),
              ),
            ),
          ),
        ) as { kind: string; apiVersion: string; status: { token: string } };
        assert.equal(answer.kind, "TokenRequest");
        assert.equal(answer.apiVersion, renamer(domain)("authentication.k8s.io/v1"));
        const claims = payload(answer.status.token);
        assert.deepEqual(claims["aud"], ["a", "b", "c"]);
        assert.equal(Number(claims["exp"]) - Number(claims["iat"]), 1200);

        const { client: admin, close } = clientOf(readConfig(kubeconfig), domain);
        try {
          const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s1" } };
          const { uid } = (await admin.post("/api/v1/namespaces/default/secrets", secret, { as: "nobody" }))
            .expect(201)
            .at("metadata") as { uid: string };
          const bound = await readPrinted(
            run("token", "create", data, "--bound-object-kind=Secret", "--bound-object-name=s1"),
          );
          const ref = payload(bound)[renamer(domain)("kubernetes.io")];
          assert.deepEqual((ref as { secret: unknown }).secret, { name: "s1", uid });
          await fails(
            run(
              ...`token create ${data} --bound-object-kind=Secret --bound-object-name=s1 --bound-object-uid=other`.split(
                " ",
              ),
            ),
            /UID.* \(409 from https:/i,
          );
        } finally {
          close();
        }

        const alice = await readPrinted(
          run("kubeconfig", data, "--user=alice", "--group=dev", "--group", "ops", "-o", "json"),
        );
        (await whoIs(alice, domain)).has({
          "status.userInfo.username": "alice",
          "status.userInfo.groups": ["dev", "ops", "system:authenticated"],
        });
        const odd = 'o\u2019neill: "x" # y';
        const out = await readPrinted(run("kubeconfig", data, `--user=${odd}`, "--duration=12h", "--out=o.kubeconfig"));
        assert.match(out, /^kubeconfig of .* written to o\.kubeconfig, good until \d{4}-.*Z\n$/);
        assert.equal(statSync(join(folder, "o.kubeconfig")).mode & 0o777, 0o600);
        const config = readConfig(join(folder, "o.kubeconfig"));
        (await whoIs(JSON.stringify(config), domain)).has({ "status.userInfo.username": odd });
        const shown = new X509Certificate(decodeBase64(config.users[0]!.user["client-certificate-data"]));
        const hours = (shown.validToDate.getTime() - Date.now()) / 3_600_000;
        assert.ok(hours > 11.9 && hours <= 12, String(hours));
        assert.equal(shown.ca, false);
        await fails(run("kubeconfig", data, "--user=alice", "--out=o.kubeconfig"), /o\.kubeconfig exists already/);

        const robot = await readPrinted(run("kubeconfig", data, "--serviceaccount=default/default", "-o=json"));
        (await whoIs(robot, domain)).has({
          "status.userInfo.username": "system:serviceaccount:default:default",
        });
        assert.equal((JSON.parse(robot) as Config).contexts[0]!.context["namespace"], "default");
        // The command uses the kubeconfig of another user, and gets only the rights of that user.
        writeFileSync(join(folder, "robot.kubeconfig"), robot);
        await fails(
          run("token", "create", "--kubeconfig=robot.kubeconfig"),
          /^binnacle: serviceaccounts "default" is forbidden: User "system:serviceaccount:default:default" cannot create/,
        );
        const byFile = await readPrinted(
          run("kubeconfig", `--kubeconfig=${kubeconfig}`, "--serviceaccount=default/default"),
        );
        assert.match(byFile, /^apiVersion: v1\n/);

        await fails(
          run("token", "create", "none", data),
          /^binnacle: serviceaccounts "none" not found \(404 from https:/,
        );
        await fails(run("token", "create", "../x", data), /is no name of an object/);
        await fails(run("token", "create", "-n", "..", data), /is no name of an object/);
        await fails(run("token", "create", data, "--duration=1m"), /may not specify a duration less than 10 minutes/);
        const elsewhere = readFileSync(kubeconfig, "utf8").replace(/server: .*/, "server: http://127.0.0.1:1");
        writeFileSync(join(folder, "plain.kubeconfig"), elsewhere);
        const { certificate } = await fakeAuthority("another");
        const authority = Buffer.from(certificate).toString("base64");
        const distrusting = readFileSync(kubeconfig, "utf8").replace(
          /(certificate-authority-data: ).*/,
          `$1${authority}`,
        );
        writeFileSync(join(folder, "other.kubeconfig"), distrusting);
        await fails(
          run("token", "create", "--kubeconfig=other.kubeconfig"),
          /is signed by an authority that is not trusted/,
        );
        await fails(run("token", "create", "--kubeconfig=plain.kubeconfig"), /is no https URL/);
        await fails(
          run("token", "create", data, "--server=https://me:x@127.0.0.1"),
          /URL of --server must not contain/,
        );
      } finally {
        child.kill();
        await ended;
      }
      await fails(run("token", "create", data), /nothing listens at https:.*ECONNREFUSED/);
      await fails(run("kubeconfig", data, "--serviceaccount=default/default"), /nothing listens at/);
      // A kubeconfig for a user needs no running server.
      assert.match(
        await readPrinted(run("kubeconfig", data, "--user=bob", "--server=https://x.test:6443")),
        /server: https:\/\/x\.test:6443\n/,
      );
      rmSync(join(folder, "data/pki/ca.key"));
      await fails(run("kubeconfig", data, "--user=bob"), /no authority in data: name the server's folder/);
    });
  });
}

/** Parses a kubeconfig of the program, which has each value on its own line. */
function readConfig(file: string): Config {
  const text = readFileSync(file, "utf8");
  const value = (name: string): Record<string, string> => {
    const [, found] = new RegExp(`^ *${name}: (.*)$`, "m").exec(text) ?? [];
    return found === undefined ? {} : { [name]: found };
  };
  return {
    "current-context": "",
    clusters: [{ cluster: { ...value("server"), ...value("certificate-authority-data") } }],
    contexts: [],
    users: [
      { name: "", user: { ...value("client-certificate-data"), ...value("client-key-data"), ...value("token") } },
    ],
  };
}

void test("a kubeconfig trusts a given certificate by its chain and its name", async () => {
  const folder = temporaryFolder();
  const middle = await (await fakeAuthority("root")).subordinate("middle");
  const { certificate, key } = await middle.issue({ usage: "server", hosts: ["api.example.com"] });
  writeFileSync(join(folder, "tls.crt"), certificate + middle.certificate);
  writeFileSync(join(folder, "tls.key"), key);
  const run = (...args: string[]): Promise<Ended> => runProgram([...args, "--data-dir=data"], folder);
  const given = ["--tls-cert-file=tls.crt", "--tls-private-key-file=tls.key"];
  const { child, ended, kubeconfig } = await serveProgram(folder, "--data-dir=data", ...given);
  try {
    const trusts = (text: string): void => {
      assert.match(text, /tls-server-name: api\.example\.com\n/);
      const [, ca] = /certificate-authority-data: (.*)/.exec(text)!;
      assert.equal(new X509Certificate(decodeBase64(ca)).subject, "CN=middle");
    };
    trusts(readFileSync(kubeconfig, "utf8"));
    trusts(await readPrinted(run("kubeconfig", "--user=alice")));
    trusts(await eventually(() => readPrinted(run("kubeconfig", "--serviceaccount=default/default"))));
    // The commands authenticate like other clients.
    assert.match(await readPrinted(run("backup", "kept.backup")), /^backup of revision \d+ written to /);
  } finally {
    child.kill();
    await ended;
  }
});

/** Resolves with the common name of the certificate that a server shows to a client that asks for a name. */
function shownTo(url: string, servername: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), servername, rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

void test("--tls-sni-cert-key shows certificates by the name that the client asks for", async () => {
  const folder = temporaryFolder();
  const authority = await fakeAuthority();
  for (const [file, commonName, hosts] of [
    ["own", "own", ["one.example.com", "*.own.example.com"]],
    ["given", "given", ["unused.example.com"]],
    ["last", "last", ["two.example.com"]],
  ] as const) {
    const { certificate, key } = await authority.issue({ usage: "server", commonName, hosts });
    writeFileSync(join(folder, `${file}.crt`), certificate);
    writeFileSync(join(folder, `${file}.key`), key);
  }
  const { child, ended, kubeconfig } = await serveProgram(
    folder,
    "--data-dir=data",
    "--tls-sni-cert-key=own.crt,own.key",
    "--tls-sni-cert-key=given.crt,given.key:Two.example.com,*.given.example.com,one.example.com",
    "--tls-sni-cert-key=last.crt,last.key:two.example.com,three.example.com",
  );
  try {
    const url = /server: (.*)/.exec(readFileSync(kubeconfig, "utf8"))![1]!;
    const usual = await shownTo(url, "localhost");
    for (const [name, shown] of [
      ["ONE.example.com", "given"],
      ["a.own.example.com", "own"],
      ["a.given.example.com", "given"],
      ["two.example.com", "given"],
      ["three.example.com", "last"],
      ["unused.example.com", "given"],
      ["a.b.given.example.com", usual],
      ["given.example.com", usual],
    ] as const) {
      assert.equal(await shownTo(url, name), shown, name);
    }
    // Clients with certificates are known whatever name they ask for.
    const agent = new https.Agent({
      cert: readFileSync(join(folder, "data/pki/admin.crt")),
      key: readFileSync(join(folder, "data/pki/admin.key")),
      servername: "a.own.example.com",
      rejectUnauthorized: false,
    });
    const client = new Client(endpointOf(url, agent, renamer(domains[0]!)));
    const answer = await client.post("/apis/authentication.platform.io/v1/selfsubjectreviews", {
      apiVersion: "authentication.platform.io/v1",
      kind: "SelfSubjectReview",
    });
    agent.destroy();
    assert.match(answer.expect(201).text, /system:masters/);
  } finally {
    child.kill();
    await ended;
  }
  for (const [value, message] of [
    ["own.crt", /--tls-sni-cert-key.* must name a certificate file and its key file/],
    ["own.crt,own.key:", /--tls-sni-cert-key.* must have names behind the colon/],
    ["own.crt,given.key", /own\.crt.*given\.key|given\.key.*own\.crt/],
    ["none.crt,own.key", /none\.crt/],
  ] as const) {
    await fails(runProgram(["serve", "--data-dir=other", `--tls-sni-cert-key=${value}`], folder), message);
  }
});

void test("help of both commands, and what is wrong with arguments, in one line", async () => {
  const folder = temporaryFolder();
  for (const name of ["token", "kubeconfig"]) {
    const help = await readPrinted(runProgram([name, "--help"], folder));
    assert.match(help, new RegExp(`Usage: binnacle ${name}`));
    for (const line of help.split("\n")) assert.ok(line.length <= 120, line);
  }
  await fails(runProgram(["kubeconfig"], folder), /say for whom: --user NAME or --serviceaccount NAMESPACE\/NAME/);
});
