/** The program: runs the webhook for the cluster of the kubeconfig until a signal arrives. */
import { connect } from "binnacle/client";
import { MutatingWebhookConfiguration } from "binnacle/client/kinds";
import { register, startWebhook } from "./webhook.ts";

const running = await startWebhook(process.argv[2]);
const cluster = await connect({ manager: "owners" });
await register(cluster, running);
console.log(`asked at ${running.url}`);
await new Promise((resolve) => process.once("SIGINT", resolve).once("SIGTERM", resolve));
// A registration that stays would have the API server refuse every write that it is about.
await cluster.kind(MutatingWebhookConfiguration).delete("owners.example.com");
await cluster.close();
running.server.close();
