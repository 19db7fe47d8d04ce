/** The order of Jest's files: stories before all others, since each takes half a minute, and at the end nothing would run beside it. */
import Sequencer from '@jest/test-sequencer';

export default class StoriesFirst extends Sequencer {
  sort(tests) {
    const isStory = (test) => test.context.config.displayName?.name === 'stories';
    const sorted = super.sort(tests);
    return [...sorted.filter(isStory), ...sorted.filter((test) => !isStory(test))];
  }
}
