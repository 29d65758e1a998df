/**
 * The image policy webhook over TLS with a private authority: answers, cached answers, and a webhook that does not
 * answer.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ImageReviewSpec } from "#api/imagepolicy/v1alpha1.ts";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { openLog } from "#std/log.ts";
import { StartError } from "#std/start-error.ts";
import { patchTypes } from "../client.ts";
import { Decider } from "../decider.ts";
import {
  Api,
  type Domain,
  domains,
  eventually,
  file,
  type Observed,
  startObserved,
  openServer,
  renamer,
} from "../harness.ts";
import { pod } from "../objects.ts";

const decider = await Decider.open<ImageReviewSpec>();
after(() => decider.close());

const denied = /is forbidden: image policy webhook backend denied one or more images: no bad images$/;

const podOf = (name: string, image: string, annotations: object = {}): object =>
  pod(name, { containers: [{ name: "c", image }] }, { annotations });

function configFile(domain: Domain, imagePolicy: object): string {
  const configuration = { imagePolicy: { kubeConfigFile: decider.kubeconfig(), ...imagePolicy } };
  const plugins = [{ name: "ImagePolicyWebhook", configuration }];
  const apiVersion = renamer(domain)("apiserver.config.k8s.io/v1");
  return file("admission.json", JSON.stringify({ apiVersion, kind: "AdmissionConfiguration", plugins }));
}

interface Policed extends Omit<Observed, "close"> {
  readonly pods: string;
}

/** Registers one test in each domain, with a server whose webhook allows all images except `bad`. */
function testWithPolicy(name: string, imagePolicy: object, run: (on: Policed) => Promise<void>): void {
  for (const domain of domains) {
    test(`${domain}: ${name}`, async () => {
      decider.reset(({ containers = [] }) =>
        containers.some(({ image }) => image === "bad")
          ? { allowed: false, reason: "no bad images" }
          : { allowed: true },
      );
      const { api, close, ...rest } = await startObserved(domain, {
        enableAdmissionPlugins: ["ImagePolicyWebhook"],
        admissionControlConfigFile: configFile(domain, imagePolicy),
      });
      try {
        const { ns } = await api.createNamespace();
        await run({ ...rest, api, pods: `/api/v1/namespaces/${ns}/pods` });
      } finally {
        await close();
      }
    });
  }
}

testWithPolicy("a pod is made when the webhook allows its images", {}, async ({ api, pods, logged }) => {
  const annotations = { [api.name("x.image-policy.k8s.io/ticket")]: "7", other: "1" };
  (await api.post(pods, podOf("p", "good", annotations))).expect(201);
  const [question] = decider.questions;
  assert.deepEqual([question!.kind, question!.apiVersion], ["ImageReview", api.name("imagepolicy.k8s.io/v1alpha1")]);
  assert.deepEqual(question!.spec, {
    containers: [{ image: "good" }],
    annotations: { [api.name("x.image-policy.k8s.io/ticket")]: "7" },
    namespace: pods.split("/")[4],
  });
  assert.deepEqual([...decider.clients], ["apiserver"]);

  (await api.post(pods, podOf("q", "bad"))).expectFailure(403, "Forbidden", denied);
  (await api.post(`${pods}?dryRun=All`, podOf("q", "bad"))).expectFailure(403, "Forbidden", denied);
  (await api.get(`${pods}/q`)).expect(404);
  const large = podOf("q", "bad", { large: "x".repeat(100_000) });
  (await api.post(pods, large)).expectFailure(403, "Forbidden", denied);
  const update = { spec: { containers: [{ name: "c", image: "bad" }] } };
  (await api.patch(`${pods}/p`, update, patchTypes.strategic)).expectFailure(403, "Forbidden", denied);
  const debug = { spec: { ephemeralContainers: [{ name: "e", image: "bad" }] } };
  (await api.patch(`${pods}/p/ephemeralcontainers`, debug, patchTypes.strategic)).expectFailure(
    403,
    "Forbidden",
    denied,
  );
  const count = decider.questions.length;
  (await api.patch(`${pods}/p/status`, { status: { phase: "Running" } })).expect(200);
  assert.equal(decider.questions.length, count);
  assert.deepEqual(
    logged.filter((line) => line.includes("gave no answer")),
    [],
  );
});

testWithPolicy("answers are kept as long as the configuration says", { allowTTL: 60, denyTTL: 5 }, async (on) => {
  const { api, pods, clock } = on;
  const twice = async (image: string): Promise<number> => {
    decider.questions.length = 0;
    await api.post(pods, podOf(api.unique(), image));
    await api.post(pods, podOf(api.unique(), image));
    return decider.questions.length;
  };
  assert.deepEqual([await twice("good"), await twice("bad")], [1, 1]);
  clock.advance(6_000);
  assert.deepEqual([await twice("good"), await twice("bad")], [0, 1]);
  clock.advance(60_000);
  assert.equal(await twice("good"), 1);
});

testWithPolicy("a webhook that gives no answer refuses", {}, async ({ api, pods, clock, logged }) => {
  for (const mode of ["broken", "redirect"] as const) {
    decider.mode = mode;
    (await api.post(pods, podOf("p", mode))).expectFailure(
      403,
      "Forbidden",
      /no ImageReview$|Error contacting webhook: 307$/,
    );
  }
  decider.mode = "silent";
  const before = decider.questions.length;
  const answer = api.post(pods, podOf("p", "silent"));
  await clock.untilWaiting(30_000);
  await eventually(() => Promise.resolve(assert.equal(decider.questions.length, before + 1)));
  clock.advance(30_000);
  (await answer).expectFailure(403, "Forbidden", /no answer from 127\.0\.0\.1:\d+ within 30000ms$/);
  assert.ok(logged.some((line) => line.includes("the image policy webhook gave no answer")));
  decider.mode = "well";
  (await api.post(pods, podOf("p", "silent"))).expect(201);
});

testWithPolicy("or allows, if the configuration says so", { defaultAllow: true }, async ({ api, pods }) => {
  decider.mode = "broken";
  (await api.post(pods, podOf("p", "bad"))).expect(201);
  decider.mode = "well";
  (await api.post(pods, podOf("q", "bad"))).expectFailure(403, "Forbidden", denied);
});

test("a webhook of another authority is not believed", async () => {
  const { certificate } = await fakeAuthority("another");
  const admissionControlConfigFile = configFile("k8s.io", { kubeConfigFile: decider.kubeconfig({ ca: certificate }) });
  const server = await openServer(
    "k8s.io",
    { enableAdmissionPlugins: ["ImagePolicyWebhook"], admissionControlConfigFile },
    { log: openLog({ format: "json", verbosity: 0, write: () => undefined }) },
  );
  const api = new Api(server);
  decider.reset(() => ({ allowed: true }));
  const pods = "/api/v1/namespaces/default/pods";
  (await api.post(pods, podOf("p", "good"))).expectFailure(403, "Forbidden", /certificate/);
  assert.equal(decider.questions.length, 0);
  api.close();
  await server.close();
});

test("without its configuration the server does not start", () =>
  assert.rejects(openServer("k8s.io", { enableAdmissionPlugins: ["ImagePolicyWebhook"] }), (error) => {
    assert.ok(error instanceof StartError);
    assert.equal(error.message, `couldn't init admission plugin "ImagePolicyWebhook": no config specified`);
    return true;
  }));
