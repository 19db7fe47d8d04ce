/** Chromium for the tests of pages and SDKs in a real browser. */
/** How Chromium is started: it must not use the network on its own. */
export const launchOptions = {
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: [
    ...['--headless', '--no-sandbox', '--disable-gpu', '--in-process-gpu', '--disable-quic', '--no-first-run'],
    ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  ],
  timeout: 120_000,
};

/** How long to wait for a page; contexts get it through `setDefaultTimeout`. For what never comes, not to judge speed. */
export const patienceMs = 120_000;
