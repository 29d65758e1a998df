/**
 * The kube-apiserver of a suite (`envtest.ts`): three servers behind one port, with the flags of the suite. Its etcd only
 * answers health checks, so the servers have members of their own.
 */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { builtProgram } from "../server-processes.ts";
import { onStage } from "../stage.ts";

/** The flags whose values are of this program, and not of its servers. */
const ownFlags = /^--(?:secure-port|etcd-servers)=/;

const args = process.argv.slice(2);
// A suite asks for the flags before it starts the program.
if (args.includes("--help"))
  spawnSync(process.execPath, [builtProgram, "kube-apiserver", "--help"], { stdio: "inherit" });
else {
  const port = Number(args.find((arg) => arg.startsWith("--secure-port="))?.split("=")[1]);
  const flags = ["--controllers=-*", ...args.filter((arg) => !ownFlags.test(arg))];
  await onStage({ port, flags }, () => Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]));
}
