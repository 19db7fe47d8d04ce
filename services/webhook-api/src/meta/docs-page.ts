/** The page at `/docs`: an OpenAPI description as HTML. Every text is escaped. */
import type { Described, JsonSchema, OpenApi, Response } from './describe.ts';

export const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 0 auto; padding: 1.5rem; }
code, pre { font: 0.875rem/1.45 ui-monospace, monospace; }
pre { overflow-x: auto; padding: 0.75rem; border: 1px solid #8885; border-radius: 6px; }
details { border: 1px solid #8885; border-radius: 6px; margin: 0.5rem 0; padding: 0.4rem 0.8rem; }
summary { cursor: pointer; overflow-wrap: anywhere; }
.method { display: inline-block; min-width: 4.2rem; font-weight: 700; text-transform: uppercase; }
.about { opacity: 0.75; }
dt { font-weight: 600; margin-top: 0.6rem; } dd { margin: 0 0 0 1rem; }
h2 { margin-top: 2rem; } nav a { margin-right: 1rem; }`;

const titles: Record<string, string> = {
  repos: 'Repositories and their hooks',
  orgs: 'Organizations, their hooks and policies',
  users: 'People and machines',
  admin: 'Installation',
  accounts: 'Delivery limits',
  meta: 'About the service',
};

export function renderPage(api: OpenApi, base: string): string {
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ path, method, described })),
  );
  const tags = [...new Set(operations.flatMap(({ described }) => described.tags))];
  const sections = tags.map((tag) => {
    const own = operations.filter(({ described }) => described.tags.includes(tag));
    const items = own.map(({ path, method, described }) => renderOperation(method, path, described));
    return `<h2 id="${tag}">${escapeHtml(titles[tag] ?? tag)}</h2>${items.join('')}`;
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(api.info.title)}</title><style>${style}</style></head><body>
<h1>${escapeHtml(api.info.title)}</h1>
<p>${code(api.info.description)}</p>
<p>Base URL: <code>${escapeHtml(base)}</code>. The same as a file: <a href="${escapeHtml(base)}/openapi.json">openapi.json</a> (OpenAPI 3.0).
Send an access token as <code>Authorization: Bearer …</code>.</p>
<nav>${[...tags, 'schemas'].map((tag) => `<a href="#${tag}">${escapeHtml(titles[tag] ?? 'Schemas')}</a>`).join('')}</nav>
${sections.join('\n')}
${localReceivers}
<h2 id="schemas">Schemas</h2>${Object.entries(api.components.schemas).map(renderSchema).join('')}
</body></html>`;
}

/** Where the refusal of a hook on this machine leads to. */
const localReceivers = `<h2 id="local-receivers">Receivers on this machine</h2>
<p>A webhook never goes to <code>localhost</code> or <code>127.0.0.1</code>, as at GitHub. To receive on the machine that the service runs on:</p>
<ul><li>Listen on another loopback address and name that: <code>http://127.0.0.2:8080/hook</code>. <code>npm start</code> allows <code>127.0.0.2</code>;
elsewhere the operator lists the address in <code>DELIVERY_ALLOWED_NETWORKS</code>, for example <code>127.0.0.2/32</code>. On macOS the address has to be added first:
<code>sudo ifconfig lo0 alias 127.0.0.2</code>.</li>
<li>Or let a tunnel with a public https address lead to your port, and name that address.</li></ul>`;

function renderOperation(method: string, path: string, described: Described): string {
  const scopes = described.security.flatMap(({ token }) => token ?? []);
  const access =
    described.security.length === 0
      ? 'none'
      : scopes.length === 0
        ? 'any'
        : `one of <code>${scopes.map(escapeHtml).join('</code>, <code>')}</code>`;
  const parameters = described.parameters.map(
    ({ name, in: place, schema, description }) =>
      `<dd><code>${escapeHtml(name)}</code> <span class="about">${place}, ${show(schema)}${description ? ` — ${code(description)}` : ''}</span></dd>`,
  );
  const body = Object.values(described.requestBody?.content ?? {}).map(({ schema }) => `<dd>${show(schema)}</dd>`);
  const answers = Object.entries(described.responses).map(([status, answer]) => renderAnswer(status, answer));
  return `<details id="${escapeHtml(described.operationId)}"><summary><span class="method">${escapeHtml(method)}</span>
<code>${escapeHtml(path)}</code> <span class="about">${code(described.summary)}${described['x-gatepost'] ? ' (ours)' : ''}</span></summary><dl>
<dt>Scope</dt><dd>${access}</dd>
${parameters.length > 0 ? `<dt>Parameters</dt>${parameters.join('')}` : ''}
${body.length > 0 ? `<dt>Body</dt>${body.join('')}` : ''}
<dt>Answers</dt>${answers.join('')}</dl></details>`;
}

function renderAnswer(status: string, { $ref, description, content }: Response): string {
  const name = $ref?.split('/').at(-1);
  const shape = Object.values(content ?? {}).map(({ schema }) => show(schema));
  const said = description ?? `${name}: <a href="#schema-Error">Error</a>`;
  return `<dd><code>${escapeHtml(status)}</code> ${description ? code(said) : said} ${shape.join('')}</dd>`;
}

function renderSchema([name, schema]: [string, JsonSchema]): string {
  return `<details id="schema-${escapeHtml(name)}" open><summary><code>${escapeHtml(name)}</code></summary><pre>${show(schema)}</pre></details>`;
}

/** A schema the way TypeScript writes a type, with links to those that have names. */
function show(schema: JsonSchema, indent = ''): string {
  return schema.nullable && !schema.enum ? `${showValue(schema, indent)} | null` : showValue(schema, indent);
}

function showValue(schema: JsonSchema, indent: string): string {
  if (schema.$ref) {
    const name = escapeHtml(schema.$ref.split('/').at(-1) ?? '');
    return `<a href="#schema-${name}">${name}</a>`;
  }
  const { allOf, anyOf, enum: values, type, items, properties, additionalProperties } = schema;
  if (Array.isArray(allOf)) return allOf.map((part: JsonSchema) => show(part, indent)).join(' & ');
  if (Array.isArray(anyOf)) return anyOf.map((option: JsonSchema) => show(option, indent)).join(' | ');
  if (Array.isArray(values)) return values.map((value) => escapeHtml(JSON.stringify(value))).join(' | ');
  if (type === 'array') return `${show((items ?? {}) as JsonSchema, indent)}[]`;
  if (properties) return showObject(schema, indent);
  if (type === 'object' && additionalProperties && additionalProperties !== true)
    return `{ [name]: ${show(additionalProperties as JsonSchema, indent)} }`;
  return escapeHtml(String(type ?? 'anything'));
}

function showObject(schema: JsonSchema, indent: string): string {
  const properties = Object.entries(schema.properties as Record<string, JsonSchema>);
  const required = new Set((schema.required ?? []) as string[]);
  const inner = `${indent}  `;
  const lines = properties.map(([name, property]) => {
    const said = [property['x-gatepost'] ? 'Ours.' : '', property.description ?? ''].filter(Boolean).join(' ');
    const about = said ? ` <span class="about">// ${code(said)}</span>` : '';
    return `${inner}${escapeHtml(name)}${required.has(name) ? '' : '?'}: ${show(property, inner)}${about}`;
  });
  return `{\n${lines.join('\n')}\n${indent}}`;
}

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Escaped, with what stands in backticks as code. */
const code = (text: string): string => escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
