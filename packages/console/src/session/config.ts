/** Settings that the server puts into the console's page. */
export type Config = {
  /** The gate's issuer, with its trailing slash. */
  issuer: string;
  client_id: string;
  /** Audience of the webhook API. */
  audience: string;
};

/** @throws Error if the page was not served by the webhook API. */
export function readConfig(): Config {
  const written = document.querySelector<HTMLMetaElement>('meta[name=gatepost]')?.content;
  if (!written)
    throw new Error('The console’s settings are missing from this page. Open the console at the webhook API.');
  return JSON.parse(written);
}
