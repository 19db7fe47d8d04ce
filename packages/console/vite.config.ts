import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// The webhook API serves what is built here below /console/, with a policy under which nothing inline runs.
export default defineConfig({
  base: '/console/',
  plugins: [react()],
  build: {
    outDir: 'dist/site',
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  clearScreen: false,
});
