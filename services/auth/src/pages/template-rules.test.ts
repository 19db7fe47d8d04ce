import { describe, expect, test } from '@jest/globals';
import { checkTemplate } from './custom-template.ts';
import { renderPage } from './render.ts';
import { readTemplate, safeAddress } from './template-rules.ts';

const shell = (body: string) =>
  `<!DOCTYPE html><html lang="{{ locale }}"><head>{%- auth0:head -%}</head><body>${body}{%- auth0:widget -%}</body></html>`;
const value = '{{ transaction.params["ext-x"] }}';

/** The page as it goes out, of a template that was set before there were rules. */
function shown(body: string, ext: string) {
  const form = { action: '/u', kinds: ['email' as const], params: { 'ext-x': ext } };
  const problems: string[] = [];
  const page = renderPage('login', {
    ...form,
    template: shell(body),
    onTemplateProblem: (reason) => problems.push(reason),
  });
  return { ...page, problems };
}

describe('a template may contain', () => {
  test.each([
    ['text and quoted attributes with values', `<p title="${value}" class='a ${value}'>${value}</p>`],
    ['styles of its own', '<style media="all">body > p { color: red }</style>'],
    [
      'a picture and links by value',
      '<img alt="" src="{{ branding.logo_url }}"><a href="{{ tenant.support_url -}}">?</a>',
    ],
    [
      'values within an address',
      `<a href="https://x.example/${value}">a</a><a href="/x?y=${value}">b</a><a href="mailto:${value}">c</a>`,
    ],
    ['conditions anywhere', '<p {% if user %}class="a"{% endif %} title="{% if user %}x{% else %}y{% endif %}">x</p>'],
    ['comments, also with values', `<!-- <script> ${value} --><!-->{% comment %}<script>{% endcomment %}<p>`],
    ['a title with a value', `<title>${value}</title>`],
    ['what looks like markup and is none', '<p>1 < 2, a<3, "onclick=" <b>on</b></p>'],
    [
      'meta elements',
      '<meta http-equiv="X-UA-Compatible" content="IE=edge"><meta name="viewport" content="width=device-width">',
    ],
    ['raw text', '<p>{% raw %}{{ not liquid }}{% endraw %}</p>'],
  ])('%s', (_, body) => {
    expect(checkTemplate(shell(body))).toBeUndefined();
  });
});

describe('a template may not contain', () => {
  test.each([
    ['a value in a style', `<style>p{color:${value}}</style>`, 'style element'],
    ['a tag in a style', '<style>{% if user %}p{color:red}{% endif %}</style>', 'style element'],
    ['an echo in a style', '<STYLE\n>{% echo x %}</STYLE >', 'style element'],
    ['Liquid kept as it is in a style', '<style>{% raw %}p{}{% endraw %}</style>', 'style element'],
    ['a value in a style attribute', `<p style="color:${value}">`, 'attribute style'],
    ['a script', '<script src="https://x.example/a.js"></script>', 'script element'],
    ['an event attribute', '<p onclick="x()">', 'event attribute'],
    ['an event attribute with a slash before it', '<img src=x/onerror=x><img/onerror=x>', 'event attribute'],
    ['a javascript: address', '<a href="javascript:alert(1)">', 'leads to a script'],
    ['one with blanks in it', '<a href=" java\tscript&colon;alert(1)">', 'leads to a script'],
    ['one in entities', '<a href="&#106;&#x61;vascript:alert(1)">', 'leads to a script'],
    ['one put together', `<a href="java${value}script:alert(1)">`, 'beginning of an address'],
    ['a data: address of a page', '<a href="data:text/html,x">', 'leads to a script'],
    ['a value without quotes', `<p class=${value}>`, 'without quotes'],
    ['a value as an attribute', `<p ${value}>`, 'names of elements'],
    ['a value as an element', `<${value}>`, 'names of elements'],
    ['an echo in a tag', '<p {% echo application.name %}>', 'tag echo'],
    ['a form', '<form action="https://evil.example/">', 'form element'],
    ['where forms lead', '<button formaction="https://evil.example/">', 'formaction'],
    ['a frame', '<iframe src="https://evil.example/"></iframe>', 'iframe element'],
    ['a page in an attribute', `<i srcdoc="${value}">`, 'srcdoc'],
    ['a base', '<base href="https://evil.example/">', 'base element'],
    ['a refresh', `<meta http-equiv="refresh" content="0;url=${value}">`, 'meta refresh'],
    ['a refresh by value', `<meta http-equiv="${value}" content="0">`, 'meta refresh'],
    ['the widget in a comment', '<!-- {%- auth0:widget -%} -->', 'between elements'],
  ])('%s', (_, body, problem) => {
    expect(checkTemplate(shell(body))).toContain(problem);
  });

  test('a template may not put the widget inside a tag', () => {
    const inside = shell('').replace('{%- auth0:widget -%}', '<p title="{%- auth0:widget -%}">');
    expect(checkTemplate(inside)).toContain('between elements');
  });
});

