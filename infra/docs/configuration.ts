/**
 * `npm run docs` generates docs/configuration.md from what the services themselves read; a test compares the page with it.
 */
import { writeFileSync } from 'node:fs';
import { metaOf, type z } from '@gatepost/runtime/env';

const services = ['auth', 'webhook-api', 'dispatcher'];
export const pageFile = new URL('../../docs/configuration.md', import.meta.url);

/** The text of docs/configuration.md. */
export async function configurationPage(): Promise<string> {
  const variables = await Promise.all(
    services.map(async (service) => {
      // By path: infra depends on no service, it only describes them.
      const config = (await import(new URL(`../../services/${service}/src/config.ts`, import.meta.url).href)) as {
        variables: z.ZodObject;
      };
      return Object.entries(config.variables.shape)
        .filter(([, field]) => !metaOf(field).isGone)
        .map(([name, field]) => ({ service, name, ...described(field) }));
    }),
  );
  const rows = variables.flat();
  const readers = (name: string) => rows.filter((row) => row.name === name).length;
  // Variables that all three read are described once, in the words of the first service.
  const everywhere = rows.filter((row) => row.service === services[0] && readers(row.name) === services.length);
  return [
    '# Configuration',
    '',
    'Made by `npm run docs` from what the services read at start. A service refuses to start on a bad value and names all bad',
    'values at once. An empty variable counts as unset, but where it says otherwise. Any of them may stand in a file instead, as Docker',
    'and Kubernetes give secrets: `SECRETS_KEY_FILE=/run/secrets/key`; the variable itself, if it is set too, counts.',
    '',
    '## Every service',
    '',
    ...table(everywhere),
    ...services.flatMap((service) => [
      '',
      `## ${service}`,
      '',
      ...table(rows.filter((row) => row.service === service && readers(row.name) < services.length)),
    ]),
    '',
  ].join('\n');
}

type Row = { service: string; name: string; fallback: string; description: string };

function table(rows: Row[]): string[] {
  return [
    '| variable | default | meaning |',
    '|---|---|---|',
    ...rows.map((row) => `| \`${row.name}\` | ${row.fallback} | ${row.description} |`),
  ];
}

function described(field: unknown): { fallback: string; description: string } {
  const { description = '', unit, shownDefault } = metaOf(field);
  const unset = (field as z.ZodType).safeParse(undefined);
  const fallback = shownDefault ?? (unset.success ? shown(unset.data) : 'required');
  const note = metaOf(field).emptyIsValue ? '; empty: none' : '';
  return { fallback, description: `${description}${unit ? ` (${unit})` : ''}${note}`.replaceAll('|', '\\|') };
}

function shown(value: unknown): string {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return 'none';
  return `\`${Array.isArray(value) ? value.join(',') : String(value)}\``;
}

if (import.meta.main) {
  writeFileSync(pageFile, await configurationPage());
  console.log('docs/configuration.md is written');
}
