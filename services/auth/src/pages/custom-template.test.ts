import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { renderLine } from '../mail/tenant-letter.ts';
import { checkTemplate } from './custom-template.ts';
import { renderPage } from './render.ts';

const shell = (body: string, head = '') =>
  `<!DOCTYPE html><html lang="{{locale}}" dir="{{ dir | default: "auto" }}"><head>{%- auth0:head -%}${head}</head><body class="_widget-auto-layout">${body}{%- auth0:widget -%}</body></html>`;

function render(template: string, params: Record<string, string> = {}) {
  let templateProblem: string | undefined;
  const page = renderPage('login', {
    action: '/u/x',
    kinds: ['email'],
    application: { id: 'app', name: 'My <App>' },
    tenant: { friendly_name: 'Acme' },
    state: 'uid',
    params,
    template,
    onTemplateProblem: (reason) => {
      templateProblem = reason;
    },
  });
  return { ...page, templateProblem };
}

describe('a tenant’s template', () => {
  test('wraps the widget and reads the context under Auth0’s names', () => {
    const { html, templateProblem } = render(
      shell(
        '<p id="mine">{{ application.name }}|{{ tenant.friendly_name }}|{{ prompt.name }}|{{ prompt.screen.name }}|{{ prompt.screen.texts.title }}|{{ locale }}|{{ state }}|{{ transaction.params["ext-banner"] }}|{{ user.email }}|{{ branding.colors.primary }}</p>',
      ),
      { 'ext-banner': '<b>hi</b>' },
    );
    expect(templateProblem).toBeUndefined();
    expect(html).toContain(
      '<p id="mine">My &#60;App&#62;|Acme|login|login|Sign in|en|uid|&#60;b&#62;hi&#60;/b&#62;||#0d5f50</p>',
    );
    expect(html).toContain('name="password"');
  });

  test('has its values escaped exactly once, with `escape`, with `raw` and without', () => {
    const value = '{{ transaction.params["ext-x"]';
    const { html } = render(
      shell(`[${value} }}][${value} | escape }}][${value} | raw }}]{% echo transaction.params["ext-x"] %}`),
      {
        'ext-x': '<i>&',
      },
    );
    expect(html).toContain('[&#60;i&#62;&#38;][&#60;i&#62;&#38;][&#60;i&#62;&#38;]&#60;i&#62;&#38;');
  });

  test('may style the page only where its author wrote a style, and runs no script', () => {
    const { html, headers } = render(shell('<script>alert(1)</script>', '<style>body{color:red}</style>'));
    const csp = headers['content-security-policy'] ?? '';
    const nonce = /style-src [^;]*'nonce-([^']+)'/.exec(csp)?.[1];
    expect(html).toContain(`<style nonce="${nonce?.replace(/[+/=]/g, (c) => c)}">body{color:red}`);
    expect(/script-src ([^;]*)/.exec(csp)?.[1]).toMatch(/^'sha256-[^ ]+'$/);
  });

  test.each([
    ['does not parse', shell('{% if %}')],
    ['calls an unknown tag', shell('{% exec "id" %}')],
    ['reads a file', shell('{% include "/etc/passwd" %}')],
    ['renders a file', shell('{% render "../../package.json" %}')],
    ['takes a layout', `{% layout "/etc/passwd" %}${shell('')}`],
    ['runs for too long', shell('{% for i in (1..900000) %}{% for j in (1..900000) %}{% endfor %}{% endfor %}')],
    ['writes too much', shell('{% for i in (1..100000) %}xxxxxxxxxxxxxxxxxxxx{% endfor %}')],
    ['asks for too much memory', shell('{% for i in (1..100000000) %}{% endfor %}')],
    ['hides the widget', shell('').replace('{%- auth0:widget -%}', '{% if false %}{%- auth0:widget -%}{% endif %}')],
    ['shows the widget twice', shell('{%- auth0:widget -%}')],
    ['misspells a tag', shell('{%- auth0:wodget -%}')],
  ])('is not used when it %s', (_, template) => {
    const before = process.cpuUsage();
    const { html, templateProblem } = render(template);
    expect(templateProblem).toBeDefined();
    expect(html).toContain('name="password"');
    expect(html).not.toContain('root:');
    const { user, system } = process.cpuUsage(before);
    expect(user + system).toBeLessThan(2_000_000); // µs of our own, however busy the machine is
  });

  describe('that is rendered on a busy machine', () => {
    afterEach(() => {
      jest.restoreAllMocks();
    });
    /** From now on the clock leaps by a second each time it is read; and so does what we computed, if we did it all. */
    function leap({ isOurs }: { isOurs: boolean }) {
      let seconds = 0;
      jest.spyOn(performance, 'now').mockImplementation(() => ++seconds * 1_000);
      jest
        .spyOn(process, 'threadCpuUsage')
        .mockImplementation((before) => ({ user: before && isOurs ? seconds * 1_000_000 : 0, system: 0 }));
    }

    test('may wait for the processor', () => {
      leap({ isOurs: false });
      const { html, templateProblem } = render(shell('MINE'));
      expect(templateProblem).toBeUndefined();
      expect(html).toContain('MINE');
      expect(renderLine('{{ a }}', { a: 'MINE' })).toEqual({ kind: 'rendered', text: 'MINE' });
    });

    test('may not compute for as long', () => {
      leap({ isOurs: true });
      const { html, templateProblem } = render(shell('MINE'));
      expect(templateProblem).toContain('limit exceeded');
      expect(html).not.toContain('MINE');
      expect(renderLine('{{ a }}', { a: 'MINE' }).kind).toBe('failed');
    });
  });

  test('can reach nothing but its context', () => {
    const { html } = render(
      shell(
        '[{{ constructor }}{{ application.constructor.name }}{{ __proto__ }}{{ process.env.HOME }}{{ language }}{{ hidden }}]',
      ),
    );
    expect(html).toContain('[]');
  });

  test('is not used for error pages, so that they appear whatever it does', () => {
    expect(renderPage('error', { error: 'invalid_request', template: shell('MINE') }).html).not.toContain('MINE');
  });
});

describe('checkTemplate', () => {
  test.each([
    ['accepts a whole template', shell('x'), undefined],
    ['demands the head', '{%- auth0:widget -%}', expect.stringContaining('auth0:head')],
    ['demands the widget', '{%- auth0:head -%}', expect.stringContaining('auth0:widget')],
    ['refuses what does not parse', shell('{% if %}'), expect.any(String)],
    ['refuses what is too long', shell('x'.repeat(100_001)), expect.stringContaining('longer')],
  ])('%s', (_, template, problem) => {
    expect(checkTemplate(template)).toEqual(problem);
  });
});
