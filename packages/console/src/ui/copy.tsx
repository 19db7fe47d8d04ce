import { useState } from 'react';
import { Button } from 'react-aria-components';

export function Copy({
  text,
  label = 'Copy',
  size = 'small',
}: {
  text: string;
  label?: string;
  size?: 'small' | 'normal';
}) {
  const [said, setSaid] = useState<string>();
  const copy = async () => {
    // Browsers allow copying only over https or on this machine, and sometimes ask the user.
    const isCopied = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    setSaid(isCopied ? 'Copied' : 'The browser does not allow it');
    setTimeout(() => setSaid(undefined), 2_000);
  };
  return (
    <Button className={size === 'small' ? 'button small' : 'button'} onPress={copy}>
      <span aria-live="polite">{said ?? label}</span>
    </Button>
  );
}
