#!/usr/bin/env node
/** `kubectl binnacle COMMAND`: the program as a plugin of kubectl. It asks the cluster that kubectl asks. */
import { homedir } from "node:os";
import { join } from "node:path";

if ((process.env["KUBECONFIG"] ?? "") === "") process.env["KUBECONFIG"] = join(homedir(), ".kube", "config");
await import("./binnacle.ts");