describe('a template saved before these rules', () => {
  test('shows its style without a nonce if the style contains values, and everything else as before', () => {
    const { html, headers, problems } = shown(
      `<style>p{color:red}</style><style>${value}{color:red}</style><p>mine</p>`,
      'x',
    );
    expect(problems).toEqual([]);
    expect(html).toContain('<p>mine</p>');
    expect(html).toMatch(/<style nonce="[^"]+">p\{color:red\}/);
    expect(html).toContain('<style>x{color:red}');
    expect(headers['content-security-policy']).not.toContain('unsafe-inline');
  });

  test.each([
    ['without quotes', `<p class=${value}>mine`, 'x hidden', '<p class=>mine'],
    ['as an attribute', `<p ${value}>mine`, 'hidden', '<p >mine'],
    ['in an event', `<p onclick="f('${value}')">mine`, 'x', '<p onclick="f(\'\')">mine'],
    ['in a style attribute', `<p style="${value}">mine`, 'x', '<p style="">mine'],
    ['as an address that leads to no web', `<a href="${value}">mine`, 'javascript:x', '<a href="">mine'],
    ['as an address that does', `<a href="${value}">mine`, 'https://x.example/', '<a href="https://x.example/">mine'],
  ])('leaves out a value that stands %s', (_, body, ext, expected) => {
    const { html, problems } = shown(body, ext);
    expect([problems, html.includes(expected)]).toEqual([[], true]);
  });

  test.each(['<form action="https://evil.example/">', '<iframe></iframe>', '<p {% echo user %}>'])(
    'is not used if it contains %s',
    (body) => {
      const { html, problems } = shown(`mine${body}`, 'x');
      expect(problems).toHaveLength(1);
      expect(html).not.toContain('mine');
      expect(html).toContain('name="password"');
    },
  );
});

test.each([
  ['https://x.example/a', true],
  ['//x.example/a', true],
  ['/a:b', true],
  ['a?b=c:d', true],
  ['mailto:a@b.example', true],
  ['data:image/png;base64,AAAA', true],
  ['', true],
  ['javascript:alert(1)', false],
  ['JavaScript\n:alert(1)', false],
  ['\u0001javascript:alert(1)', false],
  ['data:image/svg+xml,x', false],
  ['data:text/html,x', false],
  [':x', false],
  ['blob:x', false],
])('whether the address %j is safe: %s', (address, safe) => {
  expect(safeAddress(address)).toBe(safe ? address : '');
});

test('checking a template takes time in proportion to its length, whatever it contains', () => {
  for (const text of ['<', '<a ', '<!--', '<a b="', '{{x}}', '<style>', '</', "<a b='{{x}}'>", '<style>a</style>'])
    expect(readTemplate(text.repeat(Math.floor(100_000 / text.length))).problems).toBeInstanceOf(Array);
});
