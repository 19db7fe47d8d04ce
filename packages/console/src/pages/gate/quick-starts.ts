/** The quick starts of `examples/`, which `npm run examples` runs with a browser. Node knows a module without a package.json by `.mjs`. */
import express from '../../../../../examples/express/server.js?raw';
import fastapi from '../../../../../examples/fastapi/main.py?raw';
import fastapiRequirements from '../../../../../examples/fastapi/requirements.txt?raw';
import go from '../../../../../examples/go/main.go?raw';
import nativeDevice from '../../../../../examples/native/device.js?raw';
import native from '../../../../../examples/native/main.js?raw';
import nextjsHooks from '../../../../../examples/nextjs/app/hooks/page.jsx?raw';
import nextjsLayout from '../../../../../examples/nextjs/app/layout.jsx?raw';
import nextjsPage from '../../../../../examples/nextjs/app/page.jsx?raw';
import nextjs from '../../../../../examples/nextjs/lib/auth0.js?raw';
import nextjsProxy from '../../../../../examples/nextjs/proxy.js?raw';
import reactPage from '../../../../../examples/react/index.html?raw';
import reactApp from '../../../../../examples/react/src/App.jsx?raw';
import react from '../../../../../examples/react/src/main.jsx?raw';
import reactVite from '../../../../../examples/react/vite.config.js?raw';
import spaPage from '../../../../../examples/spa/index.html?raw';
import spa from '../../../../../examples/spa/main.js?raw';
import spring from '../../../../../examples/spring/src/main/resources/application.yaml?raw';
import vuePage from '../../../../../examples/vue/index.html?raw';
import vueApp from '../../../../../examples/vue/src/App.vue?raw';
import vue from '../../../../../examples/vue/src/main.js?raw';
import vueVite from '../../../../../examples/vue/vite.config.js?raw';
import type { AppType } from '../../api/management-types.ts';

export type Snippet = { file: string; code: string };
export type QuickStart = {
  name: string;
  sdk: string;
  install: string;
  /** The command that starts it; undefined: the framework's usual one. */
  run?: string;
  /** The example's origin and path, to be replaced by those of the application. */
  home: string;
  callback: string;
  /** The callback appears in the code, and may be anything. */
  namesCallback?: true;
  clientId: string;
  files: Snippet[];
};

const webs: QuickStart[] = [
  {
    name: 'Express',
    sdk: 'express-openid-connect, express-oauth2-jwt-bearer',
    install: 'npm install express express-openid-connect express-oauth2-jwt-bearer @octokit/webhooks-methods',
    run: 'node server.mjs',
    home: 'http://localhost:4701',
    callback: '/callback',
    clientId: 'example-express',
    files: [{ file: 'server.mjs', code: express }],
  },
  {
    name: 'Next.js',
    sdk: '@auth0/nextjs-auth0',
    install: 'npm install next react react-dom @auth0/nextjs-auth0',
    run: 'npx next dev --port 4703',
    home: 'http://localhost:4703',
    callback: '/auth/callback',
    clientId: 'example-nextjs',
    files: [
      { file: 'lib/auth0.js', code: nextjs },
      { file: 'proxy.js', code: nextjsProxy },
      { file: 'app/layout.jsx', code: nextjsLayout },
      { file: 'app/page.jsx', code: nextjsPage },
      { file: 'app/hooks/page.jsx', code: nextjsHooks },
    ],
  },
  {
    name: 'FastAPI',
    sdk: 'Authlib',
    install: `pip install ${fastapiRequirements.trim().split(/\s+/).join(' ')}`,
    run: 'uvicorn main:app --port 4706',
    home: 'http://localhost:4706',
    callback: '/callback',
    namesCallback: true,
    clientId: 'example-fastapi',
    files: [{ file: 'main.py', code: fastapi }],
  },
  {
    name: 'Go',
    sdk: 'go-oidc, oauth2',
    install: 'go get github.com/coreos/go-oidc/v3 golang.org/x/oauth2',
    run: 'go run .',
    home: 'http://localhost:4707',
    callback: '/callback',
    namesCallback: true,
    clientId: 'example-go',
    files: [{ file: 'main.go', code: go }],
  },
  {
    name: 'Spring Boot',
    sdk: 'spring-boot-starter-oauth2-client, spring-boot-starter-oauth2-resource-server',
    install: '# with both of these starters in your pom.xml',
    run: 'mvn spring-boot:run',
    home: 'http://localhost:4708',
    callback: '/login/oauth2/code/gate',
    clientId: 'example-spring',
    files: [{ file: 'src/main/resources/application.yaml', code: spring }],
  },
];

