/**
 * The controllers of certificate signing requests: they approve those of kubelets, sign approved ones, and delete old
 * ones.
 */
import { csrApprovingController } from "./certificate-requests/approving.ts";
import { csrCleanerController } from "./certificate-requests/cleaner.ts";
import { csrSigningController } from "./certificate-requests/signing.ts";

export type { Signer } from "./certificate-requests/signing.ts";

export const certificateControllers = {
  approving: csrApprovingController,
  cleaner: csrCleanerController,
  signing: csrSigningController,
};
