/** Jest's environment for a test file: the process itself, and the parts of `jest` that our tests use. */
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

export default class ProcessEnvironment {
  global = globalThis;
  #timers;

  constructor({ projectConfig }) {
    const mocker = new ModuleMocker(globalThis);
    const timers = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    this.#timers = timers;
    this.jest = {
      fn: mocker.fn.bind(mocker),
      spyOn: mocker.spyOn.bind(mocker),
      restoreAllMocks: () => mocker.restoreAllMocks(),
      useFakeTimers: () => timers.useFakeTimers(),
      useRealTimers: () => timers.useRealTimers(),
      advanceTimersByTimeAsync: (ms) => timers.advanceTimersByTimeAsync(ms),
    };
  }

  async setup() {}

  async teardown() {
    this.#timers.dispose();
  }

  getVmContext() {
    return null;
  }
}
