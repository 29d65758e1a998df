/** The program: runs the controller on the cluster of the kubeconfig until a signal arrives. */
import { connect } from "binnacle/client";
import { run } from "binnacle/client/controllers";
import { boats } from "./harbour.ts";

const cluster = await connect({ manager: "harbour" });
const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stop.abort());
// The lease lets one of several programs work.
await run(cluster, { lease: "default/harbour", signal: stop.signal }, [boats]);
await cluster.close();
