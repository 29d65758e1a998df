/** AlwaysAdmit and AlwaysDeny: the plugins that do nothing, and refuse everything. Source: the answers of kube-apiserver. */
import { type AdmissionAttributes, type AdmissionPlugin, type Operation, refusal } from "./plugin.ts";

const all: readonly Operation[] = ["CREATE", "UPDATE", "DELETE", "CONNECT"];

export const alwaysAdmit: AdmissionPlugin = {
  name: "AlwaysAdmit",
  operations: all,
  admit: () => undefined,
  validate: () => undefined,
};

/** Refuses the writes of the server itself, too. */
export const alwaysDeny: AdmissionPlugin = { name: "AlwaysDeny", operations: all, admit: deny, validate: deny };

function deny(attributes: AdmissionAttributes): never {
  throw refusal(attributes, "admission control is denying all modifications");
}
