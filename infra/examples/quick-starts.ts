/** The quick starts of `examples/`: what each needs, and how it shows that it works. */
export type QuickStart = {
  /** Its folder in `examples/`. */
  name: string;
  /** The programs without which it cannot run. */
  needs: string[];
} & (
  | { kind: 'site'; port: number /** It has an API and a receiver of webhooks besides. */; isServer: boolean }
  /** It prints an address to open in a browser. */
  | { kind: 'program' }
);

export const quickStarts: QuickStart[] = [
  { name: 'express', needs: ['npm'], kind: 'site', port: 4701, isServer: true },
  { name: 'react', needs: ['npm'], kind: 'site', port: 4702, isServer: false },
  { name: 'nextjs', needs: ['npm'], kind: 'site', port: 4703, isServer: false },
  { name: 'vue', needs: ['npm'], kind: 'site', port: 4704, isServer: false },
  { name: 'spa', needs: ['npm'], kind: 'site', port: 4705, isServer: false },
  { name: 'native', needs: ['npm'], kind: 'program' },
  { name: 'fastapi', needs: ['python3'], kind: 'site', port: 4706, isServer: true },
  { name: 'go', needs: ['go'], kind: 'site', port: 4707, isServer: true },
  { name: 'spring', needs: ['java', 'mvn'], kind: 'site', port: 4708, isServer: true },
];
