/**
 * OAuth app access restrictions (docs/reference/webhooks-api.md#oauth-applications), as SQL that is true while an organization
 * restricts applications and has not approved this one. Without an application it is never true.
 *
 * @param restrictions the account's `oauth_app_restrictions`
 * @param account the account's id
 * @param app the application's client id
 */
export const isRestricted = (restrictions: string, account: string, app: string): string => `(
  ${app} IS NOT NULL AND ${restrictions} AND NOT EXISTS (
    SELECT FROM oauth_app_approvals o WHERE o.account_id = ${account} AND o.client_id = ${app}))`;
