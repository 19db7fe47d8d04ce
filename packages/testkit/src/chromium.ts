/** Chromium for the tests of pages and SDKs in a real browser. */
/** How Chromium is started: nothing of it goes to the network by itself. */
export const launchOptions = {
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: [
    ...['--headless', '--no-sandbox', '--disable-gpu', '--in-process-gpu', '--disable-quic', '--no-first-run'],
    ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  ],
  timeout: 120_000,
};

/** How long a page is waited for; its contexts are told with `setDefaultTimeout`. For what never comes, not to judge speed. */
export const patienceMs = 120_000;
