/** The differences between version 1 of webhook configurations and definitions and the versions that 1.22 removed. */
import { crds, definition } from "../crds.ts";
import { suite } from "../harness.ts";

const inBothDomains = suite();

inBothDomains("webhook configurations have the defaults of version 1 [VER-60] [VER-61] [VER-62]", async (api) => {
  for (const kind of ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]) {
    const webhook = {
      name: "a.example.com",
      clientConfig: { url: "https://localhost:1/" },
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    };
    const path = `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}s?dryRun=All`;
    (await api.post(path, { kind, metadata: { name: api.unique() }, webhooks: [webhook] })).expect(201, {
      "webhooks.0.failurePolicy": "Fail",
      "webhooks.0.matchPolicy": "Equivalent",
      "webhooks.0.timeoutSeconds": 10,
    });
  }
});

inBothDomains("what moved into the versions of a definition is unknown at its old place [VER-68]", async (api) => {
  const old = { version: "v1", validation: {}, subresources: {}, additionalPrinterColumns: [] };
  for (const [field, value] of Object.entries(old)) {
    const body = definition(`${api.unique("g")}.example.com`);
    const spec = { ...(body["spec"] as object), [field]: value };
    const answer = await api.post(`${crds}?dryRun=All&fieldValidation=Strict`, { ...body, spec });
    answer.expectFailure(400, "BadRequest", new RegExp(`unknown field "spec\\.${field}"`));
  }
});
