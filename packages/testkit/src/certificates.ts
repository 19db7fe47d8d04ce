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
  issue(options: { name: string; days?: number; chain?: boolean }): Certificate;
  selfSigned(name: string): Certificate;
};

export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  const path = (file: string) => join(folder, file);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  let serial = 0;

  const sign = (name: string, issuer: string, extensions: string, validity: string[]): string => {
    const file = `c${++serial}`;
    openssl('req', ...newKey, '-keyout', path(`${file}.key`), '-out', path(`${file}.csr`), '-subj', `/CN=${name}`);
    writeFileSync(path(`${file}.ext`), extensions);
    const from = ['-CA', path(`${issuer}.crt`), '-CAkey', path(`${issuer}.key`), '-set_serial', String(1000 + serial)];
    openssl(
      'x509',
      '-req',
      '-in',
      path(`${file}.csr`),
      ...from,
      '-extfile',
      path(`${file}.ext`),
      ...validity,
      '-out',
      path(`${file}.crt`),
    );
    return file;
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
  const intermediate = sign('Test Intermediate', 'root', 'basicConstraints=critical,CA:true', ['-days', '2']);
  return {
    root: read('root.crt'),
    rootFile: path('root.crt'),
    issue({ name, days = 2, chain = true }) {
      const file = sign(name, intermediate, names(name), ['-days', String(days)]);
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
