/**
 * Tracks the position in an HTML page while its source is read piece by piece (HTML standard, section 13.2.5, as far as templates need
 * it), to know what a value inserted there would mean. Escaping `& < > " '` protects only text and quoted attributes.
 */

export type Attribute = {
  element: string;
  name: string;
  quoted: boolean;
  /** Its source text so far. */
  value: string;
};

export type HtmlPosition =
  | { kind: 'text' }
  | { kind: 'comment' }
  /** Inside an element whose text is not parsed as HTML: `style`, `script`, `title`, `textarea`. */
  | { kind: 'raw'; element: string }
  /** In a tag but not in a value: in its name, or where attributes are named. */
  | { kind: 'tag' }
  | { kind: 'value'; attribute: Attribute };

/** Called for each element that begins (with the end of its name, as `read` counts), and for each finished attribute. */
export type Listener = {
  element(name: string, nameEnd: number): void;
  attribute(attribute: Attribute): void;
};

const rawElements = new Set(['style', 'script', 'title', 'textarea']);
const isSpace = (char: string) => /[\t\n\f\r ]/.test(char);

type State = 'text' | 'comment' | 'raw' | 'name' | 'between' | 'attribute' | 'after' | 'before' | 'value';

export class HtmlContext {
  readonly #listener: Listener;
  #state: State = 'text';
  #element = '';
  #closing = false;
  #attribute = '';
  #value = '';
  #quote = '';
  /** The last few characters, for `<!--`, `-->` and the end of raw text. */
  #tail = '';

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  get spot(): HtmlPosition {
    switch (this.#state) {
      case 'text':
        return /<\/?$/.test(this.#tail) ? { kind: 'tag' } : { kind: 'text' };
      case 'comment':
        return { kind: 'comment' };
      case 'raw':
        return { kind: 'raw', element: this.#element };
      case 'value':
        return { kind: 'value', attribute: this.#current() };
      case 'before':
        return { kind: 'value', attribute: { ...this.#current(), quoted: false } };
      default:
        return { kind: 'tag' };
    }
  }

  /** Marks where a value, not known yet, is inserted. */
  hole(): void {
    if (this.#state === 'text' && this.spot.kind === 'tag') this.#state = 'name';
    if (this.#state === 'before') {
      this.#state = 'value';
      this.#quote = '';
    }
    if (this.#state === 'value') this.#value += '\0';
    if (this.#state === 'between' || this.#state === 'after') this.#state = 'attribute';
    this.#tail = '';
  }

  read(source: string, begin: number, end: number): void {
    for (let at = begin; at < end; at += 1) this.#take(source[at] as string, at);
  }

  #take(char: string, at: number): void {
    switch (this.#state) {
      case 'text':
        this.#tail = (this.#tail + char).slice(-4);
        if (this.#tail === '<!--') {
          this.#enter('comment');
          this.#tail = '--'; // `<!-->` is a whole comment
        } else if (/<\/?[a-z]$/i.test(this.#tail)) {
          this.#closing = this.#tail.at(-2) === '/';
          this.#element = char.toLowerCase();
          this.#enter('name');
        }
        return;
      case 'comment':
        this.#tail = (this.#tail + char).slice(-4);
        if (this.#tail.endsWith('-->') || this.#tail === '--!>') this.#enter('text');
        return;
      case 'raw':
        this.#tail = (this.#tail + char).slice(-(this.#element.length + 3));
        if (new RegExp(`^</${this.#element}[\\s/>]$`, 'i').test(this.#tail)) {
          this.#closing = true;
          this.#enter(char === '>' ? 'text' : 'between');
        }
        return;
      case 'name':
        if (!isSpace(char) && char !== '/' && char !== '>') {
          this.#element += char.toLowerCase();
          return;
        }
        if (!this.#closing) this.#listener.element(this.#element, at);
        this.#state = 'between';
        this.#take(char, at);
        return;
      case 'between':
      case 'after':
        if (char === '>') {
          this.#endTag();
          return;
        }
        if (this.#state === 'after' && char === '=') {
          this.#state = 'before';
          return;
        }
        if (isSpace(char) || char === '/') return;
        if (this.#state === 'after') this.#endAttribute();
        this.#attribute = char.toLowerCase();
        this.#value = '';
        this.#state = 'attribute';
        return;
      case 'attribute':
        if (char === '=') this.#state = 'before';
        else if (isSpace(char)) this.#state = 'after';
        else if (char === '>' || char === '/') {
          this.#endAttribute();
          this.#state = 'between';
          this.#take(char, at);
        } else this.#attribute += char.toLowerCase();
        return;
      case 'before':
        if (isSpace(char)) return;
        this.#quote = char === '"' || char === "'" ? char : '';
        this.#state = 'value';
        if (this.#quote === '') this.#take(char, at);
        return;
      case 'value':
        if (this.#quote ? char === this.#quote : isSpace(char) || char === '>') {
          this.#endAttribute();
          this.#state = 'between';
          if (char === '>') this.#endTag();
        } else this.#value += char;
        return;
    }
  }

  #endTag(): void {
    if (this.#state === 'after') this.#endAttribute();
    this.#enter(!this.#closing && rawElements.has(this.#element) ? 'raw' : 'text');
  }

  #endAttribute(): void {
    if (!this.#closing && this.#attribute !== '') this.#listener.attribute(this.#current());
    this.#attribute = '';
    this.#value = '';
  }

  #current(): Attribute {
    return { element: this.#element, name: this.#attribute, quoted: this.#quote !== '', value: this.#value };
  }

  #enter(state: State): void {
    this.#state = state;
    this.#tail = '';
    this.#quote = '';
  }
}
