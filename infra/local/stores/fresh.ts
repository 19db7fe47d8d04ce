/** `--fresh`: drops what is ours, and nothing else. */
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readJson, writePrivate } from '../processes/home.ts';
import { rememberedIn } from './docker.ts';
import { dataFolder } from './postgres.ts';
import { instanceFile, recallInstance } from './private.ts';
import { type Machine, storeKinds } from './stores.ts';

/**
 * Removes our own instances with their data, the secrets' key and the outbox. They must not be running under anyone else. Their ports and
 * passwords stay: producers, and whoever looks into a store, have their URLs.
 */
export async function dropPrivateData(home: string, machine: Machine): Promise<void> {
  for (const { service } of storeKinds) {
    const folder = join(home, service);
    const known = readJson(instanceFile(folder)) && (await recallInstance(folder, AbortSignal.timeout(60_000)));
    if (service === 'postgres') rmSync(dirname(dataFolder(home)), { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
    if (known) writePrivate(instanceFile(folder), JSON.stringify(known, undefined, 2));
  }
  // `down` removes volumes too; `rm` would leave those that have a name.
  if (storeKinds.some(({ service }) => readJson(rememberedIn(home, service))))
    await (await machine.docker())?.compose(['down', '--volumes']);
  for (const name of ['outbox', 'secrets-key']) rmSync(join(home, name), { recursive: true, force: true });
}
