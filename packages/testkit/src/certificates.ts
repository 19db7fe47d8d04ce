/** Certificates for TLS receivers, made by openssl: a root, an intermediate, and what a test needs below them. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

export type Certificate = { key: string; cert: string };

export type Certificates = Disposable & {
  /** The root, PEM: what a client must trust. */
  root: string;
  rootFile: string;
  /** A certificate below the intermediate, with the whole chain unless `chain` is false. */
  issue(options: { name: string; expired?: boolean; chain?: boolean }): Certificate;
  selfSigned(name: string): Certificate;
};

const longAgo = ['-startdate', '20200101000000Z', '-enddate', '20200102000000Z'];

export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  const path = (file: string) => join(folder, file);
  const read = (file: string) => readFileSync(path(file), 'utf8');
  let serial = 0;

  const sign = (name: string, issuer: string, extensions: string, expired = false): string => {
    const file = path(`c${++serial}`);
    openssl('req', ...newKey, '-keyout', `${file}.key`, '-out', `${file}.csr`, '-subj', `/CN=${name}`);
    writeFileSync(`${file}.ext`, extensions);
    const common = ['-in', `${file}.csr`, '-extfile', `${file}.ext`, '-out', `${file}.crt`];
    const [cert, key] = [path(`${issuer}.crt`), path(`${issuer}.key`)];
    const once = ['-set_serial', String(1000 + serial), ...twoDays];
    // `openssl x509` cannot issue expired certificates: not at all from OpenSSL 3.4 on, which rejects `-days -1`.
    if (expired) openssl(...asAuthority(folder), '-cert', cert, '-keyfile', key, ...common, ...longAgo);
    else openssl('x509', '-req', ...common, '-CA', cert, '-CAkey', key, ...once);
    return basename(file);
  };
  const signSelf = (file: string, name: string, ...more: string[]) => {
    const files = ['-keyout', path(`${file}.key`), '-out', path(`${file}.crt`)];
    openssl('req', '-x509', ...newKey, ...files, '-subj', `/CN=${name}`, ...more, ...twoDays);
  };

  signSelf('root', 'Test Root');
  const intermediate = sign('Test Intermediate', 'root', 'basicConstraints=critical,CA:true');
  return {
    root: read('root.crt'),
    rootFile: path('root.crt'),
    issue({ name, expired = false, chain = true }) {
      const file = sign(name, intermediate, namesOf(name), expired);
      return { key: read(`${file}.key`), cert: read(`${file}.crt`) + (chain ? read(`${intermediate}.crt`) : '') };
    },
    selfSigned(name) {
      const file = `s${++serial}`;
      signSelf(file, name, '-addext', namesOf(name));
      return { key: read(`${file}.key`), cert: read(`${file}.crt`) };
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const twoDays = ['-days', '2'];

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

function namesOf(name: string): string {
  return `subjectAltName=${/^[\d.]+$/.test(name) ? 'IP' : 'DNS'}:${name}`;
}

/** `openssl ca` with the minimal configuration. */
function asAuthority(folder: string): string[] {
  const lines = [
    '[ca]',
    'default_ca = test',
    '[test]',
    `database = ${join(folder, 'index.txt')}`,
    `new_certs_dir = ${folder}`,
    'rand_serial = yes',
    'default_md = sha256',
    'policy = any',
    '[any]',
    'commonName = supplied',
    '',
  ];
  writeFileSync(join(folder, 'ca.cnf'), lines.join('\n'));
  writeFileSync(join(folder, 'index.txt'), '');
  return ['ca', '-batch', '-notext', '-config', join(folder, 'ca.cnf')];
}
