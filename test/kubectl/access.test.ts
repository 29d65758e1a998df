/** Identity and access in kubectl: auth, create token, --as, certificate, bindings. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newRequest, signingRequest } from "../certificate-requests.ts";
import { eventually, temporaryFolder } from "../harness.ts";
import { type Kubectl, kubectlSuite, type RunOptions } from "./kubectl.ts";

const rbac = "rbac.authorization.k8s.io/v1";

/** Returns options to run kubectl as another user, with only these credentials. */
function as({ api }: Kubectl, user: Readonly<Record<string, string>>): RunOptions {
  const { url, ca } = api.server;
  const trust =
    ca === ""
      ? { "insecure-skip-tls-verify": true }
      : { "certificate-authority-data": Buffer.from(ca).toString("base64") };
  const file = join(temporaryFolder(), "kubeconfig");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server: url, ...trust } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return { env: { KUBECONFIG: file } };
}

const alice = (kubectl: Kubectl): RunOptions => as(kubectl, { token: "alice-token" });

/** Verbs to write roles and bindings, without `escalate` and `bind`. */
const granterVerbs = "--verb=get,list,create,update,patch";
const granterResources = "--resource=roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io";

/** Returns the minor version of kubectl itself: 27 for 1.27. */
async function minorVersion(kubectl: Kubectl): Promise<number> {
  const text = await kubectl.run(["version", "--client", "-o", "json"]);
  const { clientVersion } = JSON.parse(text) as { clientVersion: { minor: string } };
  return Number.parseInt(clientVersion.minor, 10);
}

interface Self {
  readonly status: {
    readonly userInfo: { readonly username: string; readonly uid?: string; readonly groups?: string[] };
  };
}

const whoAmI = async (kubectl: Kubectl, args: readonly string[] = [], options: RunOptions = {}): Promise<Self> =>
  JSON.parse(await kubectl.run(["auth", "whoami", "-o", "json", ...args], options)) as Self;

/** Whether kubectl has `whoami`: before 1.28 it requests versions that are off by default. */
const hasWhoAmI = async (kubectl: Kubectl): Promise<boolean> => (await minorVersion(kubectl)) >= 28;

