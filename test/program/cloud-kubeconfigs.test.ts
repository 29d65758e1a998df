/**
 * Commands with the kubeconfigs that the tools of three large clouds write. Their credential plugins are programs of the
 * same names that print a token of the test's server.
 */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { temporaryFolder } from "../harness.ts";
import { type Ended, runProgram, type Serving, serveProgram } from "./program.ts";

let folder: string;
let serving: Serving;
let adminToken: string;
let authority: string;

before(async () => {
  folder = temporaryFolder();
  serving = await serveProgram(folder, "--data-dir=data", "--storage=memory", "--api-domain=k8s.io");
  adminToken = readFileSync(join(folder, "data/pki/admin.token"), "utf8").trim();
  authority = readFileSync(join(folder, "data/pki/ca.crt")).toString("base64");
  mkdirSync(join(folder, "bin"));
});
after(async () => {
  serving.child.kill();
  await serving.ended;
});

const run = (args: readonly string[], variables: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  // The machine may have the real programs: they are not found.
  runProgram(args, folder, { PATH: join(folder, "bin"), ...variables });

/** Makes a program that prints a credential if it gets these arguments, and fails otherwise. */
function install(name: string, args: readonly string[], status: object): void {
  const credential = { kind: "ExecCredential", apiVersion: "client.authentication.k8s.io/v1beta1", status };
  const file = join(folder, "bin", name);
  writeFileSync(file, `#!/bin/sh\n[ "$*" = '${args.join(" ")}' ] || exit 9\necho '${JSON.stringify(credential)}'\n`);
  chmodSync(file, 0o700);
}

/** Writes a kubeconfig as such tools do, with two contexts, of which the second is the current one. */
function write(name: string, user: string, exec: string): string {
  const file = join(folder, name);
  writeFileSync(
    file,
    `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${authority}
    server: ${serving.url}
  name: ${user}
contexts:
- context:
    cluster: ${user}
    user: nobody
  name: other
- context:
    cluster: ${user}
    user: ${user}
  name: ${user}
current-context: ${user}
kind: Config
preferences: {}
users:
- name: nobody
  user:
    token: not-a-token
- name: ${user}
  user:
    exec:
${exec}`,
  );
  return file;
}

interface Cloud {
  readonly plugin: string;
  readonly args: readonly string[];
  readonly user: string;
  readonly exec: string;
}

const clouds: readonly Cloud[] = [
  {
    plugin: "aws",
    args: ["--region", "eu-west-1", "eks", "get-token", "--cluster-name", "shop", "--output", "json"],
    user: "arn:aws:eks:eu-west-1:123456789012:cluster/shop",
    exec: `      apiVersion: client.authentication.k8s.io/v1beta1
      args:
      - --region
      - eu-west-1
      - eks
      - get-token
      - --cluster-name
      - shop
      - --output
      - json
      command: aws
      env:
      - name: AWS_PROFILE
        value: shop
`,
  },
  {
    plugin: "gke-gcloud-auth-plugin",
    args: [],
    user: "gke_project_europe-west1_shop",
    exec: `      apiVersion: client.authentication.k8s.io/v1beta1
      command: gke-gcloud-auth-plugin
      installHint: Install gke-gcloud-auth-plugin for use with kubectl by following
        https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl#install_plugin
      provideClusterInfo: true
`,
  },
  {
    plugin: "kubelogin",
    args: ["get-token", "--environment", "AzurePublicCloud", "--login", "devicecode"],
    user: "clusterUser_group_shop",
    exec: `      apiVersion: client.authentication.k8s.io/v1beta1
      args:
      - get-token
      - --environment
      - AzurePublicCloud
      - --login
      - devicecode
      command: kubelogin
      env: null
      provideClusterInfo: false
`,
  },
];

for (const { plugin, args, user, exec } of clouds) {
  test(`the kubeconfig with the plugin ${plugin} exports a cluster`, async () => {
    const file = write(`${plugin}.kubeconfig`, user, exec);
    const missing = await run(["export", "namespaces", `--kubeconfig=${file}`]);
    assert.equal(missing.code, 1);
    assert.match(
      missing.stderr,
      new RegExp(`^binnacle: user "${user}": credential plugin ${plugin}: it is not installed`),
    );
    install(plugin, args, { token: adminToken, expirationTimestamp: "2099-01-01T00:00:00Z" });
    for (const asked of [{ flags: [`--kubeconfig=${file}`] }, { flags: [], variables: { KUBECONFIG: file } }]) {
      const { code, stdout, stderr } = await run(["export", "namespaces", ...asked.flags], asked.variables);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^ {2}name: kube-system$/m);
    }
  });
}

test("--context chooses another context, and --data-dir comes before the variable", async () => {
  const [{ user, exec }] = clouds as [Cloud];
  const file = write("two.kubeconfig", user, exec);
  const other = await run(["export", `--kubeconfig=${file}`, "--context=other"]);
  assert.equal(other.code, 1);
  assert.match(other.stderr, /Unauthorized/);
  const unknown = await run(["export", "--context=nowhere"], { KUBECONFIG: file });
  assert.match(unknown.stderr, /^binnacle: \S+two\.kubeconfig: no context "nowhere": it has other, arn:aws:eks:/);
  const named = await run(["token", "create", "none", "--data-dir=data"], { KUBECONFIG: file });
  assert.match(named.stderr, /^binnacle: serviceaccounts "none" not found \(404 from https:/);
  const gone = await run(["token", "create"], { KUBECONFIG: join(folder, "gone") });
  assert.match(gone.stderr, /gone does not exist/);
});
