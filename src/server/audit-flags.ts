/** Flags of the audit log. */

export const auditFlags = {};
