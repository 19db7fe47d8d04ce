/** What the server that serves the console says of itself: `GET /console/config.json`. */
export type Config = {
  /** The gate's issuer, with its slash. */
  issuer: string;
  client_id: string;
  /** Of the webhook API. */
  audience: string;
};

export async function readConfig(): Promise<Config> {
  const response = await fetch(`${import.meta.env.BASE_URL}config.json`);
  if (!response.ok) throw new Error(`The console’s settings could not be read (${response.status}).`);
  return response.json();
}