kubectlSuite((test) => {
  test("auth can-i answers yes and no, and lists what one may do", async (kubectl) => {
    const user = alice(kubectl);
    assert.equal(await kubectl.run(["auth", "can-i", "create", "configmaps"]), "yes\n");
    const no = await kubectl.try(["auth", "can-i", "create", "configmaps"], user);
    assert.deepEqual([no.code, no.stdout], [1, "no\n"]);
    await kubectl.run(["create", "role", "reader", "--verb=get,list", "--resource=configmaps,pods/log"]);
    await kubectl.run(["create", "role", "one", "--verb=update", "--resource=secrets", "--resource-name=s1"]);
    await kubectl.run(["create", "rolebinding", "reader", "--role=reader", "--user=alice"]);
    await kubectl.run(["create", "rolebinding", "one", "--role=one", "--group=developers"]);
    for (const [question, answer] of [
      [["list", "configmaps"], "yes"],
      [["get", "pods", "--subresource=log"], "yes"],
      [["get", "pods"], "no"],
      [["update", "secrets/s1"], "yes"],
      [["update", "secrets/s2"], "no"],
      [["get", "/healthz"], "yes"],
      [["get", "/logs"], "no"],
      [["list", "configmaps", "--all-namespaces"], "no"],
    ] as const) {
      const { stdout } = await kubectl.try(["auth", "can-i", ...question], user);
      assert.equal(stdout, `${answer}\n`, question.join(" "));
    }
    const list = await kubectl.run(["auth", "can-i", "--list"], user);
    assert.match(list, /^Resources +Non-Resource URLs +Resource Names +Verbs\n/);
    for (const line of [
      /^configmaps +\[\] +\[\] +\[get list\]$/m,
      /^pods\/log +\[\] +\[\] +\[get list\]$/m,
      /^secrets +\[\] +\[s1\] +\[update\]$/m,
      /^selfsubjectaccessreviews\.authorization\.k8s\.io +\[\] +\[\] +\[create\]$/m,
      /^ +\[\/healthz\] +\[\] +\[get\]$/m,
    ]) {
      assert.match(list, line);
    }
    assert.match(await kubectl.run(["auth", "can-i", "--list"]), /^\*\.\* +\[\] +\[\] +\[\*\]$/m);
  });

  test("auth whoami tells name, uid and groups", async (kubectl) => {
    if (!(await hasWhoAmI(kubectl))) {
      await kubectl.fails(["auth", "whoami"], /the selfsubjectreviews API is not enabled in the cluster/);
      return;
    }
    const text = await kubectl.run(["auth", "whoami"], alice(kubectl));
    assert.match(
      text,
      /^ATTRIBUTE +VALUE\nUsername +alice\nUID +alice-uid\nGroups +\[developers system:authenticated\]\n/,
    );
    const { userInfo } = (await whoAmI(kubectl, [], alice(kubectl))).status;
    assert.deepEqual(userInfo, { username: "alice", uid: "alice-uid", groups: ["developers", "system:authenticated"] });
  });

  test("auth reconcile makes, mends and trims roles and bindings, and makes one with another role anew [RBAC-10]", async (kubectl) => {
    const { api, ns } = kubectl;
    const roles = `/apis/${rbac}/namespaces/${ns}`;
    const metadata = { name: "r", namespace: ns };
    const rule = (verbs: string[], resource: string) => ({ apiGroups: [""], resources: [resource], verbs });
    const subject = (name: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind: "User", name });
    const roleRef = (name: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind: "Role", name });
    const list = (rules: object[], users: string[], role = "r") =>
      kubectl.file({
        apiVersion: "v1",
        kind: "List",
        items: [
          { apiVersion: rbac, kind: "Role", metadata, rules },
          { apiVersion: rbac, kind: "RoleBinding", metadata, subjects: users.map(subject), roleRef: roleRef(role) },
        ],
      });
    const first = list([rule(["get"], "configmaps")], ["u1"]);
    const output = await kubectl.run(["auth", "reconcile", "-f", first]);
    assert.match(output, /^role\.rbac\.authorization\.k8s\.io\/r reconciled\n/);
    assert.match(output, /^rolebinding\.rbac\.authorization\.k8s\.io\/r reconciled\n/m);
    await kubectl.run(["auth", "reconcile", "-f", list([rule(["list"], "secrets")], ["u2"])]);
    (await api.get(`${roles}/roles/r`)).expect(200, {
      rules: [rule(["get"], "configmaps"), rule(["list"], "secrets")],
    });
    const before = (await api.get(`${roles}/rolebindings/r`)).expect(200, { "subjects.length": 2 });
    const trimmed = list([rule(["list"], "secrets")], ["u2"], "other");
    await kubectl.run([
      "auth",
      "reconcile",
      "-f",
      trimmed,
      "--remove-extra-permissions=true",
      "--remove-extra-subjects=true",
    ]);
    (await api.get(`${roles}/roles/r`)).expect(200, { rules: [rule(["list"], "secrets")] });
    // Another role needs another binding: the old one is deleted first.
    const after = await api.get(`${roles}/rolebindings/r`);
    after.expect(200, { subjects: [subject("u2")], roleRef: roleRef("other") });
    assert.notEqual(after.string("metadata.uid"), before.string("metadata.uid"));
    const user = alice(kubectl);
    await kubectl.run(["create", "role", "manager", granterVerbs, granterResources]);
    await kubectl.run(["create", "rolebinding", "manager", "--role=manager", "--user=alice"]);
    const more = list([rule(["delete"], "secrets")], []);
    await kubectl.fails(
      ["auth", "reconcile", "-f", more],
      /attempting to grant RBAC permissions not currently held/,
      user,
    );
  });

  test("create token asks for tokens that let the account in", async (kubectl) => {
    const { ns } = kubectl;
    const claims = (token: string): Record<string, unknown> =>
      JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as Record<string, unknown>;
    await kubectl.run(["create", "serviceaccount", "robot"]);
    const token = (await kubectl.run(["create", "token", "robot"])).trim();
    assert.equal(claims(token)["sub"], `system:serviceaccount:${ns}:robot`);
    const asRobot = as(kubectl, { token });
    const user = `system:serviceaccount:${ns}:robot`;
    await kubectl.fails(["get", "configmaps"], new RegExp(`User "${user}" cannot list resource "configmaps"`), asRobot);
    await kubectl.run(["create", "rolebinding", "robot", "--clusterrole=view", `--serviceaccount=${ns}:robot`]);
    assert.match((await kubectl.try(["get", "configmaps"], asRobot)).stderr, /No resources found/);

    await kubectl.run(["create", "secret", "generic", "s1"]);
    const args = ["create", "token", "robot", "--duration=20m", "--audience=a", "--audience=b"];
    const long = claims(await kubectl.run([...args, "--bound-object-kind=Secret", "--bound-object-name=s1"]));
    assert.deepEqual(long["aud"], ["a", "b"]);
    assert.equal(Number(long["exp"]) - Number(long["iat"]), 1200);
    assert.equal((long["kubernetes.io"] as { secret: { name: string } }).secret.name, "s1");
    await kubectl.fails(
      ["create", "token", "robot", "--duration=1m"],
      /TokenRequest.* "" is invalid: spec\.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes/,
    );
    await kubectl.fails(["create", "token", "none"], /serviceaccounts "none" not found/);
    await kubectl.fails(
      ["create", "token", "robot"],
      /cannot create resource "serviceaccounts\/token" in API group ""/,
      asRobot,
    );
    await kubectl.run(["delete", "serviceaccount", "robot"]);
    await kubectl.fails(["get", "configmaps"], /Unauthorized|must be logged in/, asRobot);
  });

  test("--as, --as-group and --as-uid act for another user, with permission [IMP-20]", async (kubectl) => {
    const { ns } = kubectl;
    const user = alice(kubectl);
    const robot = `system:serviceaccount:${ns}:default`;
    await kubectl.fails(
      ["get", "configmaps", "--as=bob"],
      /User "bob" cannot list resource "configmaps" in API group "" in the namespace/,
    );
    await kubectl.fails(
      ["get", "configmaps", "--as=bob"],
      /users "bob" is forbidden: User "alice" cannot impersonate resource "users" in API group "" at the cluster scope/,
      user,
    );
    await kubectl.run(["create", "rolebinding", "viewers", "--clusterrole=view", "--group=viewers"]);
    await kubectl.run(["get", "configmaps", "--as=bob", "--as-group=viewers"]);
    const can = await kubectl.try(["auth", "can-i", "list", "configmaps", "--as=bob", "--as-group=others"]);
    assert.equal(can.stdout, "no\n");
    const role = kubectl.api.unique("impersonator");
    await kubectl.run(["create", "clusterrole", role, "--verb=impersonate", "--resource=users", "--resource-name=bob"]);
    await kubectl.run(["create", "clusterrolebinding", role, `--clusterrole=${role}`, "--user=alice"]);
    try {
      await kubectl.fails(["get", "configmaps", "--as=bob"], /User "bob" cannot list/, user);
      for (const [args, what] of [
        [["--as=carol"], 'users "carol" is forbidden'],
        [["--as=bob", "--as-group=viewers"], 'groups "viewers" is forbidden'],
        [["--as=bob", "--as-group=system:masters"], 'groups "system:masters" is forbidden'],
        [["--as=bob", "--as-uid=u1"], 'uids.authentication.k8s.io "u1" is forbidden'],
        [[`--as=${robot}`], 'serviceaccounts "default" is forbidden'],
      ] as const) {
        await kubectl.fails(
          ["get", "configmaps", ...args],
          new RegExp(`${what}: User "alice" cannot impersonate`),
          user,
        );
      }
    } finally {
      await kubectl.run(["delete", "clusterrolebinding,clusterrole", role]);
    }
    await kubectl.fails(["get", "configmaps", `--as=${robot}`], new RegExp(`User "${robot}" cannot list`));
    await kubectl.fails(
      ["get", "configmaps", "--as-group=viewers"],
      /without impersonating a user|a user to impersonate/,
    );
    if (!(await hasWhoAmI(kubectl))) return;
    const { status } = await whoAmI(kubectl, ["--as=bob", "--as-uid=u1", "--as-group=g1", "--as-group=g2"]);
    assert.deepEqual(status.userInfo, { username: "bob", uid: "u1", groups: ["g1", "g2", "system:authenticated"] });
    assert.deepEqual((await whoAmI(kubectl, [`--as=${robot}`])).status.userInfo.groups, [
      "system:serviceaccounts",
      `system:serviceaccounts:${ns}`,
      "system:authenticated",
    ]);
  });

  test("certificate approve makes a certificate that lets in, deny none", async (kubectl) => {
    const user = kubectl.api.unique("builder");
    const spec = { signerName: "kubernetes.io/kube-apiserver-client", usages: ["digital signature", "client auth"] };
    const { request, key } = await newRequest([{ O: ["builders"] }, { CN: [user] }]);
    const [good, bad] = [kubectl.api.unique("csr"), kubectl.api.unique("csr")];
    for (const name of [good, bad]) {
      await kubectl.run(["create", "-f", kubectl.file(signingRequest(name, { ...spec, request }))]);
    }
    assert.match(await kubectl.run(["get", "csr", good]), / Pending\n/);
    await kubectl.fails(["certificate", "approve", good], /forbidden: User "alice" cannot/, alice(kubectl));
    assert.equal(
      await kubectl.run(["certificate", "approve", good]),
      `certificatesigningrequest.certificates.k8s.io/${good} approved\n`,
    );
    assert.equal(
      await kubectl.run(["certificate", "deny", bad]),
      `certificatesigningrequest.certificates.k8s.io/${bad} denied\n`,
    );
    assert.match(await kubectl.run(["get", "csr", bad]), / Denied\n/);
    const certificate = await eventually(async () => {
      assert.match(await kubectl.run(["get", "csr", good]), / Approved,Issued\n/);
      return kubectl.run(["get", "csr", good, "-o", "jsonpath={.status.certificate}"]);
    });
    const issued = as(kubectl, {
      "client-certificate-data": certificate,
      "client-key-data": Buffer.from(key).toString("base64"),
    });
    await kubectl.fails(["get", "configmaps"], new RegExp(`User "${user}" cannot list resource "configmaps"`), issued);
    await kubectl.run(["create", "rolebinding", "builders", "--clusterrole=edit", "--group=builders"]);
    assert.equal(await kubectl.run(["create", "configmap", "c1"], issued), "configmap/c1 created\n");
    assert.equal(await kubectl.run(["get", "csr", bad, "-o", "jsonpath={.status.certificate}"]), "");
    await kubectl.run(["delete", "csr", good, bad]);
  });

  test("a user who may create roles and bindings grants no permission that he does not hold", async (kubectl) => {
    const { ns } = kubectl;
    const user = alice(kubectl);
    await kubectl.run(["create", "role", "granter", granterVerbs, granterResources]);
    await kubectl.run(["create", "rolebinding", "granter", "--role=granter", "--user=alice"]);
    const refusal = (name: string, kind: string): RegExp =>
      new RegExp(
        `${kind}\\.rbac\\.authorization\\.k8s\\.io "${name}" is forbidden: ` +
          'user "alice" \\(groups=\\["developers" "system:authenticated"\\]\\) is attempting to grant RBAC permissions ' +
          "not currently held:\\n\\{APIGroups:",
      );
    await kubectl.fails(
      ["create", "rolebinding", "grab", "--clusterrole=admin", "--user=alice"],
      refusal("grab", "rolebindings"),
      user,
    );
    await kubectl.fails(
      ["create", "role", "grab", "--verb=get", "--resource=secrets"],
      /roles\.rbac\.authorization\.k8s\.io "grab" is forbidden: user "alice" [^]*not currently held:\n\{APIGroups:\[""\], Resources:\["secrets"\], Verbs:\["get"\]\}/,
      user,
    );
    const role = { apiVersion: rbac, kind: "Role", metadata: { name: "granter", namespace: ns } };
    const wide = kubectl.file({ ...role, rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }] });
    await kubectl.fails(["replace", "-f", wide], refusal("granter", "roles"), user);
    await kubectl.fails(["apply", "--server-side", "--force-conflicts", "-f", wide], refusal("granter", "roles"), user);
    await kubectl.fails(
      ["patch", "role", "granter", "--type=json", "-p", '[{"op":"replace","path":"/rules/0/verbs","value":["*"]}]'],
      refusal("granter", "roles"),
      user,
    );
    await kubectl.fails(
      ["create", "rolebinding", "later", "--role=none", "--user=alice"],
      /rolebindings\.rbac\.authorization\.k8s\.io "none" not found/,
      user,
    );
    // Users may grant rights that they have, and with the verb bind also other rights.
    await kubectl.run(["create", "rolebinding", "same", "--role=granter", "--user=bob"], user);
    await kubectl.run([
      "create",
      "role",
      "binder",
      "--verb=bind",
      "--resource=clusterroles.rbac.authorization.k8s.io",
      "--resource-name=view",
    ]);
    await kubectl.run(["create", "rolebinding", "binder", "--role=binder", "--user=alice"]);
    await kubectl.run(["create", "rolebinding", "seen", "--clusterrole=view", "--user=bob"], user);
    await kubectl.fails(
      ["create", "rolebinding", "changed", "--clusterrole=edit", "--user=bob"],
      refusal("changed", "rolebindings"),
      user,
    );
  });
});
