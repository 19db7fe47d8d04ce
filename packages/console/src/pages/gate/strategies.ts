/** The strategies of connections in plain words, and the settings that each needs for a provider (Auth0's options). */
export type Option = {
  name: string;
  label: string;
  placeholder?: string;
  hint?: string;
  isOptional?: true;
  isLong?: true;
};

const secret: Option[] = [
  { name: 'client_id', label: 'Client ID' },
  { name: 'client_secret', label: 'Client Secret' },
];
const scope: Option = {
  name: 'scope',
  label: 'Scope',
  isOptional: true,
  hint: 'Leave empty for the provider’s default.',
};

export const strategies: Record<string, { text: string; options?: Option[] }> = {
  auth0: { text: 'Passwords' },
  email: { text: 'One-time codes by email' },
  sms: { text: 'One-time codes by text message' },
  'google-oauth2': { text: 'Google', options: secret },
  github: { text: 'GitHub', options: secret },
  windowslive: { text: 'Microsoft account', options: secret },
  waad: {
    text: 'Microsoft Entra ID',
    options: [{ name: 'tenant_domain', label: 'Tenant', placeholder: 'example.onmicrosoft.com' }, ...secret],
  },
  apple: {
    text: 'Apple',
    options: [
      { name: 'client_id', label: 'Services ID' },
      { name: 'team_id', label: 'Team ID' },
      { name: 'kid', label: 'Key ID' },
      { name: 'app_secret', label: 'Private key', isLong: true },
    ],
  },
  oidc: {
    text: 'An OpenID provider',
    options: [
      {
        name: 'discovery_url',
        label: 'Discovery URL',
        placeholder: 'https://id.example.com/.well-known/openid-configuration',
      },
      ...secret,
      scope,
    ],
  },
  oauth2: {
    text: 'An OAuth 2.0 provider',
    options: [
      { name: 'authorizationURL', label: 'Authorization URL' },
      { name: 'tokenURL', label: 'Token URL' },
      { name: 'userInfoURL', label: 'User info URL' },
      ...secret,
      scope,
    ],
  },
};
