/** The controllers of service accounts: each namespace has the account `default`, and Secrets for tokens get them. */
import { serviceAccountsController } from "./service-accounts/default-accounts.ts";
import { serviceAccountTokensController } from "./service-accounts/tokens.ts";

export type { TokenParties } from "./service-accounts/tokens.ts";

export const serviceAccountControllers = {
  defaultAccounts: serviceAccountsController,
  tokens: serviceAccountTokensController,
};
