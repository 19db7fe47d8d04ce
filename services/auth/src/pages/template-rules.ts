/**
 * What a tenant’s template may contain, judged by its source. The values in it come from strangers (`ext-*`, names of applications,
 * people’s own names), and escaping makes them safe only in text and quoted attributes, so they are allowed nowhere else. The author
 * decides how a page looks, not what happens to a password, so scripts, forms and frames are not allowed.
 */
import { type TagToken, Tokenizer, TokenKind, type TopLevelToken } from 'liquidjs';
import { type Attribute, HtmlContext } from './html-context.ts';

export type Reading = {
  /** Why the template cannot be saved. */
  problems: string[];
  /** Why a template saved before these rules is not shown at all; problems that the page’s CSP prevents anyway are not included. */
  unsafe: string[];
  /** The source with nonces for its styles, with addresses checked, and without values where none are allowed. */
  source: string;
};

/** The filter that lets only addresses on the web through. */
export const addressFilter = 'gatepost_address';

const forbidden = new Set(['form', 'base', 'iframe', 'frame', 'frameset', 'object', 'embed', 'applet', 'portal']);
const addresses = new Set(['href', 'src', 'xlink:href', 'poster', 'background', 'data', 'cite', 'ping', 'manifest']);
/** Tags without output. */
const silent = new Set([
  ...['if', 'elsif', 'else', 'endif', 'unless', 'endunless', 'case', 'when', 'endcase', 'for', 'endfor', 'break'],
  ...['continue', 'assign', 'capture', 'endcapture', 'comment', 'endcomment', 'raw', 'endraw', '#'],
]);

export function readTemplate(source: string): Reading {
  const problems: string[] = [];
  const unsafe: string[] = [];
  /** Text to insert into the source, or to replace a part of it. */
  const edits: { at: number; end: number; text: string }[] = [];
  let styleAt = 0;
  const refuse = (problem: string) => void problems.push(problem);
  const refuseAll = (problem: string) => {
    refuse(problem);
    unsafe.push(problem);
  };

  const html = new HtmlContext({
    element(name, nameEnd) {
      if (name === 'style') styleAt = edits.push({ at: nameEnd, end: nameEnd, text: ' nonce="{{ csp_nonce }}"' });
      if (name === 'script') refuse('a template may hold no script element: the page runs none');
      if (forbidden.has(name)) refuseAll(`a template may hold no ${name} element`);
    },
    attribute: (attribute) => checkAttribute(attribute, refuse, refuseAll),
  });
  /** Removes a value from the shown page where none is allowed. */
  const cut = (token: TopLevelToken, where: string) => {
    refuse(`no Liquid may stand in ${where}: values are escaped for text and for quoted attributes`);
    edits.push({ at: token.begin, end: token.end, text: '' });
  };

  let commented = false;
  for (const token of new Tokenizer(source).readTopLevelTokens()) {
    const tag = tagOf(token);
    if (commented) {
      commented = tag !== 'endcomment';
      continue;
    }
    commented = tag === 'comment';
    const { spot } = html;
    const output = token.kind === TokenKind.Output;
    if (spot.kind === 'raw' && spot.element === 'style' && (tag !== undefined || output)) {
      refuse('a style element may hold no {{ and no {%: values would become rules');
      // Without its nonce, the page's CSP refuses this style.
      if (styleAt > 0) edits[styleAt - 1]!.text = '';
      styleAt = 0;
    } else if (tag === 'auth0') {
      if (spot.kind !== 'text') refuseAll('auth0:head and auth0:widget may stand between elements only');
    } else if (tag !== undefined && !silent.has(tag)) {
      if (!['text', 'comment', 'raw'].includes(spot.kind))
        refuseAll(`the tag ${tag} may not stand within an element's tag`);
    } else if (output) {
      if (spot.kind === 'tag') cut(token, 'the names of elements and attributes');
      if (spot.kind === 'value') readValue(token, spot.attribute);
      html.hole();
    }
    if (tag === undefined && !output) html.read(source, token.begin, token.end);
  }
  return { problems, unsafe, source: apply(source, edits) };

  function readValue(token: TopLevelToken, attribute: Attribute): void {
    const { name, quoted, value } = attribute;
    const isStart = addresses.has(name) && !isUrlStart(value);
    if (!quoted) cut(token, `the attribute ${name} without quotes around it`);
    else if (name === 'style' || /^on/.test(name) || name === 'srcdoc') cut(token, `the attribute ${name}`);
    else if (isStart && value.replaceAll('\0', '').trim() !== '') cut(token, `the beginning of an address (${name})`);
    else if (isStart) check(token);
  }

  /** An address that begins with a value is checked once the value is known. */
  function check(token: TopLevelToken): void {
    const close = source.slice(token.begin, token.end).endsWith('-}}') ? 3 : 2;
    edits.push({ at: token.end - close, end: token.end - close, text: ` | ${addressFilter} ` });
  }
}

type Refuse = (problem: string) => void;

function checkAttribute({ element, name, value }: Attribute, refuse: Refuse, refuseAll: Refuse): void {
  if (/^on/.test(name)) refuse(`a template may hold no event attribute such as ${name}: the page runs no script`);
  if (name === 'srcdoc' || name === 'formaction') refuseAll(`a template may hold no ${name} attribute`);
  if (name === 'http-equiv' && /refresh|\0/i.test(value)) refuseAll('a template may hold no meta refresh');
  if (addresses.has(name) && isScript(value))
    refuse(`the ${name} of the ${element} element leads to a script: the page runs none`);
}

/** Whether nothing that follows can change where the URL leads. */
function isUrlStart(begun: string): boolean {
  return /^(https?:\/\/|mailto:|tel:|[^:]*[/?#])/i.test(begun.replaceAll('\0', '').trim());
}

/** Allows only addresses on the web, mail, telephone, and relative ones; also a picture within its own address. */
export function safeAddress(value: unknown): string {
  const text = String(value ?? '').trim();
  const scheme = /^([^/?#]*):/.exec(withoutBlanks(text))?.[1]?.toLowerCase();
  if (scheme === undefined || ['http', 'https', 'mailto', 'tel'].includes(scheme)) return text;
  return /^data:image\/(?!svg)/i.test(text) ? text : '';
}

/** Whether a URL as the author wrote it executes something, ignoring entities and spaces. */
function isScript(value: string): boolean {
  const plain = value
    .replace(/&#x([0-9a-f]+);?/gi, (_, hex: string) => String.fromCodePoint(Math.min(Number.parseInt(hex, 16), 0xffff)))
    .replace(/&#(\d+);?/g, (_, digits: string) => String.fromCodePoint(Math.min(Number(digits), 0xffff)))
    .replace(/&(colon|tab|newline);/gi, (_, name: string) => (name.toLowerCase() === 'colon' ? ':' : ''));
  return /^(javascript|vbscript|data:text|data:application|data:image\/svg)/i.test(withoutBlanks(plain));
}

/** Browsers ignore blanks and control characters in URLs. */
function withoutBlanks(text: string): string {
  return [...text].filter((char) => char > ' ').join('');
}

function tagOf(token: TopLevelToken): string | undefined {
  return token.kind === TokenKind.Tag ? (token as TagToken).name : undefined;
}

function apply(source: string, edits: { at: number; end: number; text: string }[]): string {
  let [result, done] = ['', 0];
  for (const { at, end, text } of edits.sort((a, b) => a.at - b.at)) {
    result += source.slice(done, at) + text;
    done = Math.max(done, end);
  }
  return result + source.slice(done);
}
