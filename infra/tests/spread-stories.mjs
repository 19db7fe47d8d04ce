/**
 * Orders Jest's files: one story among eight others, from the beginning. A story takes half a minute or more and starts whole systems: at the
 * end nothing would run beside it, and several at once would slow each other down.
 */
import Sequencer from '@jest/test-sequencer';

export default class SpreadStories extends Sequencer {
  sort(tests) {
    const isStory = (test) => test.context.config.displayName?.name === 'stories';
    const sorted = super.sort(tests);
    const stories = sorted.filter(isStory);
    const others = sorted.filter((test) => !isStory(test));
    return [...others.flatMap((test, index) => [...(index % 8 === 0 ? stories.splice(0, 1) : []), test]), ...stories];
  }
}