const pages: QuickStart[] = [
  {
    name: 'React',
    sdk: '@auth0/auth0-react',
    install: 'npm install react react-dom @auth0/auth0-react vite @vitejs/plugin-react',
    run: 'npx vite --port 4702 --strictPort',
    home: 'http://localhost:4702',
    callback: '',
    clientId: 'example-react',
    files: [
      { file: 'src/main.jsx', code: react },
      { file: 'src/App.jsx', code: reactApp },
      { file: 'index.html', code: reactPage },
      { file: 'vite.config.js', code: reactVite },
    ],
  },
  {
    name: 'Vue',
    sdk: '@auth0/auth0-vue',
    install: 'npm install vue @auth0/auth0-vue vite @vitejs/plugin-vue',
    run: 'npx vite --port 4704 --strictPort',
    home: 'http://localhost:4704',
    callback: '',
    clientId: 'example-vue',
    files: [
      { file: 'src/main.js', code: vue },
      { file: 'src/App.vue', code: vueApp },
      { file: 'index.html', code: vuePage },
      { file: 'vite.config.js', code: vueVite },
    ],
  },
  {
    name: 'JavaScript',
    sdk: '@auth0/auth0-spa-js',
    install: 'npm install @auth0/auth0-spa-js vite',
    run: 'npx vite --port 4705 --strictPort',
    home: 'http://localhost:4705',
    callback: '',
    clientId: 'example-spa',
    files: [
      { file: 'main.js', code: spa },
      { file: 'index.html', code: spaPage },
    ],
  },
];

const natives: QuickStart[] = [
  {
    name: 'In the browser',
    sdk: 'openid-client',
    install: 'npm install openid-client',
    run: 'node main.mjs',
    home: 'http://127.0.0.1',
    callback: '/callback',
    clientId: 'demo-native',
    files: [{ file: 'main.mjs', code: native }],
  },
  {
    name: 'By a code',
    sdk: 'openid-client',
    install: 'npm install openid-client',
    home: '',
    callback: '',
    clientId: 'demo-native',
    run: 'node device.mjs',
    files: [{ file: 'device.mjs', code: nativeDevice }],
  },
];

/** A machine asks on its own behalf: no SDK is needed. */
const machines: QuickStart[] = [
  {
    name: 'curl',
    sdk: 'none',
    install: '',
    home: '',
    callback: '',
    clientId: 'example-machine',
    files: [
      {
        file: 'a terminal',
        code: `curl --silent http://localhost:4400/oauth/token \\
  --data grant_type=client_credentials \\
  --data client_id=example-machine \\
  --data client_secret=example-machine-secret \\
  --data audience='https://api.example/'
`,
      },
    ],
  },
  {
    name: 'Node',
    sdk: 'openid-client',
    install: 'npm install openid-client',
    home: '',
    callback: '',
    clientId: 'example-machine',
    files: [
      {
        file: 'main.mjs',
        code: `import * as client from 'openid-client';

const issuer = new URL('http://localhost:4400/');
const options = { execute: issuer.protocol === 'http:' ? [client.allowInsecureRequests] : [] };
const config = await client.discovery(issuer, 'example-machine', 'example-machine-secret', undefined, options);
const tokens = await client.clientCredentialsGrant(config, { audience: 'https://api.example/' });
console.log(tokens.access_token, tokens.scope);
`,
      },
    ],
  },
  {
    name: 'Python',
    sdk: 'none',
    install: '',
    home: '',
    callback: '',
    clientId: 'example-machine',
    files: [
      {
        file: 'main.py',
        code: `import json
from urllib.parse import urlencode
from urllib.request import urlopen

form = {
    "grant_type": "client_credentials",
    "client_id": "example-machine",
    "client_secret": "example-machine-secret",
    "audience": "https://api.example/",
}
with urlopen("http://localhost:4400/oauth/token", urlencode(form).encode()) as answer:
    token = json.load(answer)
print(token["access_token"], token.get("scope"))
`,
      },
    ],
  },
];

export const quickStarts: Record<AppType, QuickStart[]> = {
  regular_web: webs,
  spa: pages,
  native: natives,
  non_interactive: machines,
};
