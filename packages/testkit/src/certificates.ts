/** Certificates for receivers with TLS, made by openssl: a root, an intermediate, and what a test needs below them. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  let serial = 0;

  const sign = (name: string, issuer: string, extensions: string, expired = false): string => {
    const file = `c${++serial}`;
    openssl('req', ...newKey, '-keyout', path(`${file}.key`), '-out', path(`${file}.csr`), '-subj', `/CN=${name}`);
    writeFileSync(path(`${file}.ext`), extensions);
    const common = ['-in', path(`${file}.csr`), '-extfile', path(`${file}.ext`), '-out', path(`${file}.crt`)];
    const [cert, key] = [path(`${issuer}.crt`), path(`${issuer}.key`)];
    // `openssl x509` signs nothing that has expired already: not at all from OpenSSL 3.4 on, where it takes no `-days -1`.
    if (expired)
      openssl('ca', '-batch', '-notext', '-config', authority(), '-cert', cert, '-keyfile', key, ...common, ...longAgo);
    else
      openssl(
        'x509',
        '-req',
        ...common,
        '-CA',
        cert,
        '-CAkey',
        key,
        '-set_serial',
        String(1000 + serial),
        '-days',
        '2',
      );
    return file;
  };
  /** The least that `openssl ca` wants to know. */
  const authority = () => {
    const lines = [
      '[ca]',
      'default_ca = test',
      '[test]',
      `database = ${path('index.txt')}`,
      `new_certs_dir = ${folder}`,
      'rand_serial = yes',
      'default_md = sha256',
      'policy = any',
      '[any]',
      'commonName = supplied',
      '',
    ];
    writeFileSync(path('ca.cnf'), lines.join('\n'));
    writeFileSync(path('index.txt'), '');
    return path('ca.cnf');
  };
  const read = (file: string) => readFileSync(path(file), 'utf8');
  const names = (name: string) => `subjectAltName=${/^[\d.]+$/.test(name) ? 'IP' : 'DNS'}:${name}`;

  openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    path('root.key'),
    '-out',
    path('root.crt'),
    '-subj',
    '/CN=Test Root',
    '-days',
    '2',
  );
  const intermediate = sign('Test Intermediate', 'root', 'basicConstraints=critical,CA:true');
  return {
    root: read('root.crt'),
    rootFile: path('root.crt'),
    issue({ name, expired = false, chain = true }) {
      const file = sign(name, intermediate, names(name), expired);
      return { key: read(`${file}.key`), cert: read(`${file}.crt`) + (chain ? read(`${intermediate}.crt`) : '') };
    },
    selfSigned(name) {
      const file = `s${++serial}`;
      openssl(
        'req',
        '-x509',
        ...newKey,
        '-keyout',
        path(`${file}.key`),
        '-out',
        path(`${file}.crt`),
        '-subj',
        `/CN=${name}`,
        '-addext',
        names(name),
        '-days',
        '2',
      );
      return { key: read(`${file}.key`), cert: read(`${file}.crt`) };
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}
