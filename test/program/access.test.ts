/** `binnacle auth`, `token create` and `--as`, on a server of each API domain. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { newRequest } from "../certificate-requests.ts";
import { domains, eventually, renamer, temporaryFolder } from "../harness.ts";
import { type Ended, runProgram, type Serving, serveProgram } from "./program.ts";

for (const domain of domains) {
  void describe(domain, () => {
    const rename = renamer(domain);
    const rbac = rename("rbac.authorization.k8s.io");
    let folder: string;
    let serving: Serving;

    before(async () => {
      folder = temporaryFolder();
      serving = await serveProgram(folder, "--data-dir=data", "--storage=memory", `--api-domain=${domain}`);
    });
    after(async () => {
      serving.child.kill();
      await serving.ended;
    });

    const run = (line: string): Promise<Ended> => runProgram([...line.split(" "), "--data-dir=data"], folder);

    /** Runs a command that must succeed, and returns its output. */
    async function out(line: string): Promise<string> {
      const { code, stdout, stderr } = await run(line);
      assert.equal(code, 0, `${line}: ${stderr}`);
      return stdout;
    }

    async function fails(line: string, pattern: RegExp, expected = 1): Promise<void> {
      const { code, stderr } = await run(line);
      assert.match(stderr, pattern);
      assert.equal(code, expected);
    }

    /** Returns the first lines of two words of an answer of can-i. */
    const answer = async (line: string): Promise<[string, number | null]> => {
      const { stdout, code } = await run(`auth can-i ${line}`);
      return [stdout.trim(), code];
    };

    /** Writes a file of objects in JSON, and returns its name. */
    function file(name: string, ...objects: readonly object[]): string {
      writeFileSync(join(folder, name), objects.map((object) => JSON.stringify(object)).join("\n"));
      return name;
    }

    const metadata = (name: string, namespace: string): object => ({ name, namespace });
    const rule = (verbs: string[], resource: string): object => ({ apiGroups: [""], resources: [resource], verbs });
    const user = (name: string): object => ({ apiGroup: rbac, kind: "User", name });
    const role = (namespace: string, name: string, ...rules: object[]): object => ({
      apiVersion: `${rbac}/v1`,
      kind: "Role",
      metadata: metadata(name, namespace),
      rules,
    });
    const binding = (namespace: string, name: string, to: string, ...users: string[]): object => ({
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata: metadata(name, namespace),
      roleRef: { apiGroup: rbac, kind: "Role", name: to },
      subjects: users.map(user),
    });

    interface Written {
      readonly items: readonly {
        readonly kind: string;
        readonly metadata: { readonly uid: string; readonly name: string };
        readonly rules?: readonly object[];
        readonly roleRef?: { readonly name: string };
        readonly subjects?: readonly object[];
      }[];
    }

    const reconcile = async (flags: string): Promise<Written["items"]> =>
      (JSON.parse(await out(`auth reconcile ${flags} -o json`)) as Written).items;

    test("--as and --as-group say who asks, and need each other and the right [IMP-20]", async () => {
      const who = JSON.parse(await out("auth whoami --as=alice --as-group=dev --as-group=ops -o json")) as {
        apiVersion: string;
        status: { userInfo: object };
      };
      assert.deepEqual(who.status.userInfo, { username: "alice", groups: ["dev", "ops", "system:authenticated"] });
      assert.match(
        await out("auth whoami --as=alice --as-group=dev"),
        /^ATTRIBUTE +VALUE\nUsername +alice\nGroups +\[dev system:authenticated\]\n$/,
      );
      assert.match(await out("auth whoami"), /^Username +admin\nGroups +\[system:masters system:authenticated\]$/m);
      await fails("auth whoami --as-group=dev", /^binnacle: --as-group needs the user who is in the group: add --as/);
      await fails("token create --as=alice", /User "alice" cannot create resource "serviceaccounts\/token"/);
      await fails("export --as=alice secrets", /User "alice" cannot list resource "secrets"/);
      // The user of a kubeconfig impersonates only with a right to.
      await out("kubeconfig --user=eve --out=eve.kubeconfig");
      const { code, stderr } = await runProgram(
        ["auth", "whoami", "--as=alice", "--kubeconfig=eve.kubeconfig"],
        folder,
      );
      assert.equal(code, 1);
      assert.match(stderr, /users "alice" is forbidden: User "eve" cannot impersonate/);
    });

    test("no flag sets the uid or extra fields of the user [IMP-21]", async () => {
      for (const line of [
        "auth whoami --as-uid=1",
        "auth can-i get pods --as-user-extra=a=b",
        "auth reconcile --as-uid=1",
        "token create --as-extra=a=b",
        "export --as-uid=1",
      ]) {
        await fails(`${line} --as=alice`, /^binnacle: unknown flag --as-(?:uid|user-extra|extra)/);
      }
    });

    test("can-i answers yes with 0 and no with 1, and lists what one may do", async () => {
      await out(
        `auth reconcile -f ${file(
          "access.json",
          role("default", "reader", rule(["get", "list"], "configmaps"), rule(["get"], "pods/log"), {
            ...rule(["update"], "secrets"),
            resourceNames: ["s1"],
          }),
          binding("default", "reader", "reader", "alice"),
        )}`,
      );
      assert.deepEqual(await answer("create configmaps"), ["yes", 0]);
      assert.deepEqual(await answer("* *"), ["yes", 0]);
      for (const [question, expected] of [
        ["list configmaps", "yes"],
        ["list cm", "yes"],
        ["list configmaps -n other", "no"],
        ["get pods --subresource=log", "yes"],
        ["update secrets/s1", "yes"],
        ["update secrets s2", "no"],
        ["get /logs", "no"],
        [`list roles.${rbac}`, "no"],
        ["* *", "no"],
      ] as const) {
        const code = expected === "yes" ? 0 : 1;
        assert.deepEqual(await answer(`${question} --as=alice`), [expected, code], question);
      }
      assert.deepEqual(await answer("get pods --as=alice -q"), ["", 1]);
      const list = await out("auth can-i --list --as=alice");
      assert.match(list, /^Resources +Non-Resource URLs +Resource Names +Verbs\n/);
      for (const line of [
        /^configmaps +\[\] +\[\] +\[get list\]$/m,
        /^pods\/log +\[\] +\[\] +\[get\]$/m,
        /^secrets +\[\] +\[s1\] +\[update\]$/m,
        /^ +\[\/healthz\] +\[\] +\[get\]$/m,
      ]) {
        assert.match(list, line);
      }
      assert.match(await out("auth can-i --list"), /^\*\.\* +\[\] +\[\] +\[\*\]$/m);
      const unknown = await run("auth can-i get boats --as=alice");
      assert.deepEqual([unknown.code, unknown.stdout], [1, "no\n"]);
      assert.match(unknown.stderr, /^warning: the server has no resource "boats"\n$/);
      await fails("auth can-i get", /can-i takes a verb and a kind/);
    });

    test("reconcile adds what is missing, removes the rest only when asked, and makes a binding to another role anew [RBAC-10]", async () => {
      const wanted = (rules: object[], users: string[], to = "r"): string =>
        file(`roles-of-${to}.json`, role("shop", "r", ...rules), binding("shop", "r", to, ...users));
      // The namespace is made.
      const first = await out(`auth reconcile -f ${wanted([rule(["get", "list"], "configmaps")], ["u1"])}`);
      assert.equal(first, `role.${rbac}/r reconciled\n\tcreated\nrolebinding.${rbac}/r reconciled\n\tcreated\n`);
      const [, firstBinding] = await reconcile(`-f ${wanted([rule(["get"], "configmaps")], [])}`);
      const added = wanted([rule(["list"], "secrets"), rule(["get"], "configmaps")], ["u2"]);
      const dry = await out(`auth reconcile -f ${added} --dry-run`);
      assert.match(dry, /r reconciled \(server dry run\)\n\trule added: list secrets in ""\n/);
      const [mended, secondBinding] = await reconcile(`-f ${added}`);
      assert.deepEqual(mended!.rules, [rule(["get", "list"], "configmaps"), rule(["list"], "secrets")]);
      assert.deepEqual(secondBinding!.subjects, [user("u1"), user("u2")]);
      assert.equal(secondBinding!.metadata.uid, firstBinding!.metadata.uid);
      const other = wanted([rule(["list"], "secrets")], ["u2"], "other");
      // A dry run leaves the old binding there.
      await out(`auth reconcile -f ${other} --dry-run=server`);
      const [, kept] = await reconcile(`-f ${added}`);
      assert.equal(kept!.metadata.uid, firstBinding!.metadata.uid);
      const [same, anew] = await reconcile(`-f ${other}`);
      assert.deepEqual(same!.rules, mended!.rules);
      assert.equal(anew!.roleRef!.name, "other");
      assert.deepEqual(anew!.subjects, [user("u1"), user("u2")]);
      assert.notEqual(anew!.metadata.uid, firstBinding!.metadata.uid);
      const [trimmed, alone] = await reconcile(`-f ${other} --remove-extra-permissions --remove-extra-subjects`);
      assert.deepEqual(trimmed!.rules, [rule(["list"], "secrets")]);
      assert.deepEqual(alone!.subjects, [user("u2")]);
      assert.equal(alone!.metadata.uid, anew!.metadata.uid);
      // Nobody grants what they lack.
      await out(
        `auth reconcile -f ${file(
          "manager.json",
          role("shop", "manager", {
            apiGroups: [rbac],
            resources: ["roles", "rolebindings"],
            verbs: ["get", "create", "update"],
          }),
          binding("shop", "manager", "manager", "alice"),
        )}`,
      );
      await fails(
        `auth reconcile -f ${wanted([rule(["delete"], "secrets")], [])} --as=alice`,
        /attempting to grant RBAC permissions not currently held/,
      );
    });

    test("reconcile says what to do with files that are not for it", async () => {
      const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
      const { code, stdout, stderr } = await run(`auth reconcile -f ${file("map.json", map)}`);
      assert.deepEqual([code, stdout], [0, ""]);
      assert.equal(stderr, 'warning: left out ConfigMap "a": reconcile is for roles and bindings\n');
      await fails("auth reconcile", /^binnacle: auth reconcile takes files: binnacle auth reconcile -f FILE/);
      await fails("auth reconcile -f gone.yaml", /^binnacle: cannot read gone\.yaml: /);
      const foreign = domain === "k8s.io" ? "rbac.authorization.platform.io" : "rbac.authorization.k8s.io";
      await fails(
        `auth reconcile -f ${file("foreign.json", { ...role("default", "x"), apiVersion: `${foreign}/v1` })}`,
        new RegExp(`^binnacle: the server has no kind Role in ${foreign}/v1: it has Role in ${rbac}/v1`),
      );
    });

    test("create makes roles and bindings in the names of the server", async () => {
      const made = await out("create role dev --verb=get,list --resource=pods,pods/log,deploy -n default");
      assert.equal(made, `role.${rbac}/dev created\n`);
      const rules = JSON.parse(await out("get role dev -o jsonpath={.rules}")) as object[];
      assert.deepEqual(rules, [
        { apiGroups: [""], resources: ["pods", "pods/log"], verbs: ["get", "list"] },
        { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list"] },
      ]);
      await out("create rolebinding dev --role=dev --user=dan --group=dev --serviceaccount=default:robot");
      assert.deepEqual(await answer("list deployments --as=dan"), ["yes", 0]);
      assert.deepEqual(await answer("get pods --subresource=log --as=system:serviceaccount:default:robot"), ["yes", 0]);
      await out("create clusterrole scrape --verb=get --non-resource-url=/logs");
      await out("create clusterrolebinding scrape --clusterrole=scrape --user=dan");
      assert.deepEqual(await answer("get /logs --as=dan"), ["yes", 0]);
      await fails("create role x --verb=get --resource=boats", /^binnacle: the server has no resource "boats"/);
      await fails("create rolebinding x --user=a", /^binnacle: say which role is given: --role=NAME or --clusterrole/);
      await fails("create configmap x", /^binnacle: create takes one of role, .*; binnacle apply -f makes objects of/);
    });

    test("certificate approve and deny decide requests", async () => {
      for (const name of ["good", "bad"]) {
        const spec = {
          request: (await newRequest([{ CN: ["carol"] }])).request,
          signerName: rename("kubernetes.io/kube-apiserver-client"),
          usages: ["client auth"],
        };
        const apiVersion = rename("certificates.k8s.io/v1");
        const object = { apiVersion, kind: "CertificateSigningRequest", metadata: { name }, spec };
        await out(`apply -f ${file(`${name}.json`, object)}`);
      }
      const group = rename("certificates.k8s.io");
      const type = (name: string): Promise<string> => out(`get csr ${name} -o jsonpath={.status.conditions[*].type}`);
      assert.equal(await out("certificate approve good"), `certificatesigningrequest.${group}/good approved\n`);
      assert.equal(await type("good"), "Approved");
      await out("certificate approve good");
      assert.equal(await type("good"), "Approved");
      await out("certificate deny bad --reason=Unknown");
      assert.equal(await type("bad"), "Denied");
      await fails("certificate approve", /^binnacle: certificate takes a decision and names/);
    });

    test("token create prints a token that lets the account in [ASA-10]", async () => {
      const token = (await eventually(() => out("token create default"))).trim();
      const admin = readFileSync(join(folder, "data/admin.kubeconfig"), "utf8");
      const config = admin
        .replace(/client-certificate(?:-data)?: .*/, `token: ${token}`)
        .replace(/\n *client-key(?:-data)?: .*/, "");
      writeFileSync(join(folder, "data/robot.kubeconfig"), config);
      const { code, stdout, stderr } = await runProgram(
        ["auth", "whoami", "--kubeconfig=data/robot.kubeconfig"],
        folder,
      );
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^Username +system:serviceaccount:default:default$/m);
    });
  });
}
