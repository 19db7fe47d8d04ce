import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

// The webhook API serves what is built here below /console/, with a policy under which nothing inline runs.
export default defineConfig({
  base: '/console/',
  plugins: [react(), compressed()],
  build: {
    outDir: 'dist/site',
    target: 'es2022',
    assetsInlineLimit: 0,
    // If a page's own style sheet fails, Vite shows the page without it the next time.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  clearScreen: false,
});

/** Writes a compressed copy beside each file, served to browsers that accept it. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    writeBundle({ dir }, bundle) {
      for (const name of Object.keys(bundle).filter((one) => /\.(?:js|css)$/.test(one)))
        writeFileSync(join(dir!, `${name}.gz`), gzipSync(readFileSync(join(dir!, name)), { level: 9 }));
    },
  };
}
